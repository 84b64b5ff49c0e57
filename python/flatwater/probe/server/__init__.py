"""What a MySQL-compatible server reports of itself, second by second.

probe.py    the probe: rates and gauges of all servers of a run
watch.py    one server, queried on its own thread
names.py    which figures this server has, and under which names
missing.py  which figures it does not tell, and why
replication.py  how far a replica is behind
statements.py  the statements that take the time
digests.py  what the statements did since the last look, and samples of them
limit.py    the limit of the checkpoint age
process.py  processor time and memory of its process
"""

from flatwater.probe.server.probe import ServerProbe
from flatwater.probe.server.replication import Channel
from flatwater.probe.server.sessions import OF_A_RUN, OF_AN_OBSERVATION
from flatwater.probe.server.watch import Also, Login, Reading

__all__ = ["OF_AN_OBSERVATION", "OF_A_RUN", "Also", "Channel", "Login", "Reading", "ServerProbe"]
