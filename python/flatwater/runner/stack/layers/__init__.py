"""The interfaces of the layers, real and modelled: to the stack and to the neighbour layers.

layer.py     the methods of every layer, and the ground that it gives to the layer above
storage.py   the lowest layer, and a storage as a device of a real cache
cache.py     a cache in front of a storage
database.py  a database between the workload and what is below
servers.py   database servers, for the workload that runs on them
workload.py  the workload, and how it is started
running.py   a workload that runs
shared.py    a target that several hosts use, as this machine describes it to them
"""
