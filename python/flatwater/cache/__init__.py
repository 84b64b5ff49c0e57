"""The real flash cache: what stands behind `flatwater cache`.

    state       what is stored of each cache: its name, paths and settings; which processes serve
    create, start, destroy
                a file a command that changes which caches there are or run
    engine      a cache that does not run: what it holds, its check, its drain
    supervisor  the process that holds the descriptors of a cache and restarts its serving child
    endpoints   those descriptors: the mount, the sockets, both devices
    children    the serving child, and the next one when it dies; `child` is one of them
    serving     the program of the child: the engine between the devices and their clients
    control     asking a supervisor: JSON lines over a unix socket; `control_server` is the other end
    mounting    the mount itself, and who uses it

Nothing is imported here: a serving child must serve again within a moment.
"""
