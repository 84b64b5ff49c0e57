"""A twin is fitted to runs of which it is known what no counter tells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from recorded import CORES, FLUSH_US, READ_US, SETTINGS, WRITE_US, Hidden, recorded

from flatwater.what_if import Fitted, fit_twin, read_base
from flatwater.what_if.twin import Twin


def quiet(text: str) -> None:
    """Progress that nobody sees."""


def fitted(path: Path, hidden: Hidden) -> Fitted:
    with Twin(read_base(str(recorded(path, hidden)))) as twin:
        return fit_twin(twin, quiet)


def test_what_a_run_recorded(tmp_path: Path) -> None:
    base = read_base(str(recorded(tmp_path / "run")))
    assert (base.generation, base.cores, base.cells, base.unit) == ("mariadb-10.11", CORES, [0], "NOTPM")
    assert base.throughput == pytest.approx(60 * base.throughput / base.unit_scale, rel=1e-3)
    storage = base.storage
    assert (storage.write_us, storage.flush_us) == (WRITE_US, FLUSH_US)
    assert storage.read_us == pytest.approx(READ_US, rel=0.01) and storage.peak_bytes_per_s > 0
    assert base.settings["innodb_log_file_size"] == "48M"
    assert base.warmup_s == 5 and base.measure_s == 25 and base.noise > 0
    assert base.client_cpu_us == 0 and base.stretch == pytest.approx(1)


@pytest.mark.parametrize(
    ("database", "load", "counts"),
    [
        ({}, None, True),
        ({"url": "mysql://u@127.0.0.1/s"}, None, True),
        ({"url": "mysql:///run/m.sock?user=u"}, None, True),
        ({"url": "mysql://u@192.0.2.7/s"}, None, True),
        ({"url": "mysql://u@192.0.2.7/s"}, {"hosts": 2}, False),
    ],
)
def test_a_client_counts_where_it_shares_the_servers_cores(
    tmp_path: Path, database: dict[str, Any], load: dict[str, Any] | None, counts: bool
) -> None:
    """The CPU time of the server's process is recorded, so that it was on the client's machine, by whatever address."""
    variables = {name: str(value) for name, value in SETTINGS.items()} | {"innodb_buffer_pool_size": str(96 << 20)}
    run = recorded(tmp_path / "run", None, variables, database=database, load=load, client_cpu_us_per_op=40.0)
    base = read_base(str(run))
    # An operation is one of the five transactions, and a New-Order is not half of them.
    assert (base.client_cpu_us > 2 * 40) if counts else base.client_cpu_us == 0


def test_a_run_with_nothing_hidden_needs_no_fit(tmp_path: Path) -> None:
    found = fitted(tmp_path / "run", Hidden())
    figures = {one.name: one for one in found.compared}
    # The engine's own run, from its counters alone; another seed is all that differs.
    assert figures["throughput, nothing fitted"].error == pytest.approx(0, abs=0.06)
    assert figures["pages read"].error == pytest.approx(0, abs=0.05)
    assert figures["pages written"].error == pytest.approx(0, abs=0.08)
    assert found.residual < 0.08


@pytest.mark.slow_cases("storage-hidden1")
@pytest.mark.parametrize(("name", "hidden"), [("CPU", Hidden(cpu=2.0)), ("storage", Hidden(storage=6.0))])
def test_what_is_hidden_is_found_under_its_own_explanation(tmp_path: Path, name: str, hidden: Hidden) -> None:
    found = fitted(tmp_path / "run", hidden)
    error = next(one.error for one in found.compared if one.name == "throughput, nothing fitted")
    assert error is not None and error > 0.15, "what is hidden is not seen before the fit"
    explanation = next(one for one in found.explanations if one.name == name)
    scale = explanation.scales.cpu if name == "CPU" else explanation.scales.storage
    truth = hidden.cpu if name == "CPU" else hidden.storage
    assert scale == pytest.approx(truth, rel=0.15)
    figures = {one.name: one for one in found.compared}
    assert figures["throughput, fitted"].error == pytest.approx(0, abs=0.03)
