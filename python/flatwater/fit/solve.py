"""Least squares: the parameters with which the model is nearest to the measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.stats import t as student

from flatwater.errors import FlatwaterError, UserError
from flatwater.fit.evaluate import Evaluator, free_value, with_free
from flatwater.fit.identify import Confusion, confusions
from flatwater.fit.table import Measurement

Vector = npt.NDArray[np.float64]

#: A parameter may end this many times above or below its initial value: further away, the file's figure was no guess.
WIDEST = 20.0
#: Step of the derivatives, in logarithms. A simulated figure changes in small jumps, so the step must not be tiny.
STEP = 0.04
#: The fit ends when a step changes no parameter by more than this share, which is far below its interval.
TOLERANCE = 1e-3
MOST_STEPS = 25
#: An interval that reaches this many times up and down is given as unknown.
UNKNOWN = 100.0


@dataclass(frozen=True)
class Parameter:
    """A fitted figure of the device's file."""

    name: str
    before: float
    value: float
    #: 95 % confidence interval; None if there are no more rows than parameters, or if it is wider than `UNKNOWN`.
    low: float | None
    high: float | None
    #: Whether it ended at one of its bounds.
    at_bound: bool


@dataclass(frozen=True)
class Row:
    """A measurement beside the model."""

    measured: Measurement
    model: float

    @property
    def error(self) -> float:
        """The error of the model: model / measured - 1."""
        return self.model / self.measured.value - 1


@dataclass(frozen=True)
class Fit:
    """The result of a fit."""

    parameters: list[Parameter]
    rows: list[Row]
    #: Root mean square of the rows' errors before and after, 0..1.
    rms_before: float
    rms: float
    confusions: list[Confusion]
    #: Number of simulations.
    runs: int

    @property
    def worst(self) -> Row:
        """The row with the largest error."""
        return max(self.rows, key=lambda row: abs(row.error))


def rms_of(rows: Sequence[Row]) -> float:
    """Root mean square of the errors of some rows."""
    return math.sqrt(sum(row.error**2 for row in rows) / len(rows))


def fit(
    evaluator: Evaluator,
    rows: Sequence[Measurement],
    free: Sequence[str],
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fits the free parameters of the evaluator's device to the rows.

    `bounds`: parameter -> its least and its greatest value. `progress` is called with the number of simulations and
    the rms so far. Errors: UserError for too few rows, and for parameters that the device does not have.
    """
    if len(set(free)) < len(free):
        raise UserError("a parameter is free twice", where="--free")
    if not free:
        raise UserError("nothing is free", where="--free", hint="--free controller.write_mib_per_s,...")
    if len(rows) < len(free):
        raise UserError(
            f"{len(rows)} row{'s' * (len(rows) != 1)} cannot fix {len(free)} parameters",
            where="--free",
            hint="free fewer, or measure more",
        )
    before = {name: free_value(evaluator.device, name) for name in free}
    limits = [(bounds or {}).get(name, (before[name] / WIDEST, before[name] * WIDEST)) for name in free]
    problem = _Problem(evaluator, list(rows), before, progress)
    start = problem.rows_at(np.zeros(len(free)))
    least, most = (
        np.array([math.log(limit[side] / before[name]) for name, limit in zip(free, limits, strict=True)])
        for side in (0, 1)
    )
    try:
        found = least_squares(
            problem.residuals,
            np.zeros(len(free)),
            jac=problem.jacobian,
            bounds=(least, most),
            xtol=TOLERANCE,
            ftol=TOLERANCE**2,
            gtol=TOLERANCE**2,
            max_nfev=MOST_STEPS,
        )
    except ValueError as error:
        raise FlatwaterError(
            f"the fit failed: {error}", hint="begin nearer: set the figures in the device's file"
        ) from None
    at = np.asarray(found.x, dtype=np.float64)
    jacobian = problem.jacobian(at)
    spread = _spread(problem.residuals(at), jacobian)
    parameters = [
        Parameter(
            name,
            before[name],
            before[name] * math.exp(at[column]),
            *_interval(before[name], at[column], spread[column]),
            bool(found.active_mask[column]),
        )
        for column, name in enumerate(free)
    ]
    ended = problem.rows_at(at)
    return Fit(parameters, ended, rms_of(start), rms_of(ended), confusions(free, jacobian), evaluator.runs)


class _Problem:
    """The residuals: ln(model / measured) of each row, over ln(value / value before) of each parameter."""

    def __init__(
        self,
        evaluator: Evaluator,
        rows: list[Measurement],
        before: Mapping[str, float],
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self._evaluator = evaluator
        self._rows = rows
        self._before = before
        self._progress = progress

    def rows_at(self, at: Vector) -> list[Row]:
        values = {name: value * math.exp(step) for (name, value), step in zip(self._before.items(), at, strict=True)}
        parameters = with_free(self._evaluator.device, values)
        models = self._evaluator.values(self._rows, parameters)
        return [Row(row, model) for row, model in zip(self._rows, models, strict=True)]

    def residuals(self, at: Vector) -> Vector:
        rows = self.rows_at(at)
        if self._progress is not None:
            self._progress(self._evaluator.runs, rms_of(rows))
        return self._logs(rows)

    def jacobian(self, at: Vector) -> Vector:
        """Central differences: both sides share the noise of the simulation, so most of it cancels."""
        columns = []
        for column in range(len(at)):
            step = np.zeros(len(at))
            step[column] = STEP
            both = self._logs(self.rows_at(at + step)) - self._logs(self.rows_at(at - step))
            columns.append(both / (2 * STEP))
        return np.column_stack(columns)

    @staticmethod
    def _logs(rows: Sequence[Row]) -> Vector:
        return np.array([math.log(row.model / row.measured.value) for row in rows])


def _interval(before: float, at: float, spread: float) -> tuple[float | None, float | None]:
    if spread > math.log(UNKNOWN):
        return None, None
    return before * math.exp(at - spread), before * math.exp(at + spread)


def _spread(residuals: Vector, jacobian: Vector) -> Vector:
    """Half widths of the parameters' 95 % intervals, in logarithms; inf for a parameter that no row depends on."""
    rows, columns = jacobian.shape
    if rows <= columns:
        return np.full(columns, np.inf)
    variance = float(residuals @ residuals) / (rows - columns)
    informed = np.linalg.norm(jacobian, axis=0) > 0
    spread = np.full(columns, np.inf)
    if informed.any():
        covariance = np.linalg.pinv(jacobian[:, informed].T @ jacobian[:, informed]) * variance
        spread[informed] = np.sqrt(np.diag(covariance).clip(min=0)) * float(student.ppf(0.975, rows - columns))
    return spread
