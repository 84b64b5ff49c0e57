"""What a layer is to the stack and to the layers beside it, whether it is real or modelled.

layer.py     what every layer can be asked, and the place that it gives the one above
storage.py   the lowest layer, and a storage as a device of a real cache
cache.py     a cache in front of a storage
database.py  a database between the workload and what is below
servers.py   database servers, for the workload that runs on them
workload.py  what is run, and how it is started
"""
