"""The real flash cache.

cache.py    the layer in front of the storage of the data
placed.py   the same in front of one of the other storages
process.py  serves the cache
series.py   computes its figures
"""
