"""Known parameters come back from figures that the engine itself made with them."""

from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.fit import Condition, Evaluator, Measurement, fit

CARD = "virident-tachion-400-slc"
K, KG, RAW = "controller.write_mib_per_s", "collector.relocation_mib_per_s", "geometry.raw"
FILLS = (0.2, 0.4, 0.6, 0.8, 1.0)


def rows(true: dict[str, float], seed: int = 7) -> list[Measurement]:
    """A fill-level table of a card with these parameters, made with other random numbers than the fit has."""
    evaluator = Evaluator(CARD, seed=seed)
    conditions = [Condition(threads=4, queue_depth=32, engine="io_uring", fill=fill) for fill in FILLS]
    return [Measurement(one, "MiB/s", evaluator.figures(one, true)["MiB/s"]) for one in conditions]


def test_known_parameters_come_back() -> None:
    true = {K: 700.0, KG: 300.0}
    told: list[tuple[int, float]] = []
    found = fit(Evaluator(CARD), rows(true), list(true), progress=lambda runs, rms: told.append((runs, rms)))
    values = {one.name: one for one in found.parameters}
    for name, value in true.items():
        assert values[name].value == pytest.approx(value, rel=0.03), name
        assert values[name].low is not None and values[name].high is not None
        assert values[name].low < values[name].value < values[name].high
    assert found.rms < 0.01 < found.rms_before
    assert found.confusions == []
    assert told[-1][0] <= found.runs


@pytest.mark.slow
def test_spare_and_the_collectors_rate_are_not_told_apart_by_a_fill_table() -> None:
    found = fit(Evaluator(CARD), rows({K: 950.0, KG: 600.0}), [K, KG, RAW])
    names = [set(one.names) for one in found.confusions]
    assert {KG, RAW} in names
    assert found.confusions[names.index({KG, RAW})].fix == RAW


@pytest.mark.slow
def test_a_parameter_that_the_rows_do_not_feel_is_named() -> None:
    found = fit(Evaluator(CARD), rows({K: 900.0})[:3], [K, "link.read_mib_per_s"])
    assert [one.names for one in found.confusions] == [("link.read_mib_per_s",)]
    assert found.parameters[1].low is None


def test_a_parameter_ends_at_its_bound() -> None:
    found = fit(Evaluator(CARD), rows({K: 500.0})[:2], [K], bounds={K: (900.0, 1100.0)})
    assert found.parameters[0].at_bound
    assert found.parameters[0].value == pytest.approx(900, rel=1e-3)


def test_what_cannot_be_fitted() -> None:
    evaluator, table = Evaluator(CARD), rows({})
    with pytest.raises(UserError, match="1 row cannot fix 2 parameters"):
        fit(evaluator, table[:1], [K, KG])
    with pytest.raises(UserError, match="nothing is free"):
        fit(evaluator, table, [])
    with pytest.raises(UserError, match="a parameter is free twice"):
        fit(evaluator, table, [K, K])
    with pytest.raises(UserError, match=r"controller\.speed is no number over 0"):
        fit(evaluator, table, ["controller.speed"])
