"""What may differ between two runs that are compared: generated from the schema, so that no field is forgotten.

Before, 16 KiB random reads at depth 8 against 4 KiB writes at depth 1 gave a ratio with an interval.
"""

from __future__ import annotations

import copy
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flatwater.analysis.alike import OF_ONE_START, differences
from flatwater.analysis.compare import Comparison, compare
from flatwater.experiment.kinds import BUILT
from flatwater.experiment.record import Record
from flatwater.experiment.roles import DECISIVE, MATTERS_WITH, role_of
from flatwater.results import Result

sys.path.insert(0, str(Path(__file__).parent))
from known_series import make_result

#: Every field of every kind: (layer, kind, field).
FIELDS = [
    (layer, kind, name)
    for layer, kinds in BUILT.items()
    for kind, model in kinds.items()
    for name, info in model.model_fields.items()
    if not info.exclude and name != "kind"
] + [("record", "", name) for name in Record.model_fields]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    """Two results whose experiments are alike; the second is twice as fast."""
    folder = tmp_path_factory.mktemp("alike")
    rng = np.random.default_rng(1)
    a, b = (
        make_result(folder / name, [({}, 0, level * (1 + 0.02 * rng.normal(size=60)))])
        for name, level in (("a", 1000), ("b", 2000))
    )
    return a, b


def with_tables(pair: tuple[Result, Result], ours: dict[str, Any], theirs: dict[str, Any]) -> list[Result]:
    found = [copy.copy(result) for result in pair]
    for result, tables in zip(found, (ours, theirs), strict=True):
        result.experiment = result.experiment | tables
    return found


def told(comparison: Comparison) -> dict[str, str]:
    return {one.field: one.role for one in comparison.differences["b"]}


def test_two_runs_of_one_experiment_do_not_differ(pair: tuple[Result, Result]) -> None:
    assert differences(*pair) == []


@pytest.mark.parametrize(("layer", "kind", "name"), FIELDS, ids=lambda part: str(part))
def test_every_field_that_differs_is_told_and_a_decisive_one_takes_the_ratio(
    pair: tuple[Result, Result], layer: str, kind: str, name: str
) -> None:
    field = f"{layer}.{name}"
    shared: dict[str, Any] = {"kind": kind} if kind else {}
    if field in MATTERS_WITH:
        other, values = MATTERS_WITH[field]
        shared[other.removeprefix(f"{layer}.")] = values[0] if values else 1
    # Values need not be valid: what was written is what was run.
    results = with_tables(pair, {layer: {**shared, name: "this"}}, {layer: {**shared, name: "that"}})
    comparison = compare(results)
    assert told(comparison).get(field) == role_of(field)
    (row,) = comparison.rows
    (anyway,) = compare(results, anyway=True).rows
    assert anyway.ratio == pytest.approx(2, abs=0.02)
    if role_of(field) in DECISIVE:
        assert (row.ratio, row.low, row.high, row.difference) == (None, None, None, None)
        assert (row.comparable, anyway.comparable) == ("no", "no")
        assert field in row.not_comparable
        assert f"{field} (this / that)" in row.text
    else:
        assert field not in row.not_comparable
    json.dumps(asdict(comparison))


@pytest.mark.parametrize("layer", list(BUILT))
def test_another_kind_is_told(pair: tuple[Result, Result], layer: str) -> None:
    kinds = list(BUILT[layer])[:2]
    results = with_tables(pair, *({layer: {"kind": kind}} for kind in kinds))
    assert f"{layer}.kind" in told(compare(results))


def test_reads_against_writes_have_no_ratio(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    reads = {"workload": {"kind": "fileio", "mode": "rndrd", "block_size": "16KiB", "threads": 8}}
    writes = {"workload": {"kind": "fileio", "mode": "rndwr", "block_size": "4KiB"}}
    results = [
        make_result(tmp_path / name, [({}, 0, 1000 + rng.normal(size=60))], experiment=experiment)
        for name, experiment in (("a", reads), ("b", writes))
    ]
    (row,) = compare(results).rows
    assert row.ratio is None
    assert row.comparable == "no"
    assert row.not_comparable == ["workload.mode", "workload.block_size", "workload.threads"]
    assert row.text.startswith(
        "not comparable: they differ in workload.mode (rndrd / rndwr), workload.block_size (16 K"
    )


def test_what_both_sweep_is_no_difference_and_what_it_governs_is_looked_at(tmp_path: Path) -> None:
    results = []
    for name, theta in (("a", 0.99), ("b", 0.5)):
        workload = {"kind": "fileio", "mode": "rndrd", "zipf_theta": theta}
        cells = [({"workload.distribution": one}, 0, np.full(20, 5.0)) for one in ("uniform", "zipf")]
        results.append(make_result(tmp_path / name, cells, experiment={"workload": workload}))
    assert told(compare(results)) == {"workload.zipf_theta": "workload"}


def test_a_parameter_of_what_is_not_used_is_no_difference(pair: tuple[Result, Result]) -> None:
    plain = {"workload": pair[0].experiment["workload"] | {"zipf_theta": 0.5}}
    assert compare(with_tables(pair, {}, plain)).rows[0].comparable == "yes"


def test_sizes_are_the_same_however_they_are_written(pair: tuple[Result, Result]) -> None:
    ours = {"storage": pair[0].experiment["storage"] | {"size": "1024MiB"}}
    theirs = {"storage": pair[0].experiment["storage"] | {"size": 2**30}}
    assert differences(*with_tables(pair, ours, theirs)) == []


def test_servers_and_versions_are_told(tmp_path: Path) -> None:
    a = make_result(tmp_path / "a", [({}, 0, np.full(20, 5.0))], version="0.1.0")
    b = make_result(tmp_path / "b", [({}, 0, np.full(20, 5.0))], version="0.2.0")
    for result, limit, place in ((a, "200", "/a"), (b, "400", "/b")):
        folder = result.path / "servers" / "0000"
        folder.mkdir(parents=True)
        variables = {"innodb_io_capacity": limit, "datadir": place, "pseudo_thread_id": place}
        (folder / "variables.json").write_text(json.dumps(variables))
    assert told(compare([a, b])) == {"flatwater_version": "version", "server.innodb_io_capacity": "server"}


@pytest.mark.parametrize(
    ("name", "own"),
    [("datadir", True), ("pid_file", True), ("server_uuid", True), ("hostname", True), ("innodb_log_file_size", False),
     ("innodb_file_per_table", False), ("innodb_flush_method", False), ("max_connections", False),
     ("innodb_buffer_pool_size", False), ("sync_binlog", False),
     ("innodb_adaptive_hash_index", False), ("secure_file_priv", True), ("log_bin_basename", True), ("log_bin", False)],
)  # fmt: skip
def test_a_servers_variables_that_no_two_starts_share_are_left_out(name: str, own: bool) -> None:
    assert bool(OF_ONE_START.fullmatch(name)) == own
