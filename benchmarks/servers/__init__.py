"""Every server that flatwater speaks of, run for real: `make test-servers`, or `python -m benchmarks.servers`.

registry.py  which servers there are, where each comes from, and the settings that only it has
origins.py   where servers come from: a kind of origin a class; `apt.py` for other suites of Debian, `client.py` for all
cache.py     where the servers are on this machine
bench.py     a server with room for its data: what a step runs on
steps.py     what every server must do; `faults.py`, `placing.py`, `watched.py`, `encrypted.py` and `networked.py` with
             `replayed.py` are steps of their own
records.py   what came out, a file a server
page.py      docs/servers-tried.md

What steps stand on, and tests too: `certificates.py` and `tls_server.py` servers with TLS, `network.py` machines of a
network, `cluster.py` dask.
"""
