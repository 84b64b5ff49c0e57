"""The server room: finding, initialising, starting, snapshotting and stopping MySQL-compatible servers.

It takes plain values and does not use experiments. A flavour of server is one file in `flavours`. docs/servers.md says
which settings a server is started with, and where its files are.
"""

from flatwater.server.asking import ask
from flatwater.server.attach import Attached, describe, local_pids
from flatwater.server.binary import Binary, find_server
from flatwater.server.copying import Copied, check_space
from flatwater.server.instance import Instance
from flatwater.server.loading import loading_settings
from flatwater.server.root import ServersRoot, open_root
from flatwater.server.settings import shaping
from flatwater.server.snapshot import (
    Loading,
    Shape,
    Snapshot,
    find_snapshot,
    list_snapshots,
    open_loading,
    remove_snapshot,
)
from flatwater.server.translate import split, translate

__all__ = [
    "Attached",
    "Binary",
    "Copied",
    "Instance",
    "Loading",
    "ServersRoot",
    "Shape",
    "Snapshot",
    "ask",
    "check_space",
    "describe",
    "find_server",
    "find_snapshot",
    "list_snapshots",
    "loading_settings",
    "local_pids",
    "open_loading",
    "open_root",
    "remove_snapshot",
    "shaping",
    "split",
    "translate",
]
