"""Where the values of a parameter come from: a class for each kind."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails

from flatwater.experiment.problem import Table, explain_error, quote, refuse
from flatwater.spelling import nearest, suggest

#: A parameter's number fits in a BIGINT with room for steps.
MAX_NUMBER = 2**62
#: A DECIMAL of MySQL may have 30 places; so many fit with any useful whole part in 62 bits.
MAX_DECIMALS = 9
#: Longer strings are LONGTEXT, and measure the network.
MAX_LENGTH = 2**20
#: Values of a list.
MAX_VALUES = 100_000
#: Whole numbers that a server takes as numbers: BIGINT.
INTEGERS = -(2**63), 2**63 - 1

#: The class of a table.
AnyTable = TypeVar("AnyTable", bound=Table)


def _number(value: Any) -> Any:
    # Of a union, each type would tell by itself why it is none.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(f"must be a number, not {quote(value)}")
    return _finite(value)


def _scalar(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str | datetime.date | datetime.time):
        raise refuse(f"must be text (in quotes), a number, true, false or a date, not {quote(value)}")
    if isinstance(value, int) and not INTEGERS[0] <= value <= INTEGERS[1]:
        raise refuse(f"must be a number of 64 bits, not {quote(value)}", "in quotes it is sent as text")
    return _finite(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise refuse(f"must be a finite number, not {quote(value)}")
    return value


Number = Annotated[int | float, Field(ge=-MAX_NUMBER, le=MAX_NUMBER), BeforeValidator(_number)]
#: A value as a user writes it. A date of TOML is sent as text.
Scalar = Annotated[
    bool | int | float | str | datetime.datetime | datetime.date | datetime.time, BeforeValidator(_scalar)
]


def _places(value: float) -> int:
    """The decimal places of a number as it is written."""
    exponent = Decimal(str(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


class Numbers(Table):
    """Numbers of a range, both ends included: whole numbers, or numbers with decimal places."""

    min: Number = 1
    max: Number
    #: Decimal places: 2 for amounts of money.
    decimals: int = Field(default=0, ge=0, le=MAX_DECIMALS)

    @property
    def units(self) -> tuple[int, int]:
        """The ends in units of the last decimal place."""
        return round(self.min * 10**self.decimals), round(self.max * 10**self.decimals)

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.min > self.max:
            raise refuse(f"min = {self.min:g} is more than max = {self.max:g}", "swap them")
        for name, value in (("min", self.min), ("max", self.max)):
            if abs(value * 10**self.decimals) > MAX_NUMBER:
                raise refuse(f"{name} = {value:g} with {self.decimals} decimals is too large", "fewer decimals")
            if self.decimals == 0 and value != int(value):
                raise refuse(f"{name} = {value:g} is no whole number", "decimals = 2 for two decimal places")
            # Rounded, it would be another range: 0.005 with two decimals is 0.00.
            if (places := _places(value)) > self.decimals:
                hint = f"decimals = {places}" if places <= MAX_DECIMALS else f"at most {MAX_DECIMALS} decimal places"
                raise refuse(f"{name} = {value} has more than {self.decimals} decimal places", hint)
        return self


class Uniform(Numbers):
    """All numbers with the same probability."""

    kind: Literal["uniform"] = "uniform"


class Zipf(Numbers):
    """Few numbers most often: that of rank k in proportion to 1 / k^theta."""

    kind: Literal["zipf"] = "zipf"
    #: 0.99 is YCSB's.
    theta: float = Field(default=0.99, gt=0, le=100)
    #: Spread the frequent numbers over the range; otherwise they are the smallest.
    scrambled: bool = False


class Exponential(Numbers):
    """The smallest numbers most often: pgbench's random_exponential."""

    kind: Literal["exponential"] = "exponential"
    #: pgbench's parameter: the density falls by e^rate over the range.
    rate: float = Field(default=5.0, gt=0, le=700)


class Normal(Numbers):
    """The bell curve, cut at both ends: pgbench's random_gaussian, with the deviation in the range's own unit."""

    kind: Literal["normal"] = "normal"
    #: The middle of the range if absent.
    mean: Number | None = None
    stddev: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _is_within(self) -> Self:
        if self.mean is not None and not self.min <= self.mean <= self.max:
            raise refuse(f"mean = {self.mean:g} is outside of {self.min:g} to {self.max:g}", "a mean within the range")
        if self.max > self.min and self.stddev > self.max - self.min:
            what = f"stddev = {self.stddev:g} is wider than the range"
            raise refuse(what, 'kind = "uniform" is nearly the same')
        return self


class Latest(Table):
    """The newest numbers of a sequence most often: YCSB's latest."""

    kind: Literal["latest"] = "latest"
    #: The parameter that is the sequence.
    sequence: str
    #: The oldest number.
    min: int = Field(default=1, ge=-MAX_NUMBER, le=MAX_NUMBER)
    theta: float = Field(default=0.99, gt=0, le=100)


