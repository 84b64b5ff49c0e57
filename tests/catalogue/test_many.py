"""The engine reads a result to the rows that `read_rows` has of it, or declines it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flatwater.catalogue.index import of_rows, young_ns
from flatwater.catalogue.many import read_many, stamps_of
from flatwater.catalogue.rows import read_rows
from flatwater.errors import UserError
from flatwater.results.schema import (
    Bound,
    CellPlan,
    CellSummary,
    Dip,
    Event,
    LatencyUs,
    Manifest,
    MetricSummary,
    ServerFacts,
    Stall,
    ThresholdResult,
)
from flatwater.results.tags import change_tags

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
sys.path.append(str(Path(__file__).parents[1]))
import synthetic

from damaged_results import damaged

#: Files are never too young.
OLD_NS = 2**62


def of_each(place: Path, runs: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows that `read_rows` has of them."""
    kept = of_rows(runs, [""] * len(runs), [read_rows(place / run).rows for run in runs])
    return {name: table.to_pylist() for name, table in kept.tables.items()}


def of_many(place: Path, runs: list[str]) -> tuple[list[str], dict[str, list[dict[str, Any]]]]:
    """The results that the engine does not decline, and their rows."""
    kept = read_many(place, runs, OLD_NS)
    for name, table in kept.tables.items():
        table.validate(full=True)
        assert len(set(kept.runs)) == len(kept.stamps), name
    return kept.runs, {name: table.to_pylist() for name, table in kept.tables.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results as runs write them."""
    made = tmp_path_factory.mktemp("results")
    synthetic.single(made / "single", 30, histograms=False)
    synthetic.sweep(made / "sweep", threads=(1, 8), count=30)
    return made


def test_what_runs_write_is_not_declined(folder: Path) -> None:
    runs = sorted(path.name for path in folder.iterdir())
    read, rows = of_many(folder, runs)
    assert read == runs
    assert rows == of_each(folder, runs)
    assert rows["events"] and len(rows["summary"]) > len(runs)


def test_a_stamp_is_of_each_file(folder: Path) -> None:
    kept = read_many(folder, ["single"], OLD_NS)
    parts = []
    for name in ("flatwater.json", "summary.json", "machine.json"):
        found = (folder / "single" / name).stat()
        parts.append(f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}")
    # It has no tags.
    assert kept.stamps == [" ".join([*parts, "-"])] == [stamps_of(folder, ["single"], OLD_NS)["single"]]
    assert read_many(folder, ["single"], 0).stamps == [stamps_of(folder, ["single"], 0)["single"]] == [""]
    assert young_ns() > 0


def test_tags_and_runs_under_way_are_declined(folder: Path, tmp_path: Path) -> None:
    for name in ("tagged", "running", "newer", "none"):
        shutil.copytree(folder / "single", tmp_path / name)
    change_tags(tmp_path / "tagged", {"kernel": "6.12"})
    for name, field, value in (("running", "status", "running"), ("newer", "schema_version", 99)):
        file = tmp_path / name / "flatwater.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {field: value}))
    (tmp_path / "none" / "flatwater.json").unlink()
    assert of_many(tmp_path, ["newer", "none", "running", "tagged"])[0] == []


def test_any_value_anywhere(folder: Path, tmp_path: Path) -> None:
    names = damaged(folder / "single", tmp_path)
    read, rows = of_many(tmp_path, names)
    refused = set()
    for name in read:
        try:
            read_rows(tmp_path / name)
        except UserError:
            refused.add(name)
    # What is damaged where no row comes from is not seen.
    same = [name for name in read if name not in refused]
    assert len(same) > len(names) / 10
    sound = of_each(tmp_path, same)
    for table, found in rows.items():
        assert [row | {"run": read[row["run"]]} for row in found if read[row["run"]] not in refused] == [
            row | {"run": same[row["run"]]} for row in sound[table]
        ]
    pristine = of_each(folder, ["single"])
    for name in refused:
        at = read.index(name)
        for table, found in rows.items():
            own = [row | {"run": 0} for row in found if row["run"] == at]
            assert own == pristine[table], f"{name}: a row of {table} comes from what is damaged"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
REALS = st.floats(allow_nan=False, allow_infinity=False)
MAYBE = st.none() | REALS
WHOLES = st.integers(-(2**63) + 1, 2**63 - 1)
PLAIN = st.none() | st.booleans() | WHOLES | REALS | TEXTS
SETS = st.dictionaries(TEXTS, st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=2), max_leaves=3), max_size=3)
TIMES = st.just("") | st.datetimes().map(lambda time: time.replace(microsecond=0).isoformat() + "+00:00")
CELLS = st.builds(
    CellSummary,
    cell=st.just(0),
    repeat=WHOLES,
    set=SETS,
    seed=st.just(1),
    error=st.none() | TEXTS,
    layers=st.dictionaries(st.sampled_from(["workload", "database", "cache", "storage", "other"]), TEXTS),
    unit=TEXTS,
    **dict.fromkeys(
        ("mean", "mean_ci95", "stddev", "median", "flatness", "steady_since_s", "dip_period_s", "client_cpu_us_per_op"),
        MAYBE,
    ),
    **dict.fromkeys(("samples", "operations", "bytes", "errors"), WHOLES),
    verdict=st.none() | st.sampled_from(["flat", "dips", "stalls", "drifting", "not steady"]),
    verdict_text=TEXTS,
    steady=st.none() | st.booleans(),
    interval_s=REALS,
    dips=st.lists(st.builds(Dip, start_s=REALS, length_s=REALS, depth=st.floats(0, 1)), max_size=3),
    stalls=st.lists(st.builds(Stall, start_s=REALS, length_s=REALS, oldest_us=REALS), max_size=3),
    bound=st.none() | st.builds(Bound, name=TEXTS, share=MAYBE),
    latency_us=st.none() | st.builds(LatencyUs, p50=MAYBE, p95=MAYBE, p99=MAYBE, p999=MAYBE, max=MAYBE),
    servers=st.lists(st.builds(ServerFacts, flavour=TEXTS, version=TEXTS), max_size=2),
    thresholds=st.lists(
        st.builds(
            ThresholdResult,
            name=TEXTS,
            limit=REALS | st.lists(TEXTS, max_size=3),
            value=MAYBE | TEXTS,
            passed=st.booleans(),
            text=TEXTS,
        ),
        max_size=3,
    ),
    events=st.lists(st.builds(Event, time_s=REALS, kind=TEXTS, text=TEXTS), max_size=4),
    started_at=TIMES,
    metrics=st.dictionaries(
        st.sampled_from(["storage.iops", "database.a.b", "odd"]) | TEXTS,
        st.builds(MetricSummary, mean=MAYBE, max=MAYBE),
    ),
)
MANIFESTS = st.builds(
    Manifest,
    name=TEXTS,
    title=TEXTS,
    flatwater_version=TEXTS,
    status=st.sampled_from(["complete", "interrupted", "failed"]),
    created_at=TIMES,
    seed=WHOLES,
    source=TEXTS,
    cells=st.just([CellPlan(index=0, repeat=0, set={}, seed=1)]),
)
FACTS = st.none() | st.booleans() | st.integers(-5, 2**66) | REALS | TEXTS
MACHINES = st.dictionaries(
    st.sampled_from(["cpu", "cores", "memory_bytes", "kernel", "hypervisor", "python", "storage", "workers"]),
    FACTS | st.dictionaries(st.sampled_from(["path", "device", "device_bytes", "model", "rotational"]), FACTS),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(manifest=MANIFESTS, cell=CELLS, machine=MACHINES)
def test_any_result_that_may_be_written(
    tmp_path: Path, manifest: Manifest, cell: CellSummary, machine: dict[str, Any]
) -> None:
    place = tmp_path / "one"
    place.mkdir(exist_ok=True)
    (place / "flatwater.json").write_text(manifest.model_dump_json())
    (place / "summary.json").write_text(json.dumps({"cells": [json.loads(cell.model_dump_json())]}))
    (place / "machine.json").write_text(json.dumps(machine))
    read, rows = of_many(tmp_path, ["one"])
    assert read == ["one"]
    assert rows == of_each(tmp_path, ["one"])
