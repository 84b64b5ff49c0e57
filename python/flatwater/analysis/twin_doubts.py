"""In what a modelled twin is not like its measured run: reasons not to rely on what it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

#: A twin whose throughput before the fit is more than this many times off: a factor of two is more than the usual
#: error (docs/what-if.md has measured ones), so something decides the run that the model does not have.
LEVEL_TIMES = 2.0
#: A twin whose pages written are off by this share of the measured ones: effects on writing are as wrong as that.
PAGES_SHARE = 0.5
#: Fewer pages a transaction than this are not compared: they do not matter.
LEAST_PAGES = 0.05


class Figures(Protocol):
    """A measured figure beside the twin's."""

    @property
    def measured(self) -> float:
        """What the run had."""

    @property
    def model(self) -> float:
        """What the twin has."""


def level_doubt(measured: float, model: float, unit: str) -> str | None:
    """A sentence if the level of a twin to which nothing was fitted is more than `LEVEL_TIMES` off; else None."""
    if min(measured, model) <= 0 or max(measured, model) <= LEVEL_TIMES * min(measured, model):
        return None
    times, side = (model / measured, "higher") if model > measured else (measured / model, "lower")
    return (
        f"the twin is {times:.1f} x {side} than the run before anything is fitted ({model:,.0f} against "
        f"{measured:,.0f} {unit}): something that the model does not have decides this run"
    )


def pages_doubt(pages: Figures) -> str | None:
    """A sentence if a twin writes `PAGES_SHARE` more or fewer pages a transaction than its run; else None."""
    if max(pages.measured, pages.model) <= LEAST_PAGES:
        return None
    share = pages.model / pages.measured - 1.0 if pages.measured > 0 else float("inf")
    if abs(share) < PAGES_SHARE:
        return None
    amount = f"{abs(100 * share):.0f} % {'more' if share > 0 else 'fewer'} pages" if pages.measured > 0 else "pages"
    return (
        f"the twin writes {amount} than the run ({pages.model:.3g} against {pages.measured:.3g} a transaction): "
        "ratios are marked with ?, do not rely on them"
    )


def joined(doubts: Sequence[str | None]) -> tuple[str, ...]:
    """The sentences that there are."""
    return tuple(doubt for doubt in doubts if doubt is not None)
