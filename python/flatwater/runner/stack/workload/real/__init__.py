"""Real workloads: fileio.py on files, transactions.py on servers."""
