from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.experiment.device.load import load_device
from flatwater.fit import Condition, Evaluator, free_value, with_free
from flatwater.fit.evaluate import plan_of, small_scale

CARD = "virident-tachion-400-slc"


def test_a_small_copy_says_what_a_larger_one_says() -> None:
    condition = Condition(threads=4, queue_depth=32, engine="io_uring")
    device = load_device(CARD)
    from flatwater.fit.evaluate import measure

    small, large = (
        measure(plan_of(device, condition, 1, small_scale(device, units)), 60_000)["MiB/s"] for units in (4000, 16_000)
    )
    assert small == pytest.approx(large, rel=0.02)


def test_the_same_figures_come_again_and_are_remembered() -> None:
    first, second = Evaluator(CARD, requests=5000), Evaluator(CARD, requests=5000)
    condition = Condition(mode="rndrd", threads=4)
    assert first.figures(condition) == second.figures(condition)
    first.figures(condition)
    assert first.runs == 1


def test_parameters_replace_figures_of_the_file() -> None:
    evaluator = Evaluator(CARD, requests=5000)
    condition = Condition(mode="rndrd", threads=64)
    halved = evaluator.figures(condition, {"link.read_mib_per_s": 500})
    assert halved["MiB/s"] == pytest.approx(500, rel=0.01)


def test_a_fresh_card_is_measured_before_it_is_full() -> None:
    fresh = Evaluator(CARD).figures(Condition(threads=16, initial="fresh"))
    full = Evaluator(CARD).figures(Condition(threads=16))
    assert fresh["MiB/s"] > 2 * full["MiB/s"]


def test_more_than_the_device_has() -> None:
    with pytest.raises(UserError, match="more is used than the device has"):
        Evaluator(CARD).figures(Condition(used_bytes=2**40))


def test_figures_by_name() -> None:
    assert free_value(CARD, "geometry.raw") == 2**39
    assert free_value("fusion-io-duo-320-slc", "geometry.channels") == 24
    for name in ("collector.policy", "collector.nothing", "nothing"):
        with pytest.raises(UserError, match=f"{name} is no number over 0 in the device's file"):
            free_value(CARD, name)


def test_values_keep_the_type_of_the_figures_they_replace() -> None:
    found = with_free(CARD, {"geometry.raw": 1e9 + 0.4, "geometry.channels": 15.6, "link.read_mib_per_s": 10.5})
    assert found == {"geometry.raw": "1000000000B", "geometry.channels": 16, "link.read_mib_per_s": 10.5}
