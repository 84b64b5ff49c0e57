"""What the engine is told: frozen classes that mirror its structs field by field, each written by one function.

requests.py      the requests of a fileio workload or a replay
fileio.py        such a workload under way, on real files or on a modelled device
preparation.py   files that are written before
device/          modelled devices, one file a kind
transactions.py  the transactions of a database workload
innodb.py        modelled servers
cache.py         a real flash cache: making it, serving it, commands to it
emulation.py     a modelled device that is served as a file
server.py        transactions on real servers, and loading their data
run.py           all of these that a run can be made of

A plan is made by the `write_...` function of its file and changed with `dataclasses.replace`. The test
`tests/plan/test_mirror.py` compares every class with the engine's own struct: names, types, what may be absent.
"""
