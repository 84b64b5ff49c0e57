"""Programs that sample a machine or a server while a benchmark runs: one file for each format.

To add one: write `samplers/FORMAT.py` with NAME, `recognises` and `read` (see `sampler.Sampler`), add it to SAMPLERS,
and a sample to `SAMPLES` in `tests/results/sampled.py`. The tests of damaged files take it from there.
"""

from __future__ import annotations

from flatwater.results.importers.samplers import (
    counters,
    dstat,
    hammerdb_counter,
    iostat,
    mpstat,
    mysqladmin,
    sysstat_json,
    vmstat,
)
from flatwater.results.importers.samplers.sampler import Recording, Sample, Sampler

SAMPLERS: tuple[Sampler, ...] = (
    sysstat_json,
    dstat,
    mpstat,
    iostat,
    vmstat,
    mysqladmin,
    hammerdb_counter,
    counters,
)

__all__ = ["SAMPLERS", "Recording", "Sample", "Sampler"]
