from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatwater.experiment import iter_cells, library, load, make_experiment, to_toml
from flatwater.experiment.database.settings import name_fault, value_fault
from flatwater.experiment.units import MAX_SECONDS, write_size

words = st.text(st.characters(codec="utf-8"), max_size=20)
sizes = st.integers(1, 2**40)
blocks = st.integers(1, 2**20).map(lambda sectors: sectors * 512)
seconds = st.floats(1, MAX_SECONDS)
workloads = st.fixed_dictionaries(
    {"mode": st.sampled_from(["seqwr", "read", "randrw", "rndrw"]), "engine": st.just("io_uring")},
    optional={
        "read_pct": st.floats(0, 100),
        "block_size": blocks | blocks.map(write_size) | st.just({"4KiB": 12.5, 8192: 87.5}),
        "files": st.integers(1, 5),
        "threads": st.integers(1, 4096),
        "queue_depth": st.integers(1, 4096),
        "fsync": st.sampled_from(["none", "end", "every-write"]),
        "zipf_theta": st.floats(0.01, 100),
        "duration_s": seconds,
        "warmup_s": seconds,
        "rate_per_s": st.floats(0, 1e9),
        "precondition_block_size": sizes,
    },
)
sweeps = st.fixed_dictionaries(
    {},
    optional={
        "workload.threads": st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True),
        "storage.fill": st.lists(st.floats(0.01, 1), min_size=1, max_size=3, unique=True),
        "zip": st.just([{"workload.unit": ["IOPS", "MiB/s"], "storage.purge": [True, False]}]),
    },
)
experiments = st.fixed_dictionaries(
    {"workload": workloads, "sweep": sweeps},
    optional={
        "name": words,
        "title": words,
        "about": words,
        "repeat": st.integers(1, 100),
        "seed": st.integers(0, 2**53 - 1),
        "storage": st.fixed_dictionaries(
            {},
            optional={
                "path": words.filter(bool),
                "size": st.integers(2**40, 2**63 - 1),
                "fault": st.just({"kind": "full", "after_ops": 3}),
            },
        ),
        "record": st.fixed_dictionaries({"interval_s": st.floats(0.1, 1)}),
        "published": st.just([{"value": 3, "unit": "1", "metric": "flatness", "source": "s"}]),
    },
)

settings = st.tuples(
    st.from_regex(r"innodb_[a-z0-9_]{1,20}", fullmatch=True),
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=20)
    | st.sampled_from(["24M", ""]),
).filter(lambda setting: not name_fault(setting[0]) and not value_fault(*setting))
servers = st.fixed_dictionaries(
    {"kind": st.just("server")},
    optional={
        "binary": words.filter(bool),
        "settings": st.lists(settings, min_size=1).map(dict),
        "instances": st.integers(1, 8),
        "schema_name": st.just("tpcc_1"),
        "on_crash": st.sampled_from(["stop", "restart"]),
        "fault": st.just({"kind": "freeze", "at_s": 0.5, "duration_s": "2s"}),
    },
)
attached = st.just({"kind": "server", "url": "mysql://me@db:3307/tpcc"})
on_servers = st.fixed_dictionaries(
    {
        "workload": st.fixed_dictionaries({"kind": st.just("tpcc")}, optional={"warehouses": st.integers(1, 32767)})
        | st.fixed_dictionaries(
            {"kind": st.just("oltp"), "mode": st.sampled_from(["oltp_read_only", "insert"])},
            optional={"rows": st.integers(1, 2**31 - 1), "zipfian_exp": st.floats(0, 100)},
        ),
        "database": servers | attached,
    },
    optional={
        "sweep": st.just({"workload.connections": [8, 64], "workload.duration_s": ["1m", 3600]}),
        "published": st.just([{"value": 3, "unit": "1", "metric": "flatness", "source": "s"}]),
    },
)


@given(experiments | on_servers)
def test_what_is_written_reads_back_the_same(data: dict[str, Any]) -> None:
    experiment = make_experiment(data)
    written = to_toml(experiment)
    again = make_experiment(tomllib.loads(written))
    assert again == experiment
    assert to_toml(again) == written
    assert list(iter_cells(again)) == list(iter_cells(experiment))


@pytest.mark.parametrize("entry", library(), ids=lambda entry: entry.name)
def test_the_library_reads_back_the_same(entry: Any, tmp_path: Path) -> None:
    place = [] if entry.layers["storage"] == "modelled" else ["storage.path=/mnt/flash"]
    experiment = load(entry.path, [*place, "repeat=2"])
    path = tmp_path / "experiment.toml"
    path.write_text(to_toml(experiment))
    assert load(path) == experiment
    for cell in iter_cells(experiment):
        path.write_text(to_toml(cell.experiment))
        assert load(path) == cell.experiment


def test_sizes_are_written_with_their_unit() -> None:
    experiment = make_experiment(
        {"workload": {"mode": "rndrd", "block_size": {4096: 50, 8192: 50}}, "storage": {"size": "2GB"}}
    )
    data = tomllib.loads(to_toml(experiment))
    assert data["workload"]["block_size"] == {"4KiB": 50.0, "8KiB": 50.0}
    assert data["workload"]["precondition_block_size"] == "128KiB"
    assert data["storage"]["size"] == "1953125KiB"


def test_settings_are_written_as_they_were() -> None:
    written = {"innodb_log_file_size": "24M", "innodb_doublewrite": False, "sql_mode": "", "innodb_lru_scan_depth": 100}
    data = {"workload": {"kind": "tpcc"}, "database": {"kind": "server", "settings": written}}
    read = tomllib.loads(to_toml(make_experiment(data)))
    assert read["database"]["settings"] == written


@pytest.mark.parametrize(
    "url",
    ["mysql://me:s3cret@db/tpcc", "mysql://db/?user=me&password=s3cret", "mysql:///my.sock?password=s3cret&user=me"],
)
def test_a_password_is_never_written(url: str) -> None:
    data = {"workload": {"kind": "tpcc"}, "database": {"kind": "server", "url": url}}
    data["sweep"] = {"workload.connections": [1, 2]}
    experiment = make_experiment(data)
    cells = [cell.experiment for cell in iter_cells(experiment)]
    for one in (experiment, *cells):
        assert one.server.login().password == "s3cret"
        assert "s3cret" not in to_toml(one)
        assert "s3cret" not in one.model_dump_json()
        assert "s3cret" not in repr(one)
