"""The stack of a cell: four layers, each real or modelled, each standing on whatever is below it.

stack.py    the four layers composed
workload/   real: fileio on files, transactions on servers; modelled: the same in virtual time
database/   real: servers that are started, or one that runs already; modelled: InnoDB
cache/      real: the flash cache, served as a file; modelled: the same engine in virtual time
storage/    real: files and block devices; modelled: a device in virtual time, or served as a file in real time

layers/     what a layer is to the stack and to the layers beside it
target/     the files that a workload uses: found, guarded, prepared
served/     what real caches and modelled devices in real time have in common: a process, a mount, a file system

Each of the four rooms opens the layer of a cell's kind in its `__init__.py`.
"""
