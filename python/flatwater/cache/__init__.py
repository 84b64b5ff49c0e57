"""The real flash cache: what stands behind `flatwater cache`.

    state       where caches are kept in mind: names, paths, settings; which processes serve
    lifecycle   create, start, stop, destroy; check and drain of a cache that does not run
    supervisor  the process that holds the mount and the sockets, and restarts the serving child
    serving     that child: the engine between the devices and whoever asks
    control     asking a supervisor: JSON lines over a unix socket
    mounting    the mount itself, and who uses it

Nothing is imported here: a serving child has to be there again within a moment.
"""
