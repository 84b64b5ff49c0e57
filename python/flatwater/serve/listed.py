"""One result in the list. Ten thousand are read, so only what the list shows is looked at."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pydantic

from flatwater.errors import UserError
from flatwater.report.units import number
from flatwater.results.opening import read_manifest
from flatwater.results.stored import SUMMARY_BYTES_MAX, exists, read_json_text
from flatwater.results.tags import Tags, read_tags
from flatwater.serve.folders import Place, require_no_links

#: Means that are kept for the small line of a sweep.
MEANS_MAX = 400
#: The most letters of a title: a folder from another source may contain anything.
TITLE_MAX = 300


class _Told(pydantic.BaseModel):
    """A part of what is stored; the rest is skipped before it costs memory."""

    model_config = pydantic.ConfigDict(extra="ignore")


class _Threshold(_Told):
    passed: bool


class _Cell(_Told):
    unit: str
    status: str
    mean: float | None = None
    verdict: str | None = None
    thresholds: list[_Threshold] = pydantic.Field(default_factory=list)
    published: _Told | None = None
    published_others: list[_Told] = pydantic.Field(default_factory=list)

    @property
    def figures(self) -> int:
        """Published figures that stand beside it."""
        return len(self.published_others) + (self.published is not None)


class _Summary(_Told):
    cells: list[_Cell]


@dataclass(frozen=True)
class Listed:
    """A result as the list shows it."""

    place: Place
    title: str
    name: str
    #: running, complete, interrupted or failed, as the result says: a run that was killed still says running.
    status: str
    created_at: datetime
    #: How many cells are planned, and how many are over.
    cells: int
    done: int
    #: Verdict -> number of cells.
    verdicts: dict[str, int] = field(default_factory=dict)
    means: tuple[float, ...] = ()
    unit: str = ""
    #: Limits that were kept, and all limits.
    kept: int = 0
    limits: int = 0
    #: Published figures beside its own.
    published: int = 0
    #: The user's: name -> value.
    tags: dict[str, str] = field(default_factory=dict)
    note: str = ""
    #: Why the tags cannot be read; the result can.
    tags_error: str = ""

    @property
    def words(self) -> str:
        """What a search looks at, in lower case."""
        own = "\n".join([*self.tag_texts, self.note])
        return f"{self.title}\n{self.name}\n{self.place.name}\n{self.unit}\n{own}".casefold()

    @property
    def tag_texts(self) -> list[str]:
        """Each tag as `flatwater tag` takes it: `kernel=6.12`."""
        return [f"{name}={value}" for name, value in self.tags.items()]

    @property
    def mean(self) -> float | None:
        """The mean of a single cell, or the highest of a sweep; None without one."""
        return max(self.means, default=None)

    @property
    def mean_text(self) -> str:
        """The mean with its unit; of a sweep the lowest and the highest."""
        if not self.means:
            return ""
        low, high = number(min(self.means)), number(max(self.means))
        return f"{high} {self.unit}" if low == high else f"{low} to {high} {self.unit}"

    @property
    def limits_text(self) -> str:
        """How many limits of `[thresholds]` were kept; empty if there are none."""
        return f"{self.kept} of {self.limits} kept" if self.limits else ""


def read_listed(place: Place) -> Listed:
    """Reads what the list shows of a result. Errors: UserError for one that is damaged, or of a newer flatwater."""
    require_no_links(place.path)
    manifest = read_manifest(place.path)
    over = manifest.status != "running" and exists(place.path / "summary.json")
    cells = _read_cells(place) if over else []
    units = {cell.unit for cell in cells}
    limits = [limit for cell in cells for limit in cell.thresholds]
    means = [cell.mean for cell in cells if cell.mean is not None]
    tags, tags_error = _read_tags(place)
    return Listed(
        place=place,
        title=(manifest.title or manifest.name)[:TITLE_MAX],
        name=manifest.name[:TITLE_MAX],
        status=manifest.status,
        created_at=_moment(manifest.created_at, place),
        cells=len(manifest.cells),
        done=len(cells),
        verdicts=dict(Counter(_word(cell) for cell in cells).most_common()),
        means=tuple(means[:: max(1, len(means) // MEANS_MAX)]) if len(units) == 1 else (),
        unit=units.pop() if len(units) == 1 else "",
        kept=sum(limit.passed for limit in limits),
        limits=len(limits),
        published=sum(cell.figures for cell in cells),
        tags=tags.tags,
        note=tags.note[:TITLE_MAX],
        tags_error=tags_error,
    )


def _read_tags(place: Place) -> tuple[Tags, str]:
    """The tags, or why they cannot be read."""
    try:
        return read_tags(place.path), ""
    except UserError as error:
        return Tags(), error.what


def _read_cells(place: Place) -> list[_Cell]:
    file = place.path / "summary.json"
    try:
        return _Summary.model_validate_json(read_json_text(file, SUMMARY_BYTES_MAX)).cells
    except pydantic.ValidationError as error:
        first: Any = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise UserError(f"{where}: {first['msg']}", where=str(file), hint="the result is damaged") from None


def _word(cell: _Cell) -> str:
    """The verdict as the report's table has it (`report.sentences.verdict_word`)."""
    return cell.verdict or ("not judged" if cell.status == "complete" else cell.status)


def _moment(text: str, place: Place) -> datetime:
    """When the run began; by the file where the result does not tell."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    try:
        return datetime.fromtimestamp(place.stamp[0][0] / 1e9, UTC)
    except (ValueError, OverflowError, OSError):  # a file of the year 10000
        return datetime.fromtimestamp(0, UTC)
