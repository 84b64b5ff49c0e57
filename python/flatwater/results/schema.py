"""The shapes that are written to disk. Changing one is a change of SCHEMA_VERSION."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from flatwater.results.health import CellHealth

#: Version of everything in a result folder; a folder with a newer one is refused.
#: 2: what database servers add (consistency, response limits, counters, recoveries, servers).
#: 3: what modelled devices add (incidents among the events), and the transition of a write run.
#: 4: what bounded a cell, its thresholds, and the drives below it (health).
SCHEMA_VERSION = 4

Verdict = Literal["flat", "dips", "stalls", "drifting", "not steady"]
CellStatus = Literal["complete", "interrupted", "failed"]
#: A value of each swept field of a cell, by the dotted name of the field: whatever a field may be.
FieldValues = dict[str, JsonValue]


class StoredEvent(TypedDict):
    """The fields of `Event` in a line of a journal."""

    time_s: float
    kind: str
    text: str


class JournalLine(TypedDict, total=False):
    """A line of a cell's journal: an event alone, or an interval with everything else.

    Times are seconds of the cell's time. Every key of `metrics` is `layer.metric`.
    """

    event: StoredEvent
    #: The end and the start of the interval.
    time_s: float
    start_s: float
    phase: str
    #: CPU time of the load generator; None in virtual time.
    cpu_s: float | None
    #: By kind of request: operations, bytes, errors.
    totals: dict[str, tuple[int, int, int]]
    counters: dict[str, int]
    metrics: Mapping[str, float | None]
    #: By kind of request: base64 of HdrHistogram V2+DEFLATE, ns.
    histograms: dict[str, str]


def now_utc() -> str:
    """The present time as it is stored: ISO 8601, UTC, whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class Phase(_Stored):
    """A stretch of the cell's time.

    `precondition`, `warmup`, `approach` (SNIA's rounds before the last five), `measure`, `drain` (what was outstanding
    when the measurement ended, and a final fsync), `verify`. Only `measure` is judged.
    """

    name: str
    start_s: float
    end_s: float


class Event(_Stored):
    """Something that happened at one moment.

    `seam` (resumed after a kill), `fault`, `recovered` (a server that had died answers again), `warning`, `round`,
    `incident` (what a modelled device did by itself).
    """

    time_s: float
    kind: str
    text: str


class Dip(_Stored):
    """Throughput under the dip threshold: `depth` is 1 - lowest second / usual level, 0..1."""

    start_s: float
    length_s: float
    depth: float


class Stall(_Stored):
    """Seconds in which nothing finished while requests were waiting."""

    start_s: float
    length_s: float
    oldest_us: float


class Transition(_Stored):
    """How a write run slowed down from a fast level to a steady one; levels in the cell's unit, times of the cell.

    `end_s`, `steady` and `transition_s` are None when it was not over at the end of the run.
    """

    fast: float
    begin_s: float
    end_s: float | None = None
    steady: float | None = None
    #: From its begin to its end.
    transition_s: float | None = None


