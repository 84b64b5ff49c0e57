"""The server room: finding, initialising, starting, snapshotting and stopping MySQL-compatible servers.

It takes plain values and does not use experiments. A flavour of server is one file in `flavours`. docs/servers.md says
which settings a server is started with, and where its files are.
"""

from flatwater.server.asking import ask
from flatwater.server.attach import Attached, describe
from flatwater.server.binary import Binary, find_server, server_of
from flatwater.server.by_url import in_url, named_by_url
from flatwater.server.copying import Copied, check_space
from flatwater.server.inspection import Inspected, inspect_snapshots, snapshot_fault, storage_of
from flatwater.server.instance import Instance
from flatwater.server.loading import loading_settings
from flatwater.server.local import Local, as_seen_by, find_local, is_seen_alike, is_stopped
from flatwater.server.placement import Parts, Placing, copied_bytes, copy_placed, told_places
from flatwater.server.root import Root, ServersRoot, open_parts, open_root
from flatwater.server.settings import shaping
from flatwater.server.snapshot import (
    Loading,
    Shape,
    Snapshot,
    find_snapshot,
    list_snapshots,
    open_loading,
    remove_snapshot,
    require_no_strangers,
    strangers,
)
from flatwater.server.translate import split, translate

__all__ = [
    "Attached",
    "Binary",
    "Copied",
    "Inspected",
    "Instance",
    "Loading",
    "Local",
    "Parts",
    "Placing",
    "Root",
    "ServersRoot",
    "Shape",
    "Snapshot",
    "as_seen_by",
    "ask",
    "check_space",
    "copied_bytes",
    "copy_placed",
    "describe",
    "find_local",
    "find_server",
    "find_snapshot",
    "in_url",
    "inspect_snapshots",
    "is_seen_alike",
    "is_stopped",
    "list_snapshots",
    "loading_settings",
    "named_by_url",
    "open_loading",
    "open_parts",
    "open_root",
    "remove_snapshot",
    "require_no_strangers",
    "server_of",
    "shaping",
    "snapshot_fault",
    "split",
    "storage_of",
    "strangers",
    "told_places",
    "translate",
]
