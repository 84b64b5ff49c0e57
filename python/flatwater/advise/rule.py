"""What a rule is, and what it sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from flatwater.advise.advice import Advice, Change, Confidence, Effect, Elsewhere
from flatwater.advise.dialect import Dialect
from flatwater.analysis.bound import Diagnosis, Evidence, Finding

#: Why a change has no effect in figures yet: what can give it one, and that flatwater cannot.
NOT_PREDICTED, NOT_MADE = (
    "not predicted: --verify measures it",
    "not predicted: flatwater cannot make this change by itself",
)


@dataclass(frozen=True)
class Case:
    """One measured cell: what it recorded, what bounded it, and the names of its server's settings."""

    evidence: Evidence
    diagnosis: Diagnosis
    #: None where no database was measured.
    server: Dialect | None

    @classmethod
    def of(cls, evidence: Evidence, diagnosis: Diagnosis) -> Case:
        """The case of a diagnosed cell."""
        server = Dialect.of(evidence.database) if evidence.database is not None else None
        return cls(evidence, diagnosis, server)

    def finding(self, *names: str) -> Finding | None:
        """The largest finding of one of these bounds; None if none of them was at work.

        None of a served load too: what was at work there held nothing back.
        """
        if self.is_served:
            return None
        return next((one for one in self.diagnosis.findings if one.name in names), None)

    @property
    def is_served(self) -> bool:
        """Whether the load that was asked for was served: nothing held the run back."""
        return self.diagnosis.name == "nothing"


class Rule(ABC):
    """One rule: the condition on measured evidence, and the advice that follows.

    A rule is silent (`None`) unless the evidence shows that its advice applies. What was not recorded is None in the
    evidence, and a rule that needs it is silent.
    """

    #: As `--rule` takes it and `--json` prints it: lower case, words joined by `-`.
    name: ClassVar[str]
    #: What it looks at, in a sentence.
    about: ClassVar[str]
    #: The manual's section, the post or the experiment on which it rests.
    source: ClassVar[str]
    #: What such a change did to the throughput of other systems; or, in words, why no published figure is given.
    elsewhere: ClassVar[Elsewhere | str]

    @abstractmethod
    def advise(self, case: Case) -> Advice | None:
        """The advice for a case; None if it does not apply, or that is not certain enough."""

    def advice(
        self,
        finding: str,
        change: Change,
        *evidence: str | None,
        confidence: Confidence,
        risk: str = "",
        relieves: Finding | None = None,
        effect: Effect | None = None,
        elsewhere: Elsewhere | str | None = None,
    ) -> Advice:
        """The advice of the rule. Evidence that is None was not recorded; what is told twice is shown once. The change
        relieves the bound `relieves`.

        `elsewhere`: for a case that is unlike those that were published; None for the rule's own.
        """
        published = self.elsewhere if elsewhere is None else elsewhere
        return Advice(
            rule=self.name,
            finding=finding,
            evidence=tuple(dict.fromkeys(line for line in evidence if line is not None)),
            change=change,
            confidence=confidence,
            risk=risk,
            source=self.source,
            share=relieves.share if relieves is not None else 0.0,
            effect=effect,
            no_effect="" if effect is not None else _no_effect(change, published),
            elsewhere=published if isinstance(published, Elsewhere) else None,
        )


def _no_effect(change: Change, published: Elsewhere | str) -> str:
    if change.overrides:
        return NOT_PREDICTED
    return NOT_MADE if isinstance(published, Elsewhere) else f"{NOT_MADE}, and {published}"
