"""What rules ask of the storage: whether it is flash, and whether it has work left that it could do."""

from __future__ import annotations

from flatwater.advise.advice import Elsewhere
from flatwater.advise.host import medium, storage_facts
from flatwater.advise.rule import Case
from flatwater.analysis.bound import Evidence
from flatwater.analysis.bound.storage_time import writes_wait_text
from flatwater.analysis.bound.words import percent

#: A device that is busy for less than half of its time can do what it does twice. A real device counts as busy while
#: it has one request, so flash that does many at once has more room than that, never less.
_IDLE_BELOW_PCT = 50
#: Disks whose kernel says that they do not rotate, whatever is behind them: disks of a hypervisor, a network's, a
#: file's and memory.
_NOT_TOLD = ("vd", "xvd", "nbd", "rbd", "loop", "ram", "zram")

#: What a model puts the logs on: an array with a battery, the laboratory's choice of its time.
ARRAY_OF_LOGS = "raid10-8"
#: What that gave, as it was published.
LOGS_ON_AN_ARRAY = Elsewhere(
    1.0,
    1.45,
    "redo log, binary log and doublewrite buffer on an array with a battery instead of the SSD with the tables",
    "Databases on flash (2008-2011)",
)


def on_flash(case: Case) -> bool:
    """Whether the data is known to be on flash: on a modelled card, or on a real disk that does not rotate."""
    name = storage_facts(case).get("device", "").removeprefix("/dev/")
    return medium(case) == "flash" and not name.startswith(_NOT_TOLD)


def device_idles(evidence: Evidence) -> bool:
    """Whether the device is known to have had nothing to do for most of the time, and pages can be written to it at
    once: not where the doublewrite buffer keeps them waiting on a busier device of its own.
    """
    device = evidence.device
    if device is None or device.busy_pct is None or writes_wait_text(evidence) is not None:
        return False
    # A card whose collector keeps writes waiting has no room for more of them, however busy its cells are.
    collected = device.gc_share_pct.mean if device.gc_share_pct is not None else 0.0
    return max(device.busy_pct.mean, collected) < _IDLE_BELOW_PCT


def busy_text(evidence: Evidence) -> str | None:
    """How busy the device was; None if it was not recorded."""
    busy = evidence.device.busy_pct if evidence.device is not None else None
    return None if busy is None else f"the device was busy for {percent(busy.mean / 100)} of the time"
