"""The runs that are made of a workload's plan: before it, after it, and what ends it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment import Experiment, make_experiment
from flatwater.owned import Permit
from flatwater.owned.permit import Identity
from flatwater.plan.fileio import (
    FOREVER_S,
    RealFileio,
    Verify,
    draining,
    preconditioning,
    reading_back,
    write_modelled_fileio,
    write_real_fileio,
)
from flatwater.plan.requests import Hotspot, Uniform, Zipf

MIB = 2**20
FILES = [Path("/x/a"), Path("/x/b")]


def cell(workload: dict[str, Any] | None = None, storage: dict[str, Any] | None = None) -> Experiment:
    fileio = {"kind": "fileio", "mode": "rndrw", "duration_s": 1, "files": 2} | (workload or {})
    where = {"size": 200 * MIB} | (storage or {})
    if "kind" not in where:
        where |= {"kind": "file", "path": "/x"}
    return make_experiment({"workload": fileio, "storage": where})


def planned(workload: dict[str, Any] | None = None, storage: dict[str, Any] | None = None) -> RealFileio:
    permit = Permit((Identity(1, 2), Identity(1, 3)))
    return write_real_fileio(cell(workload, storage), FILES, 100 * MIB, 7, permit=permit, verify=Verify(5, 1 << 16))


def test_what_the_file_says_is_in_the_plan() -> None:
    plan = planned({"sync": "dsync", "rate_per_s": 100, "arrival": "poisson", "on_error": "continue"})
    assert (plan.paths, plan.permit) == (("/x/a", "/x/b"), (Identity(1, 2), Identity(1, 3)))
    assert (plan.sync, plan.rate_per_s, plan.poisson, plan.continue_on_error) == ("dsync", 100, True, True)
    assert (plan.workload.files, plan.workload.file_bytes, plan.workload.seed) == (2, 100 * MIB, 7)
    assert (plan.workload.read_pct, plan.workload.block_sizes) == (60.0, ((16384, 100.0),))


@pytest.mark.parametrize(
    ("workload", "plan"),
    [
        ({}, Uniform()),
        ({"distribution": "zipf", "zipf_theta": 0.5}, Zipf(0.5)),
        ({"distribution": "hotspot", "hotspot_access_pct": 90}, Hotspot(90, 20)),
    ],
)
def test_a_distribution_has_its_own_figures_only(workload: dict[str, Any], plan: object) -> None:
    assert planned(workload).workload.distribution == plan


def test_a_fault_without_an_end_outlasts_every_run() -> None:
    fault = planned(storage={"fault": {"kind": "stall", "after_ops": 3}}).fault
    assert fault is not None and (fault.kind, fault.after_ops, fault.duration_s) == ("stall", 3, FOREVER_S)


def test_preconditioning_writes_the_files_in_order_some_times_over() -> None:
    workload = {"precondition_passes": 2, "engine": "io_uring", "threads": 9, "rate_per_s": 5, "fsync_every": 3}
    plan = planned(workload)
    before = preconditioning(cell(workload).fileio, plan)
    assert (before.workload.sequential, before.workload.read_pct, before.workload.fsync_every) == (True, 0.0, 0)
    assert before.workload.block_sizes == ((131072, 100.0),)
    assert before.workload.limit_bytes == 2 * 200 * MIB
    assert (before.threads, before.queue_depth, before.rate_per_s) == (1, 32, 0.0)
    assert replace(before, workload=plan.workload, threads=9, queue_depth=1, rate_per_s=5.0) == plan


def test_verified_blocks_are_preconditioned_whole() -> None:
    workload = {"precondition_passes": 1, "verify": True}
    assert preconditioning(cell(workload).fileio, planned(workload)).workload.block_sizes == ((16384, 100.0),)


def test_reading_back_reads_every_whole_block_once_and_past_the_page_cache() -> None:
    plan = planned({"block_size": "3MiB"}, {"fault": {"kind": "lost-write"}})
    after = reading_back(plan)
    assert after.workload.limit_bytes == 33 * 3 * MIB * 2
    assert (after.workload.read_pct, after.drop_cache, after.fault) == (100.0, True, None)


def test_draining_is_one_request() -> None:
    plan = draining(planned({"threads": 4}))
    assert (plan.workload.limit_bytes, plan.threads, plan.queue_depth) == (1, 1, 1)


def test_files_of_a_modelled_device_are_multiples_of_every_block() -> None:
    mixture = {"block_size": {"4KiB": 50.0, "16KiB": 50.0}, "files": 3}
    storage = {"kind": "memory", "device": "violin-memory-appliance", "size": "1GiB"}
    modelled = cell(mixture, storage)
    plan = write_modelled_fileio(modelled, 1)
    assert plan.workload.file_bytes == 2**30 // 3 // 4096 * 4096
    assert write_modelled_fileio(modelled, 1, fresh=True).device == plan.device, "memory has no history"
