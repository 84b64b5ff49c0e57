"""Advice whose effect is not predicted, and the reasons that do not depend on who would predict it."""

from __future__ import annotations

import dataclasses

from flatwater.advise.advice import Advice
from flatwater.advise.adviser import Consultation
from flatwater.analysis.bound.finding import MAIN_MIN

#: Why a run beside busy programs has no prediction: how busy they are in a rerun is not known, and no interval of the
#: run tells it. Two of four promises of such runs failed when they were tried.
NEIGHBOURS = "other programs took much of this run's time, and a rerun meets others: measure on a quiet machine"


def can_be_predicted(advice: Advice) -> bool:
    """Whether an experiment can make the change, and no rule has told its effect."""
    return advice.effect is None and bool(advice.change.overrides)


def has_busy_neighbours(consultation: Consultation) -> bool:
    """Whether other programs took so much of the run that a rerun is another measurement."""
    return any(one.name == "neighbour" and one.share >= MAIN_MIN for one in consultation.diagnosis.findings)


def unpredicted(advice: Advice, why: str) -> Advice:
    """The advice with the reason why its effect is not predicted, if it could be."""
    if not can_be_predicted(advice):
        return advice
    return dataclasses.replace(advice, no_effect=f"not predicted: {why}; --verify measures it")


def all_unpredicted(consultation: Consultation, why: str) -> Consultation:
    """The same for each advice."""
    return dataclasses.replace(consultation, advice=tuple(unpredicted(one, why) for one in consultation.advice))
