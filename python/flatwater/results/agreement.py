"""What a result says of published figures: each beside ours, and the agreement of the whole."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


#: What the agreement of ours with a published figure proves. Predicted: nothing of the model was set to it or to what
#: it follows from. Follows: from fitted figures (a bound of one, a ratio of two, a formula). Fitted: a parameter was
#: set so that it is met.
Standing = Literal["predicted", "follows", "fitted"]
PREDICTED: Final = "predicted"
STANDINGS: Final[tuple[Standing, ...]] = ("predicted", "follows", "fitted")


class Published(_Stored):
    """A published figure beside ours. `error` is ours / published - 1. For a range (`value` up to `up_to`) it is
    relative to the nearer end, and 0 within; for a lower bound (`at_least`) it is 0 above it.

    With `relative_to`, `value` and `ours` are ratios to the figure of the cell with those values. `ours` is None until
    both cells are complete.
    """

    value: float
    up_to: float | None = None
    at_least: bool = False
    relative_to: dict[str, JsonValue] | None = None
    unit: str
    metric: str = "mean"
    ours: float | None = None
    error: float | None = None
    #: The largest error that counts as agreement, a share; None in an older result.
    within: float | None = None
    #: None until `ours` is known.
    agrees: bool | None = None
    standing: Standing = PREDICTED
    #: The parameters that were fitted to it, or what makes it follow from fitted figures.
    by: str | None = None
    #: The reason in the experiment's file why ours does not agree.
    missed: str | None = None
    source: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_older_results(cls, stored: Any) -> Any:
        # Older results only said whether a figure was fitted.
        if isinstance(stored, dict) and "fitted" in stored:
            rest = {name: value for name, value in stored.items() if name != "fitted"}
            return {"standing": "fitted"} | rest if stored["fitted"] else rest
        return stored


class Finding(_Stored):
    """A published property of several cells (an order, an optimum), beside ours."""

    kind: Literal["verdict", "order", "optimum"]
    #: The cells that it is about.
    cells: list[int]
    #: The figure, for `order` and `optimum`.
    metric: str = "mean"
    #: A description of the cells; empty for all cells.
    about: str = ""
    published: str
    ours: str
    #: None until all the cells are complete.
    agrees: bool | None = None
    #: For `order`: Kendall's tau between our order and the published one.
    tau: float | None = None
    standing: Standing = PREDICTED
    #: What makes it follow from fitted figures.
    by: str | None = None
    #: The reason in the experiment's file why ours does not agree.
    missed: str | None = None
    source: str = ""


class Count(_Stored):
    """Some figures, and how many of them agree."""

    figures: int = 0
    agreeing: int = 0


class Contrast(_Stored):
    """Cells that differ in one setting only, each with a published figure: does the model see the difference?

    Figures are in the order of the cells. Where only ratios were published, the reference is 1.
    """

    #: The setting, and its value in each of the cells.
    setting: str
    values: list[Any]
    cells: list[int]
    #: What the cells have in common, of what is swept.
    about: str = ""
    metric: str = "mean"
    published: list[float]
    ours: list[float]
    #: The standing of each published figure; that of a reference is empty.
    standings: list[str]
    #: Kendall's tau of our figures against the published ones; None if all published ones are equal.
    tau: float | None = None
    #: The share of all orders of our figures whose tau is at least this high; None without tau or of too many cells.
    chance: float | None = None


class Agreement(_Stored):
    """The agreement of a whole result with published figures."""

    #: Published figures with ours beside them. Each repeat of a cell counts.
    figures: int = 0
    #: The number of those within the error that the file allows.
    agreeing: int = 0
    #: The same, for each standing that some of them have.
    standings: dict[Standing, Count] = Field(default_factory=dict)
    within_10_pct: int = 0
    within_15_pct: int = 0
    within_25_pct: int = 0
    #: Kendall's tau of our throughputs against the published ones; None for fewer than two.
    tau: float | None = None
    findings: list[Finding] = Field(default_factory=list)
    contrasts: list[Contrast] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _of_older_results(cls, stored: Any) -> Any:
        # Older results counted the fitted figures only.
        if isinstance(stored, dict) and "fitted" in stored:
            return {name: value for name, value in stored.items() if name != "fitted"}
        return stored

    @property
    def shapes(self) -> int:
        """Findings that could be judged."""
        return sum(finding.agrees is not None for finding in self.findings)

    @property
    def shapes_agreeing(self) -> int:
        """Findings that agree."""
        return sum(finding.agrees is True for finding in self.findings)
