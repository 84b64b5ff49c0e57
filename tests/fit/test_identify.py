from __future__ import annotations

import numpy as np
import pytest

from flatwater.fit import confusions
from flatwater.fit.identify import collinearity


def test_columns_at_right_angles_are_told_apart() -> None:
    assert collinearity(np.array([[1.0, 0.0], [0.0, 5.0]])) == pytest.approx(1)
    assert confusions(["a", "b"], np.array([[1.0, 0.0], [0.0, 5.0]])) == []


def test_a_pair_of_which_one_is_the_others_multiple() -> None:
    column = np.array([0.1, 0.5, 1.0])
    jacobian = np.column_stack([column, [1.0, 0.2, 0.0], -4 * column])
    (found,) = confusions(["collector.relocation_mib_per_s", "k", "geometry.raw"], jacobian)
    assert found.names == ("collector.relocation_mib_per_s", "geometry.raw")
    assert found.index == float("inf")
    assert found.fix == "geometry.raw"
    assert "fix geometry.raw (the raw capacity, and so the spare) from a datasheet" in found.text


def test_a_group_of_three_of_which_every_two_are_told_apart() -> None:
    a, b = np.array([1.0, 0.0, 0.3, 1.0]), np.array([0.0, 1.0, 0.7, 0.2])
    (found,) = confusions(["a", "b", "c"], np.column_stack([a, b, a + b]))
    assert found.names == ("a", "b", "c")


def test_a_parameter_without_influence() -> None:
    (found,) = confusions(["a", "timing.read_us"], np.array([[1.0, 0.001], [0.5, 0.0]]))
    assert found.names == ("timing.read_us",)
    assert found.index is None
    assert found.text == "no row depends on timing.read_us (the flash's read time): fix it, or add rows that do"


def test_more_parameters_than_rows_are_never_told_apart() -> None:
    assert collinearity(np.array([[1.0, 2.0, 3.0]])) == float("inf")
