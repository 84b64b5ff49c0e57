"""Running experiments: target.py finds and guards the storage, cell.py runs one cell, sweep.py all of them."""
