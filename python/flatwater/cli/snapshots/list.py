"""`flatwater snapshots list`: the snapshots in a storage directory."""

from __future__ import annotations

import json

from flatwater.cli.snapshots.arguments import Json, Storage, as_data, print_table, size_text

NAME = "list"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater snapshots list /mnt/flash

flatwater snapshots list /mnt/flash --json | jq -r '.snapshots[] | select(.state != "sound") | .folder'
"""


def verb(storage: Storage, as_json: Json = False) -> None:
    """List snapshots: server, data, size, age, and whether they are sound as far as the lengths of their files show."""
    from flatwater.server import inspect_snapshots, storage_of

    found = inspect_snapshots(storage_of(storage))
    if as_json:
        print(json.dumps({"snapshots": [as_data(one) for one in found]}, indent=1))
        return
    if not found:
        print(f"there are no snapshots in {storage}")
        return
    print_table(found)
    total = sum(one.size_bytes or 0 for one in found)
    print(f"{len(found)} in {found[0].folder.parents[1]}, together {size_text(total)}")
