"""The engine's input: frozen classes that mirror its structs field by field, each written by one function.

requests.py      the requests of a fileio workload or a replay
fileio.py        a run of these requests, on real files or on a modelled device
preparation.py   the files to write before a run
device/          modelled devices, one file for each kind
transactions.py  the transactions of a database workload
innodb.py        modelled servers
cache.py         a real flash cache: its creation, its service, and commands to it
emulation.py     a modelled device that is served as a file
server.py        transactions on real servers, and loading their data
run.py           the union of the plans of a run

A plan is made by the `write_...` function of its file and changed with `dataclasses.replace`. The test
`tests/plan/test_mirror.py` compares every class with the engine's own struct: names, types, what may be absent.
"""
