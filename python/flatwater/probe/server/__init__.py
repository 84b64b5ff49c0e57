"""What a MySQL-compatible server tells of itself, second by second.

probe.py    the probe: rates and gauges of all servers of a run
watch.py    one server, asked on a thread of its own
names.py    which of its figures this server has, under which names
limit.py    the checkpoint age that it does not exceed
process.py  processor time and memory of its process
"""

from flatwater.probe.server.probe import ServerProbe
from flatwater.probe.server.watch import Login

__all__ = ["Login", "ServerProbe"]
