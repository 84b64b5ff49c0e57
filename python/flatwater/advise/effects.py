"""What each change is expected to do: what-if predicts it from this very run, where its model covers the change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from flatwater.advise.advice import Advice, Effect
from flatwater.advise.adviser import Consultation
from flatwater.errors import UserError
from flatwater.what_if import Fitted, fit_twin, predict, read_base
from flatwater.what_if.changes import make_change
from flatwater.what_if.twin import Twin

#: How an effect of a prediction is called.
WHAT_IF = "what-if, from this run"


def with_effects(consultation: Consultation, progress: Callable[[str], None]) -> Consultation:
    """The same advice, each with its predicted effect, or with the reason why there is none.

    A run in virtual time is its own model: `--verify` runs the changed one. A run without a server, or one that is too
    short, has no twin; its advice keeps the rules' effects.
    """
    if consultation.evidence.layers.virtual or not any(_can_be_predicted(one) for one in consultation.advice):
        return consultation
    cell = consultation.cell
    try:
        base = read_base(str(cell.result.path), cell.index)
        with Twin(base) as twin:
            fitted = fit_twin(twin, progress)
            told = tuple(_predicted(one, twin, fitted, progress) for one in consultation.advice)
    except UserError as error:
        told = tuple(_unpredicted(one, error.what) for one in consultation.advice)
    return dataclasses.replace(consultation, advice=told)


def _can_be_predicted(advice: Advice) -> bool:
    return advice.effect is None and bool(advice.change.overrides)


def _predicted(advice: Advice, twin: Twin, fitted: Fitted, progress: Callable[[str], None]) -> Advice:
    if not _can_be_predicted(advice):
        return advice
    try:
        change = make_change(twin, advice.change.overrides)
        (found,) = predict(twin, fitted, [change], progress)
    except UserError as error:
        return _unpredicted(advice, error.what)
    return dataclasses.replace(advice, effect=Effect(found.low, found.high, WHAT_IF), no_effect="")


def _unpredicted(advice: Advice, why: str) -> Advice:
    if not _can_be_predicted(advice):
        return advice
    return dataclasses.replace(advice, no_effect=f"not predicted: {why}")
