"""Published properties of several cells: their verdict, their order, the place of the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from flatwater.experiment.fields import resolve_value
from flatwater.experiment.problem import Problem, Table, quote, raise_problems, refuse
from flatwater.experiment.published import check_cells, check_metric, kinds_in, standing_faults
from flatwater.results.agreement import PREDICTED, Standing
from flatwater.results.schema import FieldValues

#: The verdicts of the analysis, and `jumps` for dips, stalls or no steady level.
VerdictWord = Literal["flat", "dips", "stalls", "drifting", "not steady", "jumps"]
#: The verdicts that `jumps` includes.
JUMPS = ("dips", "stalls", "not steady")
#: An entry has exactly one of these.
_KINDS = ("verdict", "order", "optimum")
#: The order of the published figures, as a value of `order`.
AS_PUBLISHED = "published"


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _set(table: Any, info: ValidationInfo) -> Any:
    return check_cells("set", table, kinds_in(info))


def _order(order: Any, info: ValidationInfo) -> Any:
    if order == AS_PUBLISHED:
        return order
    if not _is_list(order) or not all(isinstance(cells, Mapping) for cells in order):
        what = f'must be a list of cells, or "{AS_PUBLISHED}", not {quote(order)}'
        raise refuse(what, '[{ "FIELD" = VALUE }, { "FIELD" = VALUE }], the highest first')
    return [check_cells(f"order.{place}", cells, kinds_in(info)) for place, cells in enumerate(order)]


def _optimum(table: Any, info: ValidationInfo) -> Any:
    if not isinstance(table, Mapping):
        return table
    # One value, or a list of which each is right.
    flat: FieldValues = {}
    for field, value in table.items():
        values = value if _is_list(value) else [value]
        for one in values:
            (name,) = check_cells("optimum", {field: one}, kinds_in(info))
            flat[name] = values
    return flat


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


class Expectation(Table):
    """`[[expected]]`: a published property of the cells that have `set`: one of `verdict`, `order` and `optimum`."""

    set: Annotated[FieldValues, BeforeValidator(_set)] = Field(default_factory=dict)
    #: The figure of the cells, for `order` and `optimum`.
    metric: Annotated[str, AfterValidator(check_metric)] = "mean"
    #: The verdict; with several words, any of them.
    verdict: Annotated[list[VerdictWord], BeforeValidator(_listed), Field(min_length=1)] | None = None
    #: The cells from the highest figure to the lowest; or "published": the order of their published figures.
    order: Annotated[list[FieldValues] | Literal["published"], BeforeValidator(_order)] | None = None
    #: The lowest Kendall's tau that agrees; 1: the same order.
    tau: float = Field(default=1.0, gt=0, le=1)
    #: A swept field and its value in the best cell; with a list, any of its values.
    optimum: Annotated[dict[str, list[Any]], BeforeValidator(_optimum)] | None = None
    #: The best cell has the lowest figure, not the highest.
    least: bool = False
    #: For `optimum`: a cell whose figure is worse by at most this share counts as equally good.
    within: float = Field(default=0.0, ge=0, lt=1)
    #: What the agreement of ours proves, and if it is no prediction, what makes it follow.
    standing: Standing = PREDICTED
    by: Annotated[str, Field(min_length=1)] | None = None
    #: The reason why ours does not agree.
    missed: Annotated[str, Field(min_length=1)] | None = None
    #: The person or paper, the system, the date.
    source: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _standing_has_its_reason(self) -> Self:
        raise_problems("expected", standing_faults(self.standing, self.by))
        return self

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            what = "says nothing" if not given else f"{' and '.join(given)} are two expectations"
            hint = "give one of verdict, order, optimum" if not given else "an entry for each"
            raise_problems("expected", [Problem(given[-1] if given else "verdict", what, hint, tuple(given))])
        if isinstance(self.order, list) and len(self.order) < 2:
            what = "an order is of two cells or more"
            raise_problems("expected", [Problem("order", what, "name the others too")])
        if self.optimum is not None and len(self.optimum) != 1:
            what = f"is of one field, not of {len(self.optimum)}"
            raise_problems("expected", [Problem("optimum", what, '{ "FIELD" = VALUE }')])
        return self

    @property
    def fields(self) -> list[tuple[str, Any]]:
        """The fields and values that name cells."""
        named = [self.set, *(self.order if isinstance(self.order, list) else [])]
        best = [(field, value) for field, values in (self.optimum or {}).items() for value in values]
        return [*(pair for cells in named for pair in cells.items()), *best]

    @property
    def axis(self) -> str:
        """The field of the optimum."""
        return next(iter(self.optimum or {"": []}))

    def is_best(self, value: Any) -> bool:
        """Whether the published optimum has this value of the field, in the spelling of the file."""
        best = [resolve_value(self.axis, one) for one in (self.optimum or {}).get(self.axis, [])]
        return resolve_value(self.axis, value) in best


def agrees_with(words: list[VerdictWord], verdict: str) -> bool:
    """Whether the verdict of the analysis is one of the published words."""
    return any(verdict in JUMPS if word == "jumps" else verdict == word for word in words)