class LatencyUs(_Stored):
    """Percentiles of one kind of request over the measured phase, microseconds; None: an import was not told."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None
    count: int = 0


class MetricSummary(_Stored):
    """Mean and maximum of one recorded series over the measured phase."""

    mean: float | None
    max: float | None


class Published(_Stored):
    """A published figure beside ours. `error` is ours / published - 1; of a range (`value` up to `up_to`) against its
    nearer end, and 0 within it; of a lower bound (`at_least`) 0 above it.

    With `relative_to`, value and `ours` are ratios to the figure of the cell that has those values; `ours` is None
    until both cells are done.
    """

    value: float
    up_to: float | None = None
    at_least: bool = False
    relative_to: FieldValues | None = None
    unit: str
    metric: str = "mean"
    ours: float | None = None
    error: float | None = None
    #: Up to which error ours agrees, a share; None in a result of before it was written.
    within: float | None = None
    #: None until ours is there.
    agrees: bool | None = None
    #: Something of the model was set so that this figure is met.
    fitted: bool = False
    #: The file's reason why ours does not agree.
    missed: str | None = None
    source: str = ""


class Finding(_Stored):
    """What was published of the shape of some cells, beside ours."""

    kind: Literal["verdict", "order", "optimum"]
    #: The cells that it is of.
    cells: list[int]
    #: Of `order` and `optimum`: of which figure.
    metric: str = "mean"
    #: Which cells these are, in words; empty for all.
    about: str = ""
    published: str
    ours: str
    #: None while cells are missing.
    agrees: bool | None = None
    #: Of `order`: Kendall's tau of ours against the published one.
    tau: float | None = None
    #: The file's reason why ours does not agree.
    missed: str | None = None
    source: str = ""


class Agreement(_Stored):
    """How far a whole result agrees with what was published."""

    #: Published figures with ours beside them; of a cell that is repeated each repeat counts.
    figures: int = 0
    #: How many of them are as near as their file asks.
    agreeing: int = 0
    #: How many of them something of the model was fitted to.
    fitted: int = 0
    within_10_pct: int = 0
    within_15_pct: int = 0
    within_25_pct: int = 0
    #: Kendall's tau of our throughputs against the published ones; None for fewer than two.
    tau: float | None = None
    findings: list[Finding] = Field(default_factory=list)

    @property
    def shapes(self) -> int:
        """Findings that could be judged."""
        return sum(finding.agrees is not None for finding in self.findings)

    @property
    def shapes_agreeing(self) -> int:
        """Findings in which ours agrees."""
        return sum(finding.agrees is True for finding in self.findings)


class Condition(_Stored):
    """One of TPC-C's consistency conditions (clause 3.3.2), checked when the run was over."""

    number: int
    title: str
    #: Which instance, from 0 on.
    instance: int = 0
    applies: bool
    #: None where it does not apply.
    holds: bool | None = None
    violations: int | None = None
    #: Why it does not apply.
    note: str = ""


class ResponseLimit(_Stored):
    """TPC-C's limit on the 90th percentile of one kind of transaction (clause 5.2.5.7)."""

    kind: str
    limit_us: float
    p90_us: float
    within: bool


class ServerFacts(_Stored):
    """A database server that took part."""

    instance: int = 0
    flavour: str
    version: str
    comment: str = ""
    #: How its data came from the snapshot: `reflink` shares blocks until they are written, each of which is then one
    #: allocation more than with `copy`. None for a server that ran already.
    data: Literal["reflink", "copy"] | None = None
    #: Seconds from its start until it answered; None for a server that ran already.
    started_s: float | None = None


class BoundFinding(_Stored):
    """One thing that held a cell back, with its evidence in figures of this run."""

    name: str
    #: 0 to 1: the share of the sessions' time that it explains, or of the measured seconds in which it bound.
    share: float
    of: Literal["time", "seconds"]
    evidence: list[str] = Field(default_factory=list)


class Interruption(_Stored):
    """What a stall or a dip began and ended with."""

    kind: Literal["stall", "dip"]
    start_s: float
    length_s: float
    #: What left its level first, the earliest first; empty where nothing that was recorded did.
    began: list[str] = Field(default_factory=list)
    #: What came back to its level, or what was over, when throughput came back.
    ended: list[str] = Field(default_factory=list)


class Bound(_Stored):
    """What bounded a cell."""

    #: The bound, `nothing` (the load asked for was served), or `not told`.
    name: str
    share: float | None = None
    of: Literal["time", "seconds"] | None = None
    evidence: list[str] = Field(default_factory=list)
    #: What else was at work, the largest first.
    others: list[BoundFinding] = Field(default_factory=list)
    #: The diagnosis as a sentence.
    text: str = ""
    #: Stalls and dips, the longest first.
    interruptions: list[Interruption] = Field(default_factory=list)
    #: Seconds from one interruption to the next, where they are regular.
    period_s: float | None = None
    #: The interruptions in a sentence; empty where there were none.
    interruptions_text: str = ""


