"""A part of the server on a slow device of its own: the device of the data would do it faster."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import modelled_device
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound import Evidence, Finding
from flatwater.analysis.bound.device import OwnDevice
from flatwater.analysis.bound.storage_time import fullest_own, writes_wait_text
from flatwater.analysis.bound.unloaded import unloaded
from flatwater.analysis.bound.words import duration

#: A log's device must sync for so many times as long as the data's before it is called slow (our choice).
_SLOWER_MIN = 2.0


class SlowPart(Rule):
    """A log, the doublewrite buffer or a table has a device of its own, and the sessions wait for it."""

    name = "slow-part"
    about = "a log, a doublewrite buffer or a table on a slow device of its own"
    source = "MySQL manual, innodb_doublewrite_dir: ideally on the fastest storage media available"
    elsewhere = "it depends on both devices"

    def advise(self, case: Case) -> Advice | None:
        """Onto the device of the data, or onto a faster one."""
        for look in (_full, _waited_for, _slow_log):
            told = look(case)
            if told is not None:
                own, found, evidence = told
                return self._of(own, found, evidence)
        return None

    def _of(self, own: OwnDevice, found: Finding, evidence: str) -> Advice:
        return self.advice(
            f"Sessions wait for {own.text}, and the device of the data could do more.",
            Change(
                "hardware",
                "Put it on the device of the data, or on one that is as fast.",
                (),
                own.put_back,
            ),
            *dict.fromkeys((evidence, *found.evidence)),
            confidence="high",
            relieves=found,
        )


def _full(case: Case) -> tuple[OwnDevice, Finding, str] | None:
    """A device of tables, or of the doublewrite buffer, does all that it can."""
    own, found = fullest_own(case.evidence), case.finding("device throughput")
    return (own, found, found.evidence[0]) if own is not None and found is not None else None


def _waited_for(case: Case) -> tuple[OwnDevice, Finding, str] | None:
    """Pages must be written for room or frames, and the doublewrite buffer's device is the busier one."""
    own, found = _holder(case.evidence, "doublewrite"), case.finding("log limit", "free pages", "dirty limit")
    text = writes_wait_text(case.evidence)
    return (own, found, text) if own is not None and found is not None and text is not None else None


def _slow_log(case: Case) -> tuple[OwnDevice, Finding, str] | None:
    """Commits wait for a log on a device that syncs more slowly than that of the data."""
    found, data = case.finding("fsync path"), modelled_device(case.evidence)
    here = unloaded(data) if data is not None else None
    if found is None or here is None:
        return None
    for part in ("log", "binlog"):
        own = _holder(case.evidence, part)
        if own is None:
            continue
        there = unloaded(own.model) if own.model is not None else None
        if there is not None and there.sync_us >= _SLOWER_MIN * here.sync_us:
            text = f"a sync takes {duration(there.sync_us)} on {own.text}, {duration(here.sync_us)} on that of the data"
            return own, found, text
    return None


def _holder(evidence: Evidence, part: str) -> OwnDevice | None:
    return next((one for one in evidence.own_devices if part in one.holds.parts), None)
