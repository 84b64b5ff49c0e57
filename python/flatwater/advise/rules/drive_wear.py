"""Flash that is worn out early: at the rate of its past, or at that of a load as it is asked for.

A closed loop writes as fast as it can. How long a drive would last under that says nothing of the drive's real days, so
it counts only where a rate was asked for, or terminals think.
"""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.health.words import used_text
from flatwater.results.health import DriveHealth, LifeSpan

#: Our choice: a drive that does not last for three years must be replaced before the server that it is in.
_YEARS_MIN = 3.0


class DriveWear(Rule):
    """A drive's rated life ends before a usual warranty does."""

    name = "drive-wear"
    about = "flash whose rated life ends early at its rate of writing"
    source = (
        "Databases on flash, 2008-2011: watch Media_Wearout_Indicator, and drives of one age in one array; NVM Express "
        "Base Specification, Percentage Used; flatwater's docs/health.md"
    )
    elsewhere = "it is about the drive's life, and not about throughput"

    def advise(self, case: Case) -> Advice | None:
        """Fewer bytes, more spare space, or a drive that is rated for more."""
        health, load = case.evidence.health, case.evidence.load
        if health is None:
            return None
        paced = bool(load.rate_per_s or load.pause_s)
        worn = [told for one in health.drives if (told := _early(one, paced)) is not None]
        if not worn:
            return None
        return self.advice(
            "A drive's rated life ends early.",
            Change(
                "hardware",
                "Write less (a larger redo log, no neighbours, doublewrite where it need not be), leave more of "
                "the drive unused, or buy one that is rated for more writes. Watch its wear with flatwater health.",
            ),
            *worn,
            confidence="low",
            risk="drives of one age in one array wear out together: replace them one after another",
        )


def _early(drive: DriveHealth, paced: bool) -> str | None:
    """A sentence if all of the interval of the drive's life is short, at the rate of its past or of this load."""
    lives = {"at its mean rate so far": drive.life}
    if paced:
        lives["always written as by this load"] = drive.rated_life or drive.workload_life
    for how, life in lives.items():
        if life is not None and _is_short(life):
            used = f"; {used_text(drive.used_pct)}" if drive.used_pct is not None else ""
            return f"{drive.device}, {how}: {life.basis}{used}"
    return None


def _is_short(life: LifeSpan) -> bool:
    most = life.high if life.high is not None else life.years
    return most is not None and most < _YEARS_MIN
