"""Putting the samples of several files on the clock of one run.

A file without times is taken to begin with the run. Times without a zone are taken for the zone that the user gives, or
for the one (in quarters of an hour) in which they begin nearest to the times whose zone is known. What was assumed is
told, file by file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flatwater.results.importers.imported import Interval, counted
from flatwater.results.importers.samplers import Recording, Sample
from flatwater.results.importers.spans import GAP_TIMES, gap_note, usual_interval

#: Every time zone is a multiple of this off UTC.
_ZONE_STEP_S = 900.0
_ZONE_MAX_S = 14 * 3600.0
#: A file without times whose samples are this many times fewer than seconds has a longer interval than a second.
_LONGER = 1.5


@dataclass(frozen=True)
class Placed:
    """The intervals of one file in the time of a run, and what is to be told of them."""

    intervals: list[Interval]
    #: Each told once for a recording, whatever it is of.
    told: tuple[str, ...]
    #: What was assumed of its times; empty if nothing.
    assumed: str = ""


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
            scale = 1.0 if recording.interval_s else self.every_s or self._guessed_step(samples)
            assumed = "no times: taken to begin with the run"
            assumed += "" if recording.interval_s or self.every_s else f", in intervals of {scale:g} s"
        elif self.began is not None:
            shift = self.began + (self.zone_s if recording.clock == "local" else 0.0)
            assumed = self.zone_text if recording.clock == "local" else ""
        times = [sample.at_s * scale - shift for sample in samples]
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
        # A sample without figures (counters across a restart) is told where it was read.
        filled = sum(bool(sample.metrics) for sample in samples)
        if len(found) < filled:
            told.append(f"{filled - len(found)} of {filled} lie outside of the run")
        return Placed(found, tuple(told), assumed)

    def _guessed_step(self, samples: Sequence[Sample]) -> float:
        ratio = self.length_s / samples[-1].at_s if samples and samples[-1].at_s > 0 else 1.0
        return float(round(ratio)) if ratio >= _LONGER else 1.0


def first_s(recording: Recording) -> float:
    """The start of the first interval of a recording with times."""
    times = recording.times
    return times[0] - (usual_interval(times) or 1.0)


def find_zone(known: Sequence[float], naive: Sequence[float], given_s: float | None) -> tuple[float, str]:
    """The offset of times without a zone, and what is to be told of it.

    `known` are the starts of recordings whose zone is told, `naive` those of the others.
    """
    if given_s is not None:
        return given_s, ""
    if not known or not naive:
        return 0.0, ""
    offset_s = round((min(naive) - min(known)) / _ZONE_STEP_S) * _ZONE_STEP_S
    if abs(offset_s) > _ZONE_MAX_S:
        return 0.0, ""
    return offset_s, f"times without a zone: read as UTC{zone_name(offset_s)}, in which they begin with the others"


def zone_name(offset_s: float) -> str:
    """An offset as +02:00; empty for UTC itself."""
    if not offset_s:
        return ""
    hours, minutes = divmod(int(abs(offset_s)) // 60, 60)
    return f"{'+' if offset_s > 0 else '-'}{hours:02}:{minutes:02}"
