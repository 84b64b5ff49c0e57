from __future__ import annotations

import tomllib
from pathlib import Path

from flatwater.experiment.device.load import load_device
from flatwater.fit import Condition, Evaluator, Measurement, fit, fitted_names, to_device_toml

CARD = "virident-tachion-400-slc"
K = "controller.write_mib_per_s"


def test_the_file_says_what_was_fitted() -> None:
    assert {K, "collector.relocation_mib_per_s"} <= set(fitted_names(CARD))
    assert "geometry.raw" not in fitted_names(CARD)


def test_a_fitted_device_can_be_read_again(tmp_path: Path) -> None:
    condition = Condition(queue_depth=64, engine="io_uring", fill=0.2)
    found = fit(Evaluator(CARD), [Measurement(condition, "MiB/s", 500.0)], [K])
    path = tmp_path / "mine.toml"
    path.write_text(to_device_toml(CARD, found, ["table.csv"]))
    data = tomllib.loads(path.read_text())
    assert data["sources"][K].startswith("fitted: to table.csv (1 rows, rms error ")
    assert abs(data["controller"]["write_mib_per_s"] / 500 - 1) < 0.05
    assert load_device(str(path)).capacity == load_device(CARD).capacity


def test_a_device_with_a_base_stands_alone_when_fitted() -> None:
    name = "fusion-io-duo-320-slc"
    condition = Condition(queue_depth=64, engine="io_uring", fill=0.2)
    found = fit(Evaluator(name), [Measurement(condition, "MiB/s", 900.0)], [K])
    data = tomllib.loads(to_device_toml(name, found, ["t.csv"]))
    assert "base" not in data and data["modules"] == 2
