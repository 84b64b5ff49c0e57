"""A load that several hosts make together: dask workers that connect to one server, and begin at one instant.

load_hosts.py  the hosts of a scheduler (`run --load-on`), checked before the run
running.py     one run on several hosts, as one to whoever records it; cluster.py reaches them
generator.py   what runs on a host; messages.py what both sides send each other
refused.py     why a host could not begin
division.py    which session is whose
clock.py       how far a host's clock is ahead, and within which bound; clocks.py asks all of them
merging.py     the intervals of all hosts as those of one load
"""
