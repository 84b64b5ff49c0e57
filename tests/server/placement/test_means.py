"""Which servers can place which parts: every flavour and version by every item."""

from __future__ import annotations

import pytest

from flatwater.experiment.database.placed import ITEMS
from flatwater.server import Binary
from flatwater.server.flavours import FLAVOURS, Version
from flatwater.server.placement.means import MEANS, TABLES, why_not

#: What each can place besides the redo log, the binary log, temporary files and the system tablespace, which all can.
SERVERS: list[tuple[str, Version, set[str]]] = [
    ("percona", (5, 1, 65), {"doublewrite"}),
    ("percona", (5, 5, 30), {"doublewrite"}),
    ("percona", (5, 6, 24), {"undo_logs", TABLES}),
    ("percona", (5, 7, 22), {"undo_logs", TABLES, "doublewrite"}),
    ("percona", (8, 0, 19), {"undo_logs", TABLES, "doublewrite"}),
    ("percona", (8, 0, 36), {"undo_logs", TABLES, "doublewrite"}),
    ("mysql", (5, 5, 9), set()),
    ("mysql", (5, 6, 2), set()),
    ("mysql", (5, 6, 5), {"undo_logs"}),
    ("mysql", (5, 6, 24), {"undo_logs", TABLES}),
    ("mysql", (5, 7, 22), {"undo_logs", TABLES}),
    ("mysql", (8, 0, 15), {"undo_logs", TABLES}),
    ("mysql", (8, 0, 20), {"undo_logs", TABLES, "doublewrite"}),
    ("mysql", (8, 4, 0), {"undo_logs", TABLES, "doublewrite"}),
    ("mariadb", (5, 5, 68), {"doublewrite"}),
    ("mariadb", (10, 0, 38), {"undo_logs", TABLES}),
    ("mariadb", (10, 2, 11), {"undo_logs", TABLES}),
    ("mariadb", (10, 11, 6), {"undo_logs", TABLES}),
    ("mariadb", (11, 8, 6), {"undo_logs", TABLES}),
]
ALL = {"redo_log", "binary_log", "temporary_files", "system_tablespace"}


def test_every_field_of_the_experiment_has_its_line_and_its_source() -> None:
    assert set(MEANS) == {*ITEMS, TABLES}
    assert all(means.source and means.by for means in MEANS.values())
    assert {flavour for flavour, _, _ in SERVERS} == set(FLAVOURS)


@pytest.mark.parametrize("item", sorted(MEANS))
@pytest.mark.parametrize(("flavour", "version", "some"), SERVERS)
def test_a_server_can_or_says_why_not(flavour: str, version: Version, some: set[str], item: str) -> None:
    reason = why_not(item, flavour, version)
    if item in ALL | some:
        assert reason is None
        return
    assert reason is not None
    what, hint = reason
    assert what.startswith(f"{FLAVOURS[flavour].title} {'.'.join(map(str, version))} cannot place it: ")
    assert what.endswith("can)") and hint


def test_the_registry_agrees_with_the_server_at_hand(binary: Binary) -> None:
    has, here = binary.options(), (binary.flavour, binary.version)
    for item, name in (("undo_logs", "innodb_undo_directory"), ("redo_log", "innodb_log_group_home_dir")):
        assert (why_not(item, *here) is None) == (name in has)
    names = {"innodb_doublewrite_dir", "innodb_doublewrite_file", "innodb_parallel_doublewrite_path"}
    doublewrite = names & has.keys()
    assert (why_not("doublewrite", *here) is None) == bool(doublewrite)
