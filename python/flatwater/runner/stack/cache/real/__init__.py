"""The real flash cache: cache.py is the layer, process.py serves the cache, series.py computes its figures."""
