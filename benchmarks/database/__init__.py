"""`python -m benchmarks.database`: flatwater beside tpcc-mysql and sysbench on one server; the page is ../database.md.

__main__.py   what runs, in order
server.py     the server that all programs use, and what it counts
rows.py       the comparisons and their targets
work.py       what a program is asked to do, and what it answers
programs/     one file a program, met in its registry
compare.py    a row: programs in turns
loading.py    filling a schema; fill.py: flatwater's side of it
calls.py      system calls a query
crowd.py      very many connections
strip.py      what the probe of the server costs
page.py       the generated page
"""
