"""The user's own transactions, and the setup of their schema."""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flatwater.errors import UserError
from flatwater.experiment import Experiment, OwnStatements
from flatwater.experiment import QueryLog as QueryLogWorkload
from flatwater.experiment.workload.sql import Sql as SqlWorkload
from flatwater.experiment.workload.sql import parameter as written
from flatwater.experiment.workload.sql.transaction import THINK_CUT, Think

#: Bytes of a setup's file that are digested at a time.
_PIECE_BYTES = 2**20


@dataclass(frozen=True)
class Int:
    """A whole number."""

    int: int


@dataclass(frozen=True)
class Double:
    """A number."""

    double: float


@dataclass(frozen=True)
class TextValue:
    """A string; a date is one too."""

    text: str


Scalar = Int | Double | TextValue


@dataclass(frozen=True)
class Range:
    """Numbers in units of the last decimal place, both ends included."""

    min: int
    max: int
    decimals: int


@dataclass(frozen=True)
class Uniform:
    """All numbers with the same probability."""

    range: Range
    kind: Literal["uniform"] = "uniform"


@dataclass(frozen=True)
class Zipf:
    """The number of rank k in proportion to 1 / k^theta."""

    range: Range
    theta: float
    scrambled: bool
    kind: Literal["zipf"] = "zipf"


@dataclass(frozen=True)
class Exponential:
    """The smallest numbers most often."""

    range: Range
    rate: float
    kind: Literal["exponential"] = "exponential"


@dataclass(frozen=True)
class Normal:
    """The bell curve, in units of the last decimal place."""

    range: Range
    mean: float
    stddev: float
    kind: Literal["normal"] = "normal"


@dataclass(frozen=True)
class Latest:
    """The newest numbers of the sequence at a place of the parameters."""

    sequence: int
    min: int
    theta: float
    kind: Literal["latest"] = "latest"


@dataclass(frozen=True)
class Sequence:
    """The next number."""

    start: int
    step: int
    start_from: str | None
    kind: Literal["sequence"] = "sequence"


@dataclass(frozen=True)
class Constant:
    """Always the same."""

    value: Scalar
    kind: Literal["constant"] = "constant"


@dataclass(frozen=True)
class Choice:
    """One of a list, by weights."""

    values: tuple[Scalar, ...]
    weights: tuple[float, ...]
    kind: Literal["choice"] = "choice"


@dataclass(frozen=True)
class String:
    """Random characters."""

    min_length: int
    max_length: int
    characters: str
    kind: Literal["string"] = "string"


@dataclass(frozen=True)
class Text:
    """Random words."""

    min_length: int
    max_length: int
    kind: Literal["text"] = "text"


@dataclass(frozen=True)
class Now:
    """The client's date and time."""

    kind: Literal["now"] = "now"


@dataclass(frozen=True)
class Column:
    """A column of an earlier statement's first row."""

    statement: str
    column: str
    kind: Literal["column"] = "column"


Source = Uniform | Zipf | Exponential | Normal | Latest | Sequence | Constant | Choice | String | Text | Now | Column


@dataclass(frozen=True)
class Parameter:
    """What statements call by its name, and where its values come from."""

    name: str
    source: Source


@dataclass(frozen=True)
class ConstantPause:
    """Always the same time."""

    seconds: float
    kind: Literal["constant"] = "constant"


@dataclass(frozen=True)
class UniformPause:
    """Any time within the limits."""

    min_s: float
    max_s: float
    kind: Literal["uniform"] = "uniform"


@dataclass(frozen=True)
class ExponentialPause:
    """Short times most often."""

    mean_s: float
    max_s: float
    kind: Literal["exponential"] = "exponential"


Pause = ConstantPause | UniformPause | ExponentialPause


@dataclass(frozen=True)
class Statement:
    """One entry of a transaction: its text with `:name`, and how it is sent."""

    sql: str
    name: str
    prepared: bool


@dataclass(frozen=True)
class Transaction:
    """Statements that are run together, how often, and the pause after them."""

    name: str
    weight: float
    autocommit: bool
    think: Pause
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Sql:
    """The user's own transactions: `SqlSpec` of crates/real."""

    transactions: tuple[Transaction, ...]
    parameters: tuple[Parameter, ...]
    on_connect: tuple[str, ...]
    #: Sessions are READ ONLY, where the server knows that.
    read_only: bool
    kind: Literal["sql"] = "sql"


@dataclass(frozen=True)
class QueryLog:
    """A query log that is replayed: `QueryLogSpec` of crates/real."""

    log: str
    #: How much faster than recorded; 0: back to back.
    speed: float
    allow_writes: bool
    kind: Literal["query-log"] = "query-log"