class ThresholdResult(_Stored):
    """One limit of `[thresholds]` beside a cell's figure."""

    name: str
    #: A number, or the words of which one is asked.
    limit: float | list[str]
    #: None where it could not be judged for want of a figure.
    value: float | str | None = None
    passed: bool
    #: What cannot be judged has failed.
    judged: bool = True
    #: The limit and the figure in a sentence, or why it cannot be judged.
    text: str


class CellSummary(_Stored):
    """One cell: the JSON object that `flatwater run --json` prints, and an entry of `summary.json`."""

    schema_version: int = SCHEMA_VERSION
    cell: int
    repeat: int = 0
    set: FieldValues = Field(default_factory=dict)
    seed: int
    status: CellStatus
    error: str | None = None
    layers: dict[str, str] = Field(default_factory=dict)
    unit: str
    mean: float | None = None
    #: Half-width of the 95 % confidence interval of the mean, widened for autocorrelation.
    mean_ci95: float | None = None
    stddev: float | None = None
    median: float | None = None
    flatness: float | None = None
    verdict: Verdict | None = None
    #: The verdict as a sentence, with what it rests on.
    verdict_text: str = ""
    steady: bool | None = None
    steady_since_s: float | None = None
    #: Where the transient at the start of the measured phase ends (MSER-5), seconds of the cell's time.
    warmup_end_s: float | None = None
    dips: list[Dip] = Field(default_factory=list)
    dip_period_s: float | None = None
    transition: Transition | None = None
    stalls: list[Stall] = Field(default_factory=list)
    #: None of a result of before it was told, and of a cell in which nothing was measured.
    bound: Bound | None = None
    samples: int = 0
    interval_s: float = 1.0
    latency_us: LatencyUs | None = None
    latency_by_kind_us: dict[str, LatencyUs] = Field(default_factory=dict)
    client_cpu_us_per_op: float | None = None
    operations: int = 0
    bytes: int = 0
    errors: int = 0
    #: What was counted besides: deadlocks, lock_timeouts, conflicts, rollbacks, reconnects, connect_failures, queries.
    counters: dict[str, int] = Field(default_factory=dict)
    consistency: list[Condition] = Field(default_factory=list)
    response_limits: list[ResponseLimit] = Field(default_factory=list)
    #: Seconds from each crash's discovery until the server answered again.
    recoveries_s: list[float] = Field(default_factory=list)
    servers: list[ServerFacts] = Field(default_factory=list)
    #: The drives below; None where there are none, or of a result of before it was written.
    health: CellHealth | None = None
    published: Published | None = None
    published_others: list[Published] = Field(default_factory=list)
    thresholds: list[ThresholdResult] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    phases: list[Phase] = Field(default_factory=list)
    events: list[Event] = Field(default_factory=list)
    started_at: str = ""
    metrics: dict[str, MetricSummary] = Field(default_factory=dict)
    #: Histogram of the measured phase by kind (`all`, `read`, ...): base64 of HdrHistogram V2+DEFLATE, ns.
    histograms: dict[str, str] = Field(default_factory=dict)


class CellPlan(_Stored):
    """A cell as planned: what is swept, which repeat, which seed."""

    #: 32 bits in a Parquet file.
    index: int = Field(ge=0, lt=2**31)
    repeat: int
    set: FieldValues
    seed: int


class Manifest(_Stored):
    """`flatwater.json`: what this folder is."""

    schema_version: int = SCHEMA_VERSION
    kind: Literal["flatwater-result"] = "flatwater-result"
    name: str
    title: str = ""
    flatwater_version: str
    status: Literal["running", "complete", "interrupted", "failed"]
    created_at: str
    seed: int
    source: str = "run"
    cells: list[CellPlan]

    @field_validator("cells")
    @classmethod
    def _numbered_once(cls, cells: list[CellPlan]) -> list[CellPlan]:
        if len({cell.index for cell in cells}) != len(cells):
            raise ValueError("two cells have the same index")
        return cells
