"""Which modelled generation a real server belongs to: whose limits, defaults and habits it has."""

from __future__ import annotations

import re

from flatwater.experiment.database.innodb_settings import Generation

#: A flavour's versions -> the generation whose habits they have: the first whose version is not above the server's.
_GENERATIONS: dict[str, tuple[tuple[tuple[int, int], Generation], ...]] = {
    "mariadb": (((10, 5), "mariadb-10.11"), ((10, 2), "mysql-5.7"), ((10, 0), "mysql-5.6"), ((5, 5), "percona-5.5")),
    "mysql": (((8, 0), "mysql-8.0"), ((5, 7), "mysql-5.7"), ((5, 6), "mysql-5.6"), ((5, 5), "mysql-5.5")),
    "percona": (((8, 0), "mysql-8.0"), ((5, 7), "mysql-5.7"), ((5, 6), "mysql-5.6"), ((5, 5), "percona-5.5")),
}
_OLDEST: Generation = "mysql-5.1"
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def release_of(version: str) -> tuple[int, ...]:
    """The numbers of a version as a server prints it: `10.11.6-MariaDB` is (10, 11, 6). Empty if it has none."""
    found = _NUMBERS.match(version)
    return tuple(int(part) for part in found.groups() if part is not None) if found else ()


def generation_of(flavour: str, version: str) -> Generation:
    """The generation of a server of this flavour and version; the oldest if the version says nothing."""
    has = release_of(version)[:2]
    known = _GENERATIONS.get(flavour, _GENERATIONS["mysql"])
    return next((name for least, name in known if has >= least), _OLDEST)
