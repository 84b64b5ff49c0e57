"""Which modelled generation a real server belongs to, and whose transactions were measured for it.

One table says both. A series is a server's releases from one version to the next series' first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flatwater.experiment.database.lineage import GENERATIONS, Generation


@dataclass(frozen=True)
class Series:
    """Releases of a flavour that are modelled alike."""

    flavour: str
    #: The first version of the series.
    least: tuple[int, ...]
    #: Whose limits, defaults and habits these releases have.
    generation: Generation
    #: The server whose measured transactions their models take: `tpcc-NAME` and `oltp-NAME` of `workloads/`. It is the
    #: series itself where one of it was measured, and else the nearest: of its InnoDB first, then of its flavour.
    tpcc: str
    oltp: str

    @property
    def name(self) -> str:
        """The series in words, `mysql-8.0`; a generation that is all releases of a number is `mysql-9`."""
        whole = f"{self.flavour}-{self.least[0]}"
        is_whole = self.least[1:] == (0,) and whole in GENERATIONS
        return whole if is_whole else f"{self.flavour}-{'.'.join(map(str, self.least))}"

    def measured(self, kind: str) -> str:
        """The server whose measured transactions of a kind of workload are taken."""
        return self.tpcc if kind == "tpcc" else self.oltp

    def is_measured(self, kind: str) -> bool:
        """Whether a server of the series itself was measured."""
        return self.measured(kind) == self.name


#: Of each flavour the newest first.
SERIES = (
    Series("mariadb", (12, 0), "mariadb-12", tpcc="mariadb-11.8", oltp="mariadb-11.8"),
    Series("mariadb", (11, 8), "mariadb-11", tpcc="mariadb-11.8", oltp="mariadb-11.8"),
    # The first without a change buffer is 11.0.
    Series("mariadb", (11, 0), "mariadb-11", tpcc="mariadb-11.8", oltp="mariadb-11.8"),
    Series("mariadb", (10, 11), "mariadb-10.11", tpcc="mariadb-10.11", oltp="mariadb-10.11"),
    Series("mariadb", (10, 5), "mariadb-10.11", tpcc="mariadb-10.11", oltp="mariadb-10.11"),
    # InnoDB of MySQL 5.7, below MariaDB's own optimizer, which decides what TPC-C reads.
    Series("mariadb", (10, 2), "mysql-5.7", tpcc="mariadb-10.11", oltp="mariadb-10.11"),
    Series("mariadb", (10, 0), "mysql-5.6", tpcc="mysql-5.6", oltp="mysql-5.6"),
    Series("mariadb", (5, 5), "percona-5.5", tpcc="mysql-5.5", oltp="mysql-5.5"),
    Series("mysql", (9, 7), "mysql-9", tpcc="mysql-9.7", oltp="mysql-9.7"),
    Series("mysql", (9, 0), "mysql-9", tpcc="mysql-9.7", oltp="mysql-9.7"),
    Series("mysql", (8, 4), "mysql-8.4", tpcc="mysql-9.7", oltp="mysql-9.7"),
    # The first with doublewrite files is 8.0.20.
    Series("mysql", (8, 0, 20), "mysql-8.0", tpcc="mysql-8.0", oltp="mysql-8.0"),
    Series("mysql", (8, 0), "mysql-8.0.11", tpcc="mysql-8.0", oltp="mysql-8.0"),
    Series("mysql", (5, 7), "mysql-5.7", tpcc="mysql-5.7", oltp="mysql-5.7"),
    Series("mysql", (5, 6), "mysql-5.6", tpcc="mysql-5.6", oltp="mysql-5.6"),
    Series("mysql", (5, 5), "mysql-5.5", tpcc="mysql-5.5", oltp="mysql-5.5"),
    Series("mysql", (5, 1), "mysql-5.1", tpcc="mysql-5.5", oltp="mysql-5.5"),
    Series("percona", (8, 4), "percona-8.4", tpcc="mysql-9.7", oltp="mysql-9.7"),
    Series("percona", (8, 0, 20), "mysql-8.0", tpcc="mysql-8.0", oltp="mysql-8.0"),
    Series("percona", (8, 0), "mysql-8.0.11", tpcc="mysql-8.0", oltp="mysql-8.0"),
    Series("percona", (5, 7), "mysql-5.7", tpcc="mysql-5.7", oltp="mysql-5.7"),
    Series("percona", (5, 6), "mysql-5.6", tpcc="mysql-5.6", oltp="mysql-5.6"),
    Series("percona", (5, 5), "percona-5.5", tpcc="mysql-5.5", oltp="mysql-5.5"),
    Series("percona", (5, 1), "percona-5.5", tpcc="percona-5.1", oltp="percona-5.1"),
)
#: A server of another flavour counts as one of these.
_USUAL = "mysql"
_NUMBERS = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")


def release_of(version: str) -> tuple[int, ...]:
    """The numbers of a version as a server prints it: `10.11.6-MariaDB` is (10, 11, 6). Empty if it has none."""
    found = _NUMBERS.match(version)
    return tuple(int(part) for part in found.groups() if part is not None) if found else ()


def series_of(flavour: str, version: str) -> Series:
    """The series of a server; the oldest of its flavour if the version says nothing or is older than all."""
    has = (*release_of(version), 0, 0)[:3]
    known = [series for series in SERIES if series.flavour == flavour] or list(_of(_USUAL))
    return next((series for series in known if has >= series.least), known[-1])


def generation_of(flavour: str, version: str) -> Generation:
    """The generation that models a server of this flavour and version."""
    return series_of(flavour, version).generation


def is_generation(flavour: str, version: str, generation: Generation) -> bool:
    """Whether a server is of the releases that a generation is named for, and not only modelled like them."""
    major, minor = (*release_of(version), 0, 0)[:2]
    named = (f"{flavour}-{major}", f"{flavour}-{major}.{minor}")
    # One that is named for its first release begins with those words.
    return generation_of(flavour, version) == generation and (
        generation in named or generation.startswith(named[1] + ".")
    )


def _of(flavour: str) -> Iterator[Series]:
    return (series for series in SERIES if series.flavour == flavour)
