"""All figures of one cell, and its verdict, as the cell's summary holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from flatwater.analysis.autocorrelation import estimate_mean
from flatwater.analysis.flatness import flatness
from flatwater.analysis.noise import noise_warnings
from flatwater.analysis.steady import percent
from flatwater.analysis.verdict import judge, quantity
from flatwater.analysis.words import does_transactions, what_is_done
from flatwater.results.phases import measured_s, measured_samples
from flatwater.results.schema import Dip, MetricSummary, Phase, Stall, Verdict
from flatwater.results.series import Series

#: A warning appears if fewer intervals than this share of the measured phase were recorded.
COVERED_MIN = 0.95


@dataclass(frozen=True)
class Analysis:
    """The figures have the names of `CellSummary`: in the cell's unit over the measured phase, times in seconds of the
    cell.
    """

    mean: float | None
    mean_ci95: float | None
    stddev: float | None
    median: float | None
    flatness: float | None
    verdict: Verdict | None
    verdict_text: str
    steady: bool | None
    steady_since_s: float | None
    warmup_end_s: float | None
    dips: list[Dip]
    dip_period_s: float | None
    stalls: list[Stall]
    samples: int
    warnings: list[str] = field(default_factory=list)
    metrics: dict[str, MetricSummary] = field(default_factory=dict)


def analyse(
    series: Callable[[str, str], Series],
    names: list[tuple[str, str]],
    phases: list[Phase],
    unit: str,
    interval_s: float,
    *,
    cores: int | None = None,
    served: bool = False,
) -> Analysis:
    """Analyses one cell.

    `series(layer, metric)` gives a recorded series over the whole cell (empty if it was not recorded), and `names`
    lists the recorded series. The verdict is on `workload.throughput`, in `unit`. `cores` is the machine's number of
    CPUs if known; `served` as of `noise_warnings`. It never raises for odd data: a figure that cannot be computed is
    None.
    """

    def measured(layer: str, metric: str) -> Series:
        return _finite(measured_samples(series(layer, metric), phases))

    throughput = measured("workload", "throughput")
    metrics = {}
    for layer, metric in names:
        values = measured(layer, metric).value
        if len(values):
            metrics[f"{layer}.{metric}"] = MetricSummary(mean=float(values.mean()), max=float(values.max()))
    judgement = judge(
        throughput,
        interval_s,
        unit,
        completed=measured("workload", "ops_per_s"),
        in_flight=measured_samples(series("workload", "in_flight"), phases),
        oldest_us=measured_samples(series("workload", "oldest_in_flight_us"), phases),
    )
    figures = flatness(throughput.value)
    estimate = estimate_mean(throughput.value)
    means = {name: summary.mean for name, summary in metrics.items()}
    warnings = noise_warnings(means, cores, database=does_transactions(unit), served=served)
    asked_s = measured_s(phases)
    if len(throughput) * interval_s < COVERED_MIN * asked_s - interval_s:
        missing = 1 - len(throughput) * interval_s / asked_s
        warnings.append(
            f"{percent(missing)} of the measured phase was not recorded: an interruption, or the recorder fell behind"
        )
    errors = metrics.get("workload.errors_per_s")
    if errors is not None and errors.max:
        warnings.append(
            f"{what_is_done(unit)} failed, {quantity(errors.mean or 0)} a second on average: "
            "the throughput counts only the others"
        )
    return Analysis(
        mean=figures.mean,
        mean_ci95=estimate.ci95 if estimate else None,
        stddev=figures.stddev,
        median=figures.median,
        flatness=figures.flatness,
        verdict=judgement.verdict,
        verdict_text=judgement.text,
        steady=judgement.steady,
        steady_since_s=judgement.steady_since_s,
        warmup_end_s=judgement.warmup_end_s,
        dips=judgement.dips,
        dip_period_s=judgement.dip_period_s,
        stalls=judgement.stalls,
        samples=len(throughput),
        warnings=warnings,
        metrics=metrics,
    )


def _finite(series: Series) -> Series:
    good = np.isfinite(series.value)
    return series if good.all() else Series(series.time_s[good], series.value[good])
