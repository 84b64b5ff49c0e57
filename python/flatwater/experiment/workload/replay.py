"""The requests of a trace, on files, a block device or a modelled device."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from flatwater.errors import UserError
from flatwater.experiment.named_file import require_may_open
from flatwater.experiment.problem import Problem, quote, refuse
from flatwater.experiment.units import print_size
from flatwater.experiment.workload.fileio import MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, SECTOR, Fileio, Mode
from flatwater.experiment.workload.timing import problem

if TYPE_CHECKING:
    from flatwater._engine import TraceSummary

#: Fields of fileio that the trace decides. Setting one would have no effect.
_TRACE_SAYS = (
    "mode",
    "read_pct",
    "rw_ratio",
    "block_size",
    "rate_per_s",
    "arrival",
    "distribution",
    "zipf_theta",
    "pareto_h",
    "hotspot_access_pct",
    "hotspot_data_pct",
    "fsync_every",
    "verify",
)
#: Requests of a trace are widened to whole sectors.
_ALIGN = SECTOR


def _speed(value: Any) -> Any:
    return 0.0 if value == "asap" else value


def _format(name: str) -> str:
    from flatwater._engine import trace_formats

    names = ["guess", *(known for known, _ in trace_formats())]
    if name not in names:
        raise refuse(f"there is no format {name!r} of traces", ", ".join(names))
    return name


class Replay(Fileio):
    """Replays a trace: the same requests in the same order, at their recorded times or as fast as possible."""

    kind: Literal["replay"] = "replay"  # type: ignore[assignment]
    #: The trace's file.
    trace: str = Field(min_length=1)
    #: flatwater, iolog, blkparse or msr.
    format: Annotated[str, AfterValidator(_format)] = "guess"
    #: 1.0: as recorded, even if the storage is slower; 2.0: twice as fast; 0 or "asap": as fast as the storage serves.
    speed: Annotated[float, BeforeValidator(_speed), Field(ge=0, le=1e6)] = 1.0
    #: Offsets beyond the end of the storage: refused, taken modulo its size, or scaled to it.
    offsets: Literal["as-is", "wrap", "scale"] = "as-is"
    #: Start again at the end of the trace, until the time is over.
    repeat: bool = True
    # A replay has one queue, for the requests that are due.
    mode: Mode = "rndrw"
    engine: Literal["psync", "io_uring"] = "io_uring"
    queue_depth: int = Field(default=128, ge=1, le=MAX_QUEUE_DEPTH)

    @property
    def summary(self) -> TraceSummary:
        """The summary of the trace, which is read once per process. Errors: ValueError(what, where, hint)."""
        path = Path(self.trace)
        try:
            require_may_open(path)
        except UserError as error:
            raise ValueError(error.what, "", error.hint or "") from None
        try:
            told = path.stat()
        except OSError:
            version = (0, 0)
        else:
            # A pipe would be waited for, and a device has no end.
            if not stat.S_ISREG(told.st_mode):
                raise ValueError(f"{quote(self.trace)} is not a file", "", "a trace is a file: cat PIPE > FILE")
            version = (told.st_mtime_ns, told.st_size)
        return _summary(path, None if self.format == "guess" else self.format, version)

    @property
    def read_fraction(self) -> float:
        """Share of the requests that read, 0..1."""
        requests = self.summary["requests"]
        moved = requests["read"] + requests["write"] + requests["zero"]
        return requests["read"] / moved if moved else 1.0

    @property
    def align_bytes(self) -> int:
        """The unit of all requests."""
        return max(_ALIGN, self.summary["align_bytes"])

    @property
    def block_sizes(self) -> dict[int, float]:
        """The smallest unit and the longest request; the lengths between are unknown."""
        align = self.align_bytes
        # An unaligned request is widened at both ends.
        longest = -(-max(1, self.summary["longest_bytes"]) // align) * align
        longest += align if self.summary["unaligned"] else 0
        return {longest: 100.0} if longest == align else {align: 50.0, longest: 50.0}

    def conflicts(self) -> Iterator[Problem]:
        """Fields that the trace decides, and a trace that cannot be read or replayed."""
        fields = type(self).model_fields
        for name in _TRACE_SAYS:
            value = getattr(self, name)
            if value != fields[name].default:
                yield problem(name, "has no meaning in a replay: the trace says it", "take it out", "kind")
        try:
            summary = self.summary
        except ValueError as error:
            what, where, hint = error.args if len(error.args) == 3 else (str(error), "", "")
            place = "" if where in ("", self.trace) else f" ({where})"
            yield problem("trace", f"{what}{place}", hint or None, "format")
            return
        if summary["objects"]:
            what = "a trace of objects has no requests to a device"
            yield problem("trace", what, "flatwater trace simulate can use it", "format")
        elif not sum(summary["requests"][kind] for kind in ("read", "write", "zero")):
            yield problem("trace", "there is no read and no write in it", "another trace", "format")
        elif summary["longest_bytes"] > MAX_BLOCK_SIZE:
            longest, most = print_size(summary["longest_bytes"]), print_size(MAX_BLOCK_SIZE)
            yield problem("trace", f"a request of {longest} is longer than {most}", None, "format")
        else:
            yield from super().conflicts()


@lru_cache(maxsize=64)
def _summary(path: Path, format_: str | None, version: tuple[int, int]) -> TraceSummary:
    from flatwater._engine import trace_summary

    return trace_summary(path, format_)
