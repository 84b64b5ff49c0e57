"""What a MySQL-compatible server reports of itself, second by second.

probe.py    the probe: rates and gauges of all servers of a run
watch.py    one server, queried on its own thread
names.py    which figures this server has, and under which names
limit.py    the limit of the checkpoint age
process.py  processor time and memory of its process
"""

from flatwater.probe.server.probe import ServerProbe
from flatwater.probe.server.watch import Login

__all__ = ["Login", "ServerProbe"]
