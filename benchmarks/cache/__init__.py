"""`python -m benchmarks.cache`: the flash cache beside its peers; the page is ../cache.md.

__main__.py   what runs, in order, and the page
engine.py     what a decision costs, and the memory of a block
replay.py     policies on a trace, beside libCacheSim
fuse.py       hits, transport and durable writes through FUSE
nbd.py        the NBD server, beside nbdkit
"""
