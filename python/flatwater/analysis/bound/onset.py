"""What each stall and each dip began with, and what ended it.

A cause comes before its effect. So of everything that was recorded, what left its level first, at the beginning of the
interruption or shortly before, is told as its beginning; and what came back as it ended is told as its end. This is an
order in time, and no proof.

A quantity has left its level when it is more than six standard deviations away from what it is between interruptions,
as a dip is (`dips.py`), and by a quarter of that level at least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.line import Line, Values
from flatwater.analysis.bound.words import figure, size
from flatwater.analysis.dips import scatter
from flatwater.results.schema import Bound, Interruption

#: How long before an interruption its cause may begin.
BEFORE_S = 3.0
#: Standard deviations, and the share of the level, by which a quantity must be away.
_DEVIATIONS, _SHARE = 6.0, 0.25
#: Fewer intervals between interruptions give no level.
_LEVEL_MIN = 5
#: More interruptions than this are counted, and only the longest are looked at.
LOOKED_AT_MAX = 50
#: Things that are told of one interruption.
_TOLD_MAX = 3
#: Interruptions are regular if there are so many, and their spacing scatters by no more than this share of its median
#: (as the dips of `dips.py`).
_PERIOD_MIN, _PERIOD_SCATTER = 3, 0.25


@dataclass(frozen=True)
class _Quantity:
    """Something that can be a cause: what it is called, and which way it goes when it is one."""

    words: str
    line: Line | None
    rises: bool = True
    unit: str = ""

    def text(self, value: float, usual: float) -> str:
        """The quantity with both values."""
        return f"{self.words} {'rose' if value > usual else 'fell'} from {self._number(usual)} to {self._number(value)}"

    def _number(self, value: float) -> str:
        return size(value) if self.unit == "bytes" else f"{figure(value)}{self.unit}"


def explain(evidence: Evidence) -> tuple[list[Interruption], float | None, str]:
    """The stalls and dips with what they began and ended with, their period, and a sentence on all of them."""
    spans = _spans(evidence)
    if not spans or not evidence.samples:
        return [], None, ""
    calm: _Marks = np.ones(evidence.samples, dtype=np.bool_)
    for _, start_s, length_s in spans:
        calm &= ~_within(evidence, start_s - BEFORE_S, start_s + length_s)
    quantities = [one for one in _quantities(evidence) if one.line is not None]
    looked_at = sorted(spans, key=lambda span: -span[2])[:LOOKED_AT_MAX]
    found = [_interruption(evidence, span, quantities, calm) for span in looked_at]
    period_s = _period(spans) or evidence.dip_period_s
    return found, period_s, _sentence(found, len(spans), period_s)


def with_interruptions(bound: Bound, evidence: Evidence) -> Bound:
    """The diagnosis with what its interruptions began and ended with."""
    found, period_s, text = explain(evidence)
    return bound.model_copy(update={"interruptions": found, "period_s": period_s, "interruptions_text": text})


_Span = tuple[str, float, float]
_Marks = np.ndarray[tuple[int], np.dtype[np.bool_]]


def _spans(evidence: Evidence) -> list[_Span]:
    stalls = [("stall", one.start_s, one.length_s) for one in evidence.stalls]
    return sorted([*stalls, *(("dip", one.start_s, one.length_s) for one in evidence.dips)], key=lambda one: one[1])


def _within(evidence: Evidence, from_s: float, to_s: float) -> _Marks:
    """The intervals that end after `from_s`, and that begin before `to_s`; 1 ms absorbs rounding."""
    ends = evidence.time_s
    marked: _Marks = (ends > from_s + 1e-3) & (ends - evidence.interval_s < to_s - 1e-3)
    return marked


@dataclass(frozen=True)
class _Left:
    """A quantity that left its level."""

    at_s: float
    #: How many times the distance that is needed.
    far: float
    text: str
    #: That it came back, in words; empty if it had not when the interruption was over.
    back: str


def _interruption(evidence: Evidence, span: _Span, quantities: Sequence[_Quantity], calm: _Marks) -> Interruption:
    kind, start_s, length_s = span
    left = [_left_level(evidence, one, start_s, length_s, calm) for one in quantities]
    # What left first stands first; of those that left in the same interval, what is furthest from its level.
    ordered = sorted((one for one in left if one is not None), key=lambda one: (one.at_s, -one.far))
    first = [one for one in ordered if one.at_s <= ordered[0].at_s + 1e-3]
    end_s = start_s + length_s
    happened = _events(evidence, ("incident", "fault"), start_s - BEFORE_S, start_s + evidence.interval_s)
    over = _events(evidence, ("recovered",), end_s - evidence.interval_s, end_s + evidence.interval_s)
    return Interruption(
        kind="stall" if kind == "stall" else "dip",
        start_s=start_s,
        length_s=length_s,
        began=[*happened, *(one.text for one in first)][:_TOLD_MAX],
        ended=[*over, *(one.back for one in first if one.back)][:_TOLD_MAX],
    )


def _events(evidence: Evidence, kinds: Sequence[str], from_s: float, to_s: float) -> list[str]:
    return [event.text for event in evidence.events if event.kind in kinds and from_s <= event.time_s <= to_s]


def _left_level(evidence: Evidence, one: _Quantity, start_s: float, length_s: float, calm: _Marks) -> _Left | None:
    """When and how far a quantity left its level; None if it did not, or has none."""
    assert one.line is not None
    values = one.line.value
    usual = values[calm & np.isfinite(values)]
    if len(usual) < _LEVEL_MIN:
        return None
    level = float(np.median(usual))
    least = max(_DEVIATIONS * scatter(usual), _SHARE * abs(level), 1e-9)
    away = np.nan_to_num(values - level) * (1 if one.rises else -1)
    near = _within(evidence, start_s - BEFORE_S, start_s + evidence.interval_s)
    marked = np.flatnonzero(near & (away > least))
    if not len(marked):
        return None
    worst = float(values[marked[int(np.argmax(away[marked]))]])
    after = _within(evidence, start_s + length_s, start_s + length_s + 2 * evidence.interval_s)
    back = f"{one.words} came back to its level" if np.any(after & (away <= least)) else ""
    return _Left(float(evidence.time_s[marked[0]]), float(away[marked].max()) / least, one.text(worst, level), back)


def _quantities(evidence: Evidence) -> Iterator[_Quantity]:
    """What may cause an interruption. What only follows from one (throughput, latencies, hits) is left out."""
    database, device, cache, machine = evidence.database, evidence.device, evidence.cache, evidence.machine
    if database is not None:
        yield _Quantity("pages flushed at the log's limit", database.flushed_sync_per_s, unit="/s")
        yield _Quantity("pages flushed to free frames", database.flushed_lru_per_s, unit="/s")
        yield _Quantity("pages flushed", database.pages_flushed_per_s, unit="/s")
        yield _Quantity("waits for a free page", database.free_page_waits_per_s, unit="/s")
        yield _Quantity("waits for room in the log buffer", database.log_buffer_waits_per_s, unit="/s")
        yield _Quantity("reads of log pages", database.log_page_reads_per_s, unit="/s")
        yield _Quantity("time in row locks", database.row_lock_pct, unit=" %")
        yield _Quantity("the server's wait for a processor", database.cpu_wait_pct, unit=" %")
    if device is not None:
        yield _Quantity("the collector's share of the card", device.gc_share_pct, unit=" %")
        yield _Quantity("the time of a flush", device.flush_await_us, unit=" us")
        yield _Quantity("the time of a write", device.write_await_us, unit=" us")
        yield _Quantity("the time of a read", device.read_await_us, unit=" us")
        yield _Quantity("discards", device.discard_ops_per_s, unit="/s")
        yield _Quantity("bytes written to the device", device.write_bytes_per_s, unit="bytes")
        yield _Quantity("the array's write-back cache", device.write_back, rises=False)
        yield _Quantity("working members", device.members_working, rises=False)
        yield _Quantity("progress of a patrol read", _or_none_yet(device.patrol_pct), unit=" %")
        yield _Quantity("progress of a check", _or_none_yet(device.check_pct), unit=" %")
        yield _Quantity("progress of a rebuild", _or_none_yet(device.rebuild_pct), unit=" %")
    if cache is not None:
        yield _Quantity("blocks written back by the cache", cache.write_backs_per_s, unit="/s")
        yield _Quantity("writes that found no slot", cache.starved_per_s, unit="/s")
        yield _Quantity("dirty blocks of the cache", cache.dirty_pct, unit=" %")
        collecting = cache.fast.gc_share_pct if cache.fast is not None else None
        yield _Quantity("the collector's share of the cache's card", collecting, unit=" %")
    yield _Quantity("other processes' processor time", _of_others(evidence), unit=" %")
    yield _Quantity("the processor time that the host gave to others", machine.cpu_steal_pct, unit=" %")
    yield _Quantity("pressure on memory", machine.pressure_memory_pct, unit=" %")


def _or_none_yet(progress: Line | None) -> Line | None:
    """0 % while the work is not under way: there is a value only while it is."""
    return Line(np.nan_to_num(progress.value)) if progress is not None else None


def _of_others(evidence: Evidence) -> Line | None:
    others, own = evidence.machine.others_pct, evidence.machine.children_pct
    if others is None or own is None:
        return None
    value: Values = np.maximum(others.value - own.value, 0.0)
    return Line(value) if np.isfinite(value).any() else None


def _period(spans: Sequence[_Span]) -> float | None:
    if len(spans) < _PERIOD_MIN:
        return None
    spacing = np.diff([start_s + length_s / 2 for _, start_s, length_s in spans])
    period_s = float(np.median(spacing))
    return period_s if float(np.abs(spacing - period_s).max()) <= _PERIOD_SCATTER * period_s else None


def _sentence(found: Sequence[Interruption], count: int, period_s: float | None) -> str:
    """One sentence for all of them: what most of them began with."""
    kinds = {one.kind for one in found}
    word = kinds.pop() if len(kinds) == 1 else "interruption"
    many = f"{count} {word}s" if count > 1 else f"1 {word}"
    every = f", one every {period_s:.3g} s" if period_s is not None else ""
    # The figures differ from one to the next, so what is alike is the words before them.
    firsts = [(one.began[0], one) for one in found if one.began]
    if not firsts:
        return f"{many}{every}: nothing that was recorded left its level first."
    common, times = Counter(_what(text) for text, _ in firsts).most_common(1)[0]
    text, one = next((text, one) for text, one in firsts if _what(text) == common)
    of = f"{times} of the {len(found)} looked at" if len(found) > 1 else "it"
    ended = f", and ended when {one.ended[0]}" if one.ended else ""
    return f"{many}{every}: {of} began when {text}{ended}."


def _what(text: str) -> str:
    return text.partition(" rose from ")[0].partition(" fell from ")[0].partition(":")[0]
