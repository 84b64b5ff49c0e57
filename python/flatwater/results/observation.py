"""What a result tells of a server that somebody else runs: what could not be recorded, and what watching it cost. Part
of `CellSummary`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class Gap(_Stored):
    """Figures that a run on this stack could have had, and has not."""

    #: What is missing, in words: `the reasons for flushing`.
    what: str
    #: The series, as `layer.metric`; `layer.*` is all of a layer.
    figures: list[str]
    #: Why they are missing.
    why: str
    #: The statement or the step that makes them available; empty if there is none.
    remedy: str = ""

    @property
    def text(self) -> str:
        """One line."""
        return f"{self.what}: {self.why}" + (f" ({self.remedy})" if self.remedy else "")


class Statement(_Stored):
    """What clients sent most of the time, as performance_schema counted it. The text has no values in it."""

    schema_name: str = ""
    text: str
    count: int
    #: From its arrival in the server to its end.
    mean_us: float
    #: Of the time of all statements, 0 to 1.
    share: float
    rows_examined: int
    rows_sent: int
    #: How many of them read a table without an index.
    without_index: int
    errors: int
