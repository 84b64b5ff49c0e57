"""The gate to a file that an experiment names: a device, a machine, a trace, a log, a price list.

For the user's own experiments every regular file is opened. While results may be anybody's (`results/foreign.py`), only
files that come with flatwater are: what an experiment names is then neither opened nor looked for.
"""

from __future__ import annotations

import os
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.foreign import is_foreign

#: Where the files are that come with flatwater: devices, machines, measured workloads, prices, experiments.
_SHIPPED = Path(__file__).parents[1]


def require_may_open(path: Path) -> None:
    """Refuses a file of somebody's that the experiment of a foreign result names. Errors: UserError."""
    if is_foreign() and not _is_shipped(path):
        what = "names a file, and no page opens a file that a result names"
        raise UserError(what, hint="flatwater in a terminal does")


def _is_shipped(path: Path) -> bool:
    """Whether it is a file of flatwater. Of any other path nothing is looked at."""
    try:
        if not Path(os.path.abspath(path)).is_relative_to(_SHIPPED):  # noqa: PTH100 (`Path.absolute` keeps `..`)
            return False
        return path.resolve().is_relative_to(_SHIPPED.resolve())
    except (OSError, ValueError):
        return False
