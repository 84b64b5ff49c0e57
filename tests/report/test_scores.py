"""The scores of the page of published figures, against cases that were computed by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from flatwater.report.score_tables import contrast_parts, score_parts, seen_parts
from flatwater.report.scores import (
    Row,
    beside_a_constant,
    by_standing,
    score,
    seen,
    share_of_difference,
    spread,
    standing_of,
)
from flatwater.results import Agreement, Contrast, Finding, Published


def row(value: float, ours: float | None, *, experiment: str = "one", within: float = 0.15, **more: Any) -> Row:
    error = None if ours is None else ours / value - 1
    told = {"unit": "IOPS", "agrees": error is not None and abs(error) <= within, "within": within} | more
    return Row(experiment, "the cell", Published(value=value, ours=ours, error=error, **told))


def contrast(published: list[float], ours: list[float], *standings: str, **more: Any) -> Contrast:
    told = {"setting": "workload.threads", "values": list(range(len(published))), "cells": list(range(len(published)))}
    told["standings"] = list(standings or ["predicted"] * len(published))
    return Contrast(published=published, ours=ours, **(told | more))


def test_half_as_much_is_as_wrong_as_twice_as_much() -> None:
    assert row(100, 50).error == pytest.approx(row(100, 200).error) == pytest.approx(math.log(2))
    assert row(100, 0).error == math.inf
    assert row(100, None).error is None


def test_a_score() -> None:
    rows = [row(100, 100), row(100, 112), row(100, 130), row(100, 80)]
    told = score(rows)
    assert (told.rows, told.agreeing, told.near) == (4, 2, (1, 2, 3))
    assert told.median == pytest.approx((math.log(1.12) - math.log(0.8)) / 2)
    assert told.worst is rows[2]


def test_a_row_without_a_figure_of_ours_counts_as_one_that_does_not_agree() -> None:
    told = score([row(100, 100), row(100, None)])
    assert (told.rows, told.agreeing, told.near, told.median) == (2, 1, (1, 1, 1), 0)


def test_each_standing_is_apart() -> None:
    rows = [row(1, 1, standing="fitted", by="x"), row(1, 1), row(1, 2, standing="follows", by="y"), row(1, 3)]
    assert {name: len(some) for name, some in by_standing(rows).items()} == {"predicted": 2, "follows": 1, "fitted": 1}


def test_one_constant_is_the_geometric_mean_of_its_group() -> None:
    # 100 and 400: the constant is 200, off by a factor of two in each row. Ours meets both.
    told = beside_a_constant([row(100, 100), row(400, 400)])
    assert (told.groups, told.ours.agreeing, told.constant.agreeing) == (1, 2, 0)
    assert (told.ours.median, told.constant.median) == (0, pytest.approx(math.log(2)))
    # Figures that are near each other are met by a constant, whatever the model is worth.
    near = beside_a_constant([row(100, 130), row(110, 70)])
    assert (near.ours.agreeing, near.constant.agreeing) == (0, 2)


def test_what_no_constant_can_be_the_mean_of_is_left_out() -> None:
    alone = [row(100, 100), row(200, 200, experiment="other"), row(300, 300, metric="latency_us.p95")]
    bounds = [row(400, 400, at_least=True), row(500, 500, up_to=600)]
    assert beside_a_constant([*alone, *bounds]).groups == 0
    assert beside_a_constant([*alone, *bounds, row(100, 90)]).groups == 1


@pytest.mark.parametrize(
    ("published", "ours", "share"),
    [
        ([100, 200], [100, 200], 1.0),
        ([100, 200], [50, 100], 1.0),  # another level, the same effect
        ([100, 200], [100, 100], 0.0),
        ([100, 200], [200, 100], -1.0),
        ([100, 400], [100, 200], 0.5),
        ([100, 200, 400], [10, 20, 40], 1.0),
        ([100, 100], [100, 200], None),  # no published difference
        ([0, 100], [1, 2], None),
    ],
)
def test_the_share_of_the_published_difference(published: list[float], ours: list[float], share: float | None) -> None:
    assert share_of_difference(contrast(published, ours)) == (None if share is None else pytest.approx(share))


def test_spreads() -> None:
    assert spread([3, 1, 2]) == 3
    assert (spread([0, 1]), spread([0, 0])) == (math.inf, 1)


def test_what_groups_say_together() -> None:
    blind = contrast([100, 200], [100, 101])
    told = seen([blind, contrast([100, 200], [9, 5]), contrast([1, 2, 3], [1, 3, 2]), contrast([5, 5], [1, 2])])
    assert (told.groups, told.pairs, told.right, told.wrong, told.blind) == (4, 5, 3, 2, 1)


def test_the_standing_of_a_group() -> None:
    assert standing_of(contrast([1, 2], [1, 2])) == "predicted"
    assert standing_of(contrast([1, 2], [1, 2], "", "predicted")) == "predicted"
    assert standing_of(contrast([1, 2], [1, 2], "fitted", "predicted")) == "partly fitted"
    assert standing_of(contrast([1, 2], [1, 2], "fitted", "follows")) == "fitted or follows"


def test_the_tables_hide_nothing() -> None:
    rows = [row(100, 100), row(400, 390), row(100, 0, standing="fitted", by="x")]
    shapes = [Finding(kind="order", cells=[0], published="", ours="", agrees=agrees) for agrees in (True, False, None)]
    text = "\n\n".join(score_parts(rows, shapes))
    assert "| predicted | 2 | 2 | 2 | 2 | 2 | 0.013 | 0.025 (one: the cell, mean) |" in text
    assert "| fitted | 1 | 0 | 0 | 0 | 0 | ours is 0 | ours is 0 (one: the cell, mean) |" in text
    assert "1 of 2 that are predicted" in text
    assert "| predicted | 1 | 2 | 2 | 0 | 0.013 | 0.693 |" in text
    groups = [
        ("one", contrast([100, 200], [100, 101], tau=1.0, chance=0.5)),
        ("two", contrast([1, 2], [2, 1], "fitted", "fitted", about="mode rndrd", tau=-1.0, chance=1.0)),
    ]
    text = "\n\n".join(seen_parts(groups) + contrast_parts(groups))
    assert "| predicted | 1 | 1 | 1 | 0 | 1 | 1.4 % |" in text
    assert (
        "| one | threads: 0, 1 | mean | predicted | 2.00 x | 1.01 x (no difference) | 1.4 % | 1.00 | 50.0 % |" in text
    )
    assert "| two | threads: 0, 1 (mode rndrd) | mean | fitted or follows | 2.00 x | 2.00 x | -100.0 % |" in text
    assert seen_parts([]) == contrast_parts([]) == []


def test_results_of_before_there_were_standings_are_read() -> None:
    figure = {"value": 1.0, "unit": "IOPS", "source": "s"}
    assert Published.model_validate(figure | {"fitted": True}).standing == "fitted"
    assert Published.model_validate(figure | {"fitted": False}).standing == "predicted"
    assert Agreement.model_validate({"figures": 3, "fitted": 2}).figures == 3
