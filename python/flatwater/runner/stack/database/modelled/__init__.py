"""Modelled servers: innodb.py, and a flushing policy of the user's in Python (policy.py)."""
