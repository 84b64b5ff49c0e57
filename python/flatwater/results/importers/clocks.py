"""Putting the samples of several files on the clock of one run.

A file without times is taken to begin with the run. Times without a zone are taken for the zone that the user gives, or
for the one in which they lie with, and begin nearest to, the times whose zone is known. What was assumed is
told, file by file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flatwater.printing import counted
from flatwater.results.importers.imported import Interval
from flatwater.results.importers.samplers import Recording, Sample
from flatwater.results.importers.spans import gap_note, usual_interval
from flatwater.results.long_intervals import GAP_TIMES

#: Every time zone is a multiple of this off UTC.
_ZONE_STEP_S = 900.0
#: The offsets of all time zones that are in use, in hours: those of whole hours, and the others. Source: IANA's tz
#: database, 2024a (-02:30 is Newfoundland in summer, +13:45 the Chatham Islands).
_WHOLE_HOURS = range(-12, 15)
_PART_HOURS = (-9.5, -3.5, -2.5, 3.5, 4.5, 5.5, 5.75, 6.5, 8.75, 9.5, 10.5, 12.75, 13.75)
ZONES_S = tuple(hours * 3600.0 for hours in sorted((*_WHOLE_HOURS, *_PART_HOURS)))
#: So much of the shorter lies in the longer: the rest is the time in which somebody started the second program.
_INSIDE = 0.9
#: A file without times whose samples are this many times fewer than seconds has a longer interval than a second.
_LONGER = 1.5


#: An hour, by which clocks are set forward in spring, and how exactly a sample is on time.
_HOUR_S, _CLOCK_S = 3600.0, 1.5
#: A beginning and an end, seconds since 1970.
Span = tuple[float, float]


@dataclass(frozen=True)
class Placed:
    """The intervals of one file in the time of a run, and what is to be told of them."""

    intervals: list[Interval]
    #: Each told once for a recording, whatever it is of.
    told: tuple[str, ...]
    #: What was assumed of its times; empty if nothing.
    assumed: str = ""
    #: That its clock was set forward; empty if it was not.
    forward: str = ""


@dataclass(frozen=True)
class Timeline:
    """The clock of a run. `began`: its start, seconds since 1970, UTC; None if no file tells a time."""

    length_s: float
    began: float | None
    #: Offset of times whose zone is not told, and how it is known.
    zone_s: float
    zone_text: str
    #: The interval of files that do not tell it; None: from the length of the run.
    every_s: float | None = None

    def place(self, recording: Recording, samples: Sequence[Sample]) -> Placed:
        """Puts samples of a recording on the clock. No intervals if none lies in the run."""
        assumed = ""
        scale, shift = 1.0, 0.0
        if recording.clock == "none":
            if recording.interval_s:
                scale = recording.scale(self.every_s)
            else:
                scale = self.every_s or self._guessed_step(samples)
            timed = recording.interval_s and not recording.is_counted
            assumed = f"{'times without a date' if timed else 'no times'}: taken to begin with the run"
            assumed += "" if recording.interval_s or self.every_s else f", in intervals of {scale:g} s"
        elif self.began is not None:
            shift = self.began + (self.zone_s if recording.clock == "local" else 0.0)
            assumed = self.zone_text if recording.clock == "local" else ""
        is_told = bool(recording.interval_s or self.every_s)
        if recording.counts and not is_told:
            assumed += "; its counts are left out: without --every they are no rates"
        samples = recording.spaced(samples, scale, is_told=is_told)
        times = [sample.at_s - shift for sample in samples]
        usual = usual_interval(times) or (recording.interval_s or 1.0) * scale
        found = []
        for number, (at_s, sample) in enumerate(zip(times, samples, strict=True)):
            before = times[number - 1] if number else at_s - usual
            start_s = before if at_s - before <= GAP_TIMES * usual else at_s - usual
            # A first sample that only ends with the beginning of the run is none of its time.
            if start_s >= -usual / 2 and at_s <= self.length_s + usual / 2 and sample.metrics:
                found.append(Interval(max(start_s, 0.0), at_s, sample.metrics, sample.line))
        told = [
            f"{counted(len(found), 'sample')} of {usual:g} s",
            *([assumed] if assumed else []),
            *gap_note(times, [sample.line for sample in samples]),
        ]
        forward = _set_forward(times, samples, usual) if recording.clock == "local" else ""
        told += [forward] if forward else []
        # A sample without figures (counters across a restart) is told where it was read.
        filled = sum(bool(sample.metrics) for sample in samples)
        if len(found) < filled:
            told.append(f"{filled - len(found)} of {filled} lie outside of the run")
        return Placed(found, tuple(told), assumed, forward)

    def _guessed_step(self, samples: Sequence[Sample]) -> float:
        ratio = self.length_s / samples[-1].at_s if samples and samples[-1].at_s > 0 else 1.0
        return float(round(ratio)) if ratio >= _LONGER else 1.0


def _set_forward(times: Sequence[float], samples: Sequence[Sample], usual: float) -> str:
    """The note about a clock without a zone that was set forward by an hour; empty if it was not."""
    for (before, now), sample in zip(pairwise(times), samples[1:], strict=True):
        if _HOUR_S <= now - before - usual + _CLOCK_S <= _HOUR_S + 2 * _CLOCK_S:
            where = f"line {sample.line}: " if sample.line else ""
            return (
                f"{where}its clock goes forward by an hour there (summer time?): what follows is put an hour later, "
                "unless nothing was sampled in that hour"
            )
    return ""


def first_s(recording: Recording) -> float:
    """The start of the first interval of a recording with times."""
    times = recording.times
    return times[0] - (usual_interval(times) or 1.0)


def span_of(recording: Recording) -> Span:
    """The beginning and the end of a recording with times."""
    return first_s(recording), recording.times[-1]


def find_zone(known: Sequence[Span], naive: Sequence[Span], given_s: float | None) -> tuple[float, str]:
    """The offset of times without a zone, and what is to be told of it.

    `known` are the times of recordings whose zone is told, `naive` those of the others. Of the zones that there are, it
    is one in which one of both lies in the other, and begins nearest to it; else the one in which most of it does.
    """
    if given_s is not None:
        return given_s, ""
    if not known or not naive:
        return 0.0, ""
    pairs = [(one, other) for one in known for other in naive]

    def share(zone_s: float) -> float:
        return max(
            (min(one[1], other[1] - zone_s) - max(one[0], other[0] - zone_s))
            / max(min(one[1] - one[0], other[1] - other[0]), 1.0)
            for one, other in pairs
        )

    def apart_s(zone_s: float) -> float:
        return min(abs(other[0] - zone_s - one[0]) for one, other in pairs)

    inside = [zone_s for zone_s in ZONES_S if share(zone_s) >= _INSIDE]
    zone_s = (
        min(inside or ZONES_S, key=apart_s) if inside else max(ZONES_S, key=lambda one: (share(one), -apart_s(one)))
    )
    if share(zone_s) <= 0 and apart_s(zone_s) > _ZONE_STEP_S / 2:
        return 0.0, ""
    begins = apart_s(zone_s) <= _ZONE_STEP_S / 2
    how = (
        "in which they begin with the others" if begins else "the zone nearest to the others in which they lie together"
    )
    others = [zone_name(one) or "+00:00" for one in inside if one != zone_s]
    more = f" (they do in UTC{', UTC'.join(others[:3])}, too: --timezone tells it)" if others and not begins else ""
    return zone_s, f"times without a zone: read as UTC{zone_name(zone_s)}, {how}{more}"


def zone_name(offset_s: float) -> str:
    """An offset as +02:00; empty for UTC itself."""
    if not offset_s:
        return ""
    hours, minutes = divmod(int(abs(offset_s)) // 60, 60)
    return f"{'+' if offset_s > 0 else '-'}{hours:02}:{minutes:02}"
