"""The real flash cache: cache.py as a layer, process.py serves it, series.py has its figures."""
