"""Figures in the sentences of a finding."""

from __future__ import annotations

from flatwater.analysis.bound.line import Line


def figure(value: float) -> str:
    """Three significant digits, thousands separated."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def counted(value: float, what: str) -> str:
    """`1 session`, `0.5 sessions`, `16 sessions`."""
    told = figure(value)
    return f"{told} {what}" if told == "1" else f"{told} {what}s"


def percent(share: float) -> str:
    """A share as a whole percentage."""
    return f"{100 * share:.0f} %"


def duration(microseconds: float) -> str:
    """A time in the unit in which it is read most easily."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3g} s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3g} ms"
    return f"{microseconds:.3g} us"


def size(value: float) -> str:
    """Bytes in binary units, three digits."""
    amount, units = float(value), ("bytes", "KiB", "MiB", "GiB", "TiB")
    for unit in units[:-1]:
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:,.3g} {units[-1]}"


def each_second(line: Line | None, what: str) -> str | None:
    """`2,451 pages read a second`; None if it was not recorded."""
    return None if line is None else f"{figure(line.mean)} {what} a second"
