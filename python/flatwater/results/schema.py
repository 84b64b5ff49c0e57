"""The types of the stored data. A change of one is a change of SCHEMA_VERSION."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from flatwater.results.agreement import Published
from flatwater.results.health import CellHealth
from flatwater.results.load_host import LoadHost
from flatwater.results.observation import Gap, Statement

#: The version of all files in a result folder. A folder with a newer version is refused.
#: 2: database servers (consistency, response limits, counters, recoveries, servers).
#: 3: modelled devices (incidents among the events), and the transition of a write run.
#: 4: what bounded a cell, its thresholds, the drives below it (health), what could not be recorded (gaps), load hosts,
#:    what the agreement of a published figure proves (its standing).
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
    """A line of a cell's journal: an event alone, or an interval with the other fields (times: seconds of the cell)."""

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
    #: By `layer.metric`.
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

    `precondition`, `warmup`, `approach` (SNIA's rounds before the last five), `measure`, `drain` (requests that were
    outstanding at the end of the measurement, and a final fsync), `verify`. Only `measure` is judged.
    """

    name: str
    start_s: float
    end_s: float


class Event(_Stored):
    """Something that happened at one moment.

    `seam` (resumed after a kill), `fault`, `recovered` (a server that had died answers again), `warning`, `round`,
    `incident` (an event of a modelled device), `pause` (flatwater recorded nothing for a while).
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
    """Seconds in which no request finished although requests were waiting."""

    start_s: float
    length_s: float
    oldest_us: float


class Transition(_Stored):
    """How a write run slowed down from a fast level to a steady one; levels in the cell's unit, times of the cell.

    `end_s`, `steady` and `transition_s` are None if the transition had not ended at the end of the run.
    """

    fast: float
    begin_s: float
    end_s: float | None = None
    steady: float | None = None
    #: From its begin to its end.
    transition_s: float | None = None


class LatencyUs(_Stored):
    """Percentiles of one kind of request over the measured phase, microseconds; None: not in the imported file."""

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


class Condition(_Stored):
    """One of TPC-C's consistency conditions (clause 3.3.2), checked after the run."""

    number: int
    title: str
    #: The number of the instance, from 0 on.
    instance: int = 0
    applies: bool
    #: None if it does not apply.
    holds: bool | None = None
    violations: int | None = None
    #: The reason why it does not apply.
    note: str = ""


class ResponseLimit(_Stored):
    """TPC-C's limit on the 90th percentile of one kind of transaction (clause 5.2.5.7)."""

    kind: str
    limit_us: float
    p90_us: float
    within: bool


class ServerFacts(_Stored):
    """A database server of the run."""

    instance: int = 0
    flavour: str
    version: str
    comment: str = ""
    #: How its data were copied from the snapshot. `reflink` shares blocks until they are written; each of these writes
    #: then needs one allocation more than with `copy`. None for a server that was already running.
    data: Literal["reflink", "copy"] | None = None
    #: Seconds from its start to its first answer; None for a server that was already running.
    started_s: float | None = None
    #: Version and cipher of TLS on the connections to it, as `TLSv1.3 TLS_AES_256_GCM_SHA384`; None without TLS.
    tls: str | None = None


class BoundFinding(_Stored):
    """One bound of a cell, with its evidence in figures of this run."""

    name: str
    #: 0 to 1: the share of the sessions' time that it explains, or of the measured seconds in which it bound.
    share: float
    of: Literal["time", "seconds"]
    evidence: list[str] = Field(default_factory=list)


class Interruption(_Stored):
    """The events at the start and at the end of a stall or a dip."""

    kind: Literal["stall", "dip"]
    start_s: float
    length_s: float
    #: The first series that left their levels, the earliest first; empty if no recorded one did.
    began: list[str] = Field(default_factory=list)
    #: The series that came back to their levels, and the events that ended, when throughput came back.
    ended: list[str] = Field(default_factory=list)


class Bound(_Stored):
    """The bound of a cell."""

    #: The bound, `nothing` (the load asked for was served), or `not told`.
    name: str
    share: float | None = None
    of: Literal["time", "seconds"] | None = None
    evidence: list[str] = Field(default_factory=list)
    #: Other bounds, the largest first.
    others: list[BoundFinding] = Field(default_factory=list)
    #: The diagnosis as a sentence.
    text: str = ""
    #: Stalls and dips, the longest first.
    interruptions: list[Interruption] = Field(default_factory=list)
    #: Seconds from one interruption to the next, if they are regular.
    period_s: float | None = None
    #: The interruptions in a sentence; empty if there were none.
    interruptions_text: str = ""


class ThresholdResult(_Stored):
    """One limit of `[thresholds]` beside a cell's figure."""

    name: str
    #: A number, or the allowed words.
    limit: float | list[str]
    #: None if the figure is unknown.
    value: float | str | None = None
    passed: bool
    #: False for a limit without a figure, which counts as failed.
    judged: bool = True
    #: The limit and the figure in a sentence, or why it was not judged.
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
    #: The verdict as a sentence, with its reasons.
    verdict_text: str = ""
    steady: bool | None = None
    steady_since_s: float | None = None
    #: The end of the transient at the start of the measured phase (MSER-5), seconds of the cell's time.
    warmup_end_s: float | None = None
    dips: list[Dip] = Field(default_factory=list)
    dip_period_s: float | None = None
    transition: Transition | None = None
    stalls: list[Stall] = Field(default_factory=list)
    #: None in an older result, and for a cell in which nothing was measured.
    bound: Bound | None = None
    samples: int = 0
    interval_s: float = 1.0
    latency_us: LatencyUs | None = None
    latency_by_kind_us: dict[str, LatencyUs] = Field(default_factory=dict)
    client_cpu_us_per_op: float | None = None
    #: None for an imported run whose length is not told.
    operations: int | None = 0
    bytes: int = 0
    errors: int = 0
    #: Other counters: deadlocks, lock_timeouts, conflicts, rollbacks, reconnects, connect_failures, queries;
    #: commit_us is the time in which sessions waited for the answers to their commits.
    counters: dict[str, int] = Field(default_factory=dict)
    consistency: list[Condition] = Field(default_factory=list)
    response_limits: list[ResponseLimit] = Field(default_factory=list)
    #: Seconds from the detection of each crash to the server's next answer.
    recoveries_s: list[float] = Field(default_factory=list)
    servers: list[ServerFacts] = Field(default_factory=list)
    load_hosts: list[LoadHost] = Field(default_factory=list)
    #: The drives below; None if there are none, and in an older result.
    health: CellHealth | None = None
    published: Published | None = None
    published_others: list[Published] = Field(default_factory=list)
    thresholds: list[ThresholdResult] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    #: Figures that could not be recorded, and why; and the statements that took most time of an observed server.
    gaps: list[Gap] = Field(default_factory=list)
    statements: list[Statement] = Field(default_factory=list)
    phases: list[Phase] = Field(default_factory=list)
    events: list[Event] = Field(default_factory=list)
    started_at: str = ""
    metrics: dict[str, MetricSummary] = Field(default_factory=dict)
    #: Histogram of the measured phase by kind (`all`, `read`, ...): base64 of HdrHistogram V2+DEFLATE, ns.
    histograms: dict[str, str] = Field(default_factory=dict)


class CellPlan(_Stored):
    """A planned cell: its swept values, its repeat, its seed."""

    #: A Parquet file stores it in 32 bits.
    index: int = Field(ge=0, lt=2**31)
    repeat: int
    set: FieldValues
    seed: int


class Manifest(_Stored):
    """`flatwater.json`: the description of the folder."""

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
