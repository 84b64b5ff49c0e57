"""One piece of advice: what was found, what to change, what that is expected to do, and what it costs besides money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: How sure the advice is. `high`: the run shows the cause, and the server's manual or an experiment shows the cure.
#: `medium`: one of the two is an inference. `low`: it is worth a try.
Confidence = Literal["high", "medium", "low"]
#: Where a change is made.
Kind = Literal["setting", "host", "hardware", "workload", "measurement"]


@dataclass(frozen=True)
class Effect:
    """What a change is expected to do to the throughput: a ratio to that of the run, with its interval."""

    low: float
    high: float
    #: Who says so: `what-if` for a prediction from this run, else a published measurement.
    source: str
    #: The best single figure; None where only the interval is known.
    ratio: float | None = None

    @property
    def text(self) -> str:
        """`1.10x to 1.30x the throughput`."""
        if self.low <= 1 <= self.high:
            return f"{_range(self.low, self.high)}: no difference is certain"
        return _range(self.low, self.high) + (": a loss" if self.is_loss else "")

    @property
    def is_loss(self) -> bool:
        """Whether the change is expected to cost throughput."""
        return self.high < 1


@dataclass(frozen=True)
class Elsewhere:
    """What such a change did to the throughput of another system, as it was published: the lowest and highest ratio.

    It is no promise for this run: how far it holds here depends on how much alike the systems are.
    """

    low: float
    high: float
    #: The change, the workload and the system, in words.
    conditions: str
    #: The publication, with its year.
    source: str

    @property
    def text(self) -> str:
        """`1.47x to 2.39x the throughput (CONDITIONS; SOURCE)`."""
        return f"{_range(self.low, self.high)} ({self.conditions}; {self.source})"


def _range(low: float, high: float) -> str:
    if low == high:
        return f"{low:.3g}x the throughput"
    return f"{low:.2f}x to {high:.2f}x the throughput"


@dataclass(frozen=True)
class Change:
    """What to change."""

    kind: Kind
    #: A sentence.
    text: str
    #: Lines for the server's option file under the names of its flavour and version, or commands for the host.
    lines: tuple[str, ...] = ()
    #: The same change as fields of an experiment, as `--set` takes them. Empty if an experiment cannot make it.
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Advice:
    """The advice of one rule."""

    #: The name of the rule.
    rule: str
    #: What the run shows, in a sentence.
    finding: str
    #: Sentences with figures of this run.
    evidence: tuple[str, ...]
    change: Change
    confidence: Confidence
    #: What can go wrong, and above all what a crash would lose; empty if nothing is at stake.
    risk: str
    #: The manual's section, the post or the experiment on which the rule rests.
    source: str
    #: The share of the run that the bound takes which this change relieves, 0 to 1; 0 if it relieves none.
    share: float = 0.0
    effect: Effect | None = None
    #: Why there is no effect in figures; empty if there is one.
    no_effect: str = ""
    #: What such a change did to another system; None if nobody is known to have published it.
    elsewhere: Elsewhere | None = None

    @property
    def expected(self) -> str:
        """The effect in words: predicted for this run, else measured elsewhere, else why there is no figure."""
        if self.effect is not None:
            return f"{self.effect.text} ({self.effect.source})"
        return (
            self.no_effect if self.elsewhere is None else f"{self.no_effect}. Measured elsewhere: {self.elsewhere.text}"
        )
