from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic

from flatwater.report.swept import Swept, arrange, as_number, shown
from flatwater.results import Result


def result_of(path: Path, sets: list[dict[str, Any]], report: str = "") -> Result:
    experiment = f'name = "x"\n{report}'
    return synthetic.create(path, [(one, 0) for one in sets], experiment=experiment)


def arranged(path: Path, sets: list[dict[str, Any]], report: str = "") -> Swept:
    found = arrange(result_of(path, sets, report))
    assert found is not None
    return found


def grid(**fields: list[Any]) -> list[dict[str, Any]]:
    sets: list[dict[str, Any]] = [{}]
    for name, values in fields.items():
        sets = [{**one, name.replace("__", "."): value} for one in sets for value in values]
    return sets


def test_nothing_swept(tmp_path: Path) -> None:
    assert arrange(result_of(tmp_path / "r", [{}])) is None


def test_the_first_field_is_the_axis_and_the_others_are_lines(tmp_path: Path) -> None:
    found = arranged(tmp_path / "r", grid(storage__fill=[1.0, 0.2], workload__threads=[1, 8]))
    assert found.field == "storage.fill"
    assert found.positions == [0.2, 1.0]
    assert {label: [point.x for point in points] for label, points in found.lines.items()} == {
        "threads 1": [0.2, 1.0],
        "threads 8": [0.2, 1.0],
    }


def test_the_experiment_chooses_the_axis(tmp_path: Path) -> None:
    sets = grid(storage__fill=[0.2, 1.0], workload__threads=[1, 8])
    assert arranged(tmp_path / "a", sets, '[report]\nx = "workload.threads"').field == "workload.threads"
    assert arranged(tmp_path / "b", sets, '[report]\nseries = "storage.fill"').field == "workload.threads"
    assert arranged(tmp_path / "c", sets, '[report]\nx = "no.such"').field == "storage.fill"


def test_a_zipped_field_is_no_line_of_its_own(tmp_path: Path) -> None:
    sets = [{"storage.fill": 0.2, "storage.size": 10}, {"storage.fill": 0.4, "storage.size": 20}]
    assert list(arranged(tmp_path / "r", sets).lines) == [""]


def test_repeats_are_one_point(tmp_path: Path) -> None:
    result = synthetic.create(tmp_path / "r", [({"a.b": 1}, 0), ({"a.b": 1}, 1), ({"a.b": 2}, 0)])
    found = arrange(result)
    assert found is not None
    assert [len(point.cells) for point in found.lines[""]] == [2, 1]


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [
        ([1, 2, 4, 8], True),
        (["4KiB", "16KiB", "64KiB"], True),
        ([1, 10, 100], True),
        ([0.2, 0.4, 1.0], False),
        ([0.25, 0.5, 1.0], False),
        ([0, 1, 2, 4, 1000], False),
        ([1, 8], False),
        (["psync", "io_uring"], False),
        ([True, False], False),
    ],
)
def test_logarithmic_where_the_values_are(tmp_path: Path, values: list[Any], logarithmic: bool) -> None:
    assert arranged(tmp_path / "r", [{"a.b": value} for value in values]).logarithmic is logarithmic


def test_words_and_tables_are_categories(tmp_path: Path) -> None:
    values: list[Any] = ["psync", "io_uring", {"4KiB": 50, "16KiB": 50}, None, [1, 2]]
    found = arranged(tmp_path / "r", [{"workload.engine": value} for value in values])
    assert found.positions is None
    assert [found.position(value) for value in values] == [
        "psync",
        "io_uring",
        '{"4KiB": 50, "16KiB": 50}',
        "null",
        "[1, 2]",
    ]


def test_numbers_and_sizes() -> None:
    assert [as_number(value) for value in (3, "16KiB", "2G", "1.5 MiB", "512", "x", True, float("nan"), None)] == [
        3.0, 16384.0, 2.0 * 2**30, 1.5 * 2**20, 512.0, None, None, None, None,
    ]  # fmt: skip
    assert [shown("workload.block_size", value) for value in (16384, "16k", "16KiB")] == ["16 KiB"] * 3
    assert shown("storage.size", "2GB") == "1.863 GiB"
    assert as_number("2GB") == 2e9
    assert shown("workload.block_size", {"4KiB": 100}) == '{"4KiB": 100}'
    assert shown("import.label", "16k") == "16k"
    assert shown("workload.threads", 16384) == "16,384"
    assert shown("storage.fill", 0.2) == "0.2"
