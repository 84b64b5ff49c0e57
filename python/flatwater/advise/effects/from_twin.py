"""The effects of changes of a measured run: what-if predicts them from this very run, where its model covers them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from flatwater.advise.advice import Advice, Effect
from flatwater.advise.adviser import Consultation
from flatwater.advise.effects.unpredicted import (
    NEIGHBOURS,
    all_unpredicted,
    can_be_predicted,
    has_busy_neighbours,
    unpredicted,
)
from flatwater.errors import UserError
from flatwater.what_if import Change, Fitted, fit_twin, predict, read_base, refusal
from flatwater.what_if.changes import make_change
from flatwater.what_if.twin import Twin

#: How an effect of a prediction is called.
WHAT_IF = "what-if, from this run"


def twin_effects(consultation: Consultation, progress: Callable[[str], None]) -> Consultation:
    """The same advice, each with its predicted effect, or with the reason why there is none.

    A run without a server, or one that is too short, has no twin; its advice keeps the rules' effects.
    """
    if consultation.evidence.load.kind == "observed":
        return all_unpredicted(consultation, "no model knows the load of this server's clients")
    if not any(can_be_predicted(one) for one in consultation.advice):
        return consultation
    cell = consultation.cell
    if has_busy_neighbours(consultation):
        return all_unpredicted(consultation, NEIGHBOURS)
    try:
        with Twin(read_base(str(cell.result.path), cell.index)) as twin:
            asked = [_ask(one, twin) for one in consultation.advice]
            if all(change is None for _, change in asked):
                return dataclasses.replace(consultation, advice=tuple(advice for advice, _ in asked))
            fitted = fit_twin(twin, progress)
            if fitted.unreliable is not None:
                raise UserError(fitted.unreliable.partition(":")[0])
            told = tuple(_predicted(one, change, twin, fitted, progress) for one, change in asked)
    except UserError as error:
        return all_unpredicted(consultation, error.what)
    return dataclasses.replace(consultation, advice=told)


def _ask(advice: Advice, twin: Twin) -> tuple[Advice, Change | None]:
    """The change to predict; None where there is none, and then the advice says why."""
    if not can_be_predicted(advice):
        return advice, None
    try:
        change = make_change(twin, advice.change.overrides)
    except UserError as error:
        return unpredicted(advice, error.what), None
    why = refusal(twin, change)
    return (advice, change) if why is None else (unpredicted(advice, why), None)


def _predicted(
    advice: Advice, change: Change | None, twin: Twin, fitted: Fitted, progress: Callable[[str], None]
) -> Advice:
    if change is None:
        return advice
    try:
        (found,) = predict(twin, fitted, [change], progress)
    except UserError as error:
        return unpredicted(advice, error.what)
    if found.doubt is not None:
        return unpredicted(advice, found.doubt)
    return dataclasses.replace(advice, effect=Effect(found.low, found.high, WHAT_IF, found.ratio), no_effect="")