@dataclass(frozen=True)
class SetupStatement:
    """A statement of the setup, and how often it runs."""

    sql: str
    times: int


@dataclass(frozen=True)
class Setup:
    """The user's own schema: `SetupSpec` of crates/real."""

    file: str | None
    file_digest: str
    statements: tuple[SetupStatement, ...]
    parameters: tuple[Parameter, ...]
    #: The server is flatwater's own.
    own: bool
    seed: int


@dataclass(frozen=True)
class SqlData:
    """The user's own schema, as one of the data sets."""

    setup: Setup
    kind: Literal["sql"] = "sql"


def write_sql(cell: Experiment) -> Sql:
    """The plan of a cell's own transactions."""
    workload = cell.workload
    assert isinstance(workload, SqlWorkload)
    transactions = tuple(
        Transaction(
            name=name,
            weight=one.weight,
            autocommit=one.autocommit,
            think=_pause(one.think),
            statements=tuple(
                Statement(own.sql, own.name, workload.prepared if own.prepared is None else own.prepared)
                for own in one.statements
            ),
        )
        for name, one in workload.transactions.items()
    )
    read_only = cell.server.attached and not workload.allow_writes
    return Sql(transactions, _parameters(workload), tuple(workload.on_connect), read_only)


def write_query_log(cell: Experiment) -> QueryLog:
    """The plan of a cell's replay."""
    workload = cell.workload
    assert isinstance(workload, QueryLogWorkload)
    return QueryLog(str(workload.log_file.absolute()), workload.speed, workload.allow_writes)


def write_setup(cell: Experiment, seed: int) -> SqlData:
    """The plan of the setup. The file is read to digest it. Errors: UserError if it cannot be."""
    workload = cell.workload
    assert isinstance(workload, OwnStatements)
    path = None if workload.setup_file is None else str(Path(workload.setup_file).absolute())
    setup = workload.setup if isinstance(workload, SqlWorkload) else []
    statements = tuple(SetupStatement(one.sql, one.times) for one in setup)
    digest = "" if path is None else _digest(Path(path))
    # Without statements of their own, parameters say nothing of the data.
    parameters = _parameters(workload) if statements and isinstance(workload, SqlWorkload) else ()
    return SqlData(Setup(path, digest, statements, parameters, own=not cell.server.attached, seed=seed))


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    except OSError as error:
        what = f"{path} cannot be read: {(error.strerror or str(error)).lower()}"
        raise UserError(what, where="workload.setup_file", hint="the path of a file of SQL statements") from None
    return digest.hexdigest()


def _parameters(workload: SqlWorkload) -> tuple[Parameter, ...]:
    names = list(workload.parameters)
    return tuple(Parameter(name, _source(source, names)) for name, source in workload.parameters.items())


def _source(source: written.Parameter, names: list[str]) -> Source:
    match source:
        case written.Uniform():
            return Uniform(_range(source))
        case written.Zipf():
            return Zipf(_range(source), source.theta, source.scrambled)
        case written.Exponential():
            return Exponential(_range(source), source.rate)
        case written.Normal():
            unit = 10.0**source.decimals
            mean = (source.min + source.max) / 2 if source.mean is None else source.mean
            return Normal(_range(source), mean * unit, source.stddev * unit)
        case written.Latest():
            return Latest(names.index(source.sequence), source.min, source.theta)
        case written.Sequence():
            return Sequence(source.start, source.step, source.start_from)
        case written.Constant():
            return Constant(_scalar(source.value))
        case written.Choice():
            weights = source.weights or [1.0] * len(source.values)
            return Choice(tuple(map(_scalar, source.values)), tuple(weights))
        case written.String():
            return String(*source.lengths, source.characters)
        case written.Text():
            return Text(*source.lengths)
        case written.Now():
            return Now()
        case written.Column():
            return Column(source.statement, source.column)


def _range(source: written.Numbers) -> Range:
    return Range(*source.units, source.decimals)


def _scalar(value: written.Scalar) -> Scalar:
    match value:
        case bool() | int():
            return Int(int(value))
        case float():
            return Double(value)
        case str():
            return TextValue(value)
        case datetime.datetime():
            return TextValue(value.isoformat(sep=" "))
        case _:
            return TextValue(value.isoformat())


def _pause(think: Think | None) -> Pause:
    if think is None:
        return ConstantPause(0.0)
    if think.kind == "uniform":
        return UniformPause(think.min_s, think.max_s or 0.0)
    mean_s = think.mean_s or 0.0
    if think.kind == "constant":
        return ConstantPause(mean_s)
    return ExponentialPause(mean_s, THINK_CUT * mean_s if think.max_s is None else think.max_s)