class Sequence(Table):
    """The next number. No other session of the run gets it."""

    kind: Literal["sequence"] = "sequence"
    start: int = Field(default=1, ge=-MAX_NUMBER, le=MAX_NUMBER)
    step: int = Field(default=1, ge=1, le=10**9)
    #: A statement whose first value is the start: `SELECT MAX(id) + 1 FROM t`. The setup begins at `start`.
    start_from: Annotated[str, Field(min_length=1)] | None = None


class Constant(Table):
    """Always the same value."""

    kind: Literal["constant"] = "constant"
    value: Scalar


class Choice(Table):
    """One value of a list."""

    kind: Literal["choice"] = "choice"
    values: Annotated[list[Scalar], Field(min_length=1, max_length=MAX_VALUES)]
    #: How often each comes compared with the others; all equally often if absent.
    weights: list[Annotated[float, Field(ge=0, le=1e9)]] | None = None

    @model_validator(mode="after")
    def _has_weights(self) -> Self:
        if self.weights is None:
            return self
        if len(self.weights) != len(self.values):
            what = f"the numbers of values and weights differ: {len(self.values):,} and {len(self.weights):,}"
            raise refuse(what, "one weight for each value")
        if not sum(self.weights):
            raise refuse("all weights are 0", "at least one above 0")
        return self


class _Lengths(Table):
    """Text of one length, or of any length from `min_length` to `length`."""

    length: int = Field(ge=0, le=MAX_LENGTH)
    min_length: int | None = Field(default=None, ge=0, le=MAX_LENGTH)

    @property
    def lengths(self) -> tuple[int, int]:
        """The shortest and the longest."""
        return (self.length if self.min_length is None else self.min_length), self.length

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_length is not None and self.min_length > self.length:
            raise refuse(f"min_length = {self.min_length} is more than length = {self.length}", "swap them")
        return self


class String(_Lengths):
    """Random characters."""

    kind: Literal["string"] = "string"
    characters: Annotated[str, Field(min_length=1, max_length=1000)] = (
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    )


class Text(_Lengths):
    """Random words of small letters with spaces between them."""

    kind: Literal["text"] = "text"


class Now(Table):
    """The date and time of this machine when the transaction is chosen."""

    kind: Literal["now"] = "now"


class Column(Table):
    """A column of the first row of an earlier statement of the transaction; NULL if there was no row."""

    kind: Literal["column"] = "column"
    #: The name of the statement.
    statement: str = Field(min_length=1)
    column: str = Field(min_length=1)


#: Any source of values.
Parameter = Uniform | Zipf | Exponential | Normal | Latest | Sequence | Constant | Choice | String | Text | Now | Column

#: Every kind of parameter.
KINDS: dict[str, type[Parameter]] = {
    "uniform": Uniform,
    "zipf": Zipf,
    "exponential": Exponential,
    "normal": Normal,
    "latest": Latest,
    "sequence": Sequence,
    "constant": Constant,
    "choice": Choice,
    "string": String,
    "text": Text,
    "now": Now,
    "column": Column,
}


def read_parameter(value: Any) -> Any:
    """A parameter as the kind that it names. Errors: what `refuse` raises."""
    if isinstance(value, tuple(KINDS.values())):
        return value
    if not isinstance(value, dict):
        raise refuse(f"must be a table, not {quote(value)}", '{ kind = "uniform", max = 1000 }')
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        told = "has no kind" if kind is None else f"{quote(kind)} is no kind of parameter"
        raise refuse(told, suggest(str(kind), list(KINDS)) if kind is not None else ", ".join(KINDS))
    return read_strictly(KINDS[kind], value)


def read_strictly(model: type[AnyTable], value: Any) -> AnyTable:
    """A table as a class. Errors: a ValidationError that has a problem for each wrong field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        details = list(_told(model, error.errors(include_url=False)))
    raise ValidationError.from_exception_data(model.__name__, details)


def _told(model: type[Table], errors: list[ErrorDetails]) -> Iterator[InitErrorDetails]:
    lacking = {str(one["loc"][-1]) for one in errors if one["type"] == "missing"}
    # A field that is misspelt is not missing besides.
    meant = {nearest(str(one["loc"][-1]), lacking) for one in errors if one["type"] == "extra_forbidden"}
    for one in errors:
        what, hint = explain_error(one)
        if one["type"] == "missing" and one["loc"][-1] in meant:
            continue
        if one["type"] == "extra_forbidden":
            close = nearest(str(one["loc"][-1]), list(model.model_fields))
            hint = f"did you mean {close}?" if close else f"there is: {', '.join(model.model_fields)}"
        yield InitErrorDetails(type=refuse(what, hint), loc=one["loc"], input=None)


#: The parameters of a workload: a table for each.
AnyParameter = Annotated[Parameter, BeforeValidator(read_parameter)]
