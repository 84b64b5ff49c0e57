"""The stack of a cell: four layers, each real or modelled. Each layer stands on the one below it.

stack.py    the four layers composed
workload/   real: fileio on files, transactions on servers; modelled: the same in virtual time
database/   real: servers that are started, or one that runs already; modelled: InnoDB
cache/      real: the flash cache, served as a file; modelled: the same engine in virtual time
storage/    real: files and block devices; modelled: a device in virtual time, or served as a file in real time

layers/     the interfaces of the layers
target/     the files that a workload uses: found, guarded, prepared
served/     the common part of real caches and of modelled devices in real time: a process, a mount, a file system

The `__init__.py` of each of the four folders opens the layer of a cell's kind.
"""
