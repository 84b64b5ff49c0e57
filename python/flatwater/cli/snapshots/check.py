"""`flatwater snapshots check`: reads the data files of snapshots."""

from __future__ import annotations

import json

from flatwater.cli.snapshots.arguments import Json, Keys, Storage, as_data, print_table, select

NAME = "check"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater snapshots check /mnt/flash

flatwater snapshots check /mnt/flash 3f2a9c0d1e5b7a86 --json

[bold]Exit codes[/bold]: 0 all are sound, 1 one is damaged.
"""


def verb(storage: Storage, keys: Keys = None, as_json: Json = False) -> None:
    """Read snapshots whole: missing and shortened files, pages of other places, torn pages.

    Checksums of pages are not computed: the server does that, and innochecksum.
    """
    from flatwater.errors import FlatwaterError
    from flatwater.printing import make_console
    from flatwater.results.started import shell_word
    from flatwater.server import inspect_snapshots, storage_of, strangers

    with make_console(stderr=True).status("reading..."):
        found = inspect_snapshots(storage_of(storage), pages=True, only=keys or ())
    found = select(found, keys, storage) if keys else found
    damaged = [one for one in found if one.state == "damaged"]
    if as_json:
        print(json.dumps({"snapshots": [as_data(one) for one in found]}, indent=1))
    else:
        print_table(found)
    if damaged:
        which = " ".join(one.key for one in damaged)
        hint = f"flatwater snapshots delete {shell_word(str(storage))} {which}"
        if any(strangers(one.folder) for one in damaged):
            hint = f"move away what flatwater did not make; for those that are damaged then, {hint}"
        raise FlatwaterError(f"{len(damaged)} of {len(found)} snapshots damaged", where=str(storage), hint=hint)
