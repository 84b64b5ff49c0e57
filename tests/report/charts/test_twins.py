from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import synthetic

from flatwater.report.charts.twins import PAIRS_MAX, Twins
from flatwater.report.figure import Figure
from flatwater.report.swept import arrange
from flatwater.results import Phase, Result, open_result

LOG = "database.settings.innodb_log_file_size"
COUNT, REAL_WARMUP, MODEL_WARMUP = 200, 40.5, 40.0


def written(
    path: Path, *, sizes: tuple[str, ...] = ("1G",), lost: frozenset[int] = frozenset(), without: str = ""
) -> Result:
    """Real cells and their twins, which are twice as fast; the cells of `lost` never ended, the twins lack a series."""
    plans = [({LOG: size, "twin.modelled": modelled}, 0) for size in sizes for modelled in (False, True)]
    result = synthetic.create(path, plans)
    rng = np.random.default_rng(3)
    rows, summaries = [], []
    for index, (swept, _) in enumerate(plans):
        modelled = bool(swept["twin.modelled"])
        found = synthetic.database_columns(rng, COUNT, 40_000 if modelled else 20_000, 2**30)
        if modelled:
            found.pop(without, None)
        warm = MODEL_WARMUP if modelled else REAL_WARMUP
        phases = [Phase(name="warmup", start_s=0, end_s=warm), Phase(name="measure", start_s=warm, end_s=COUNT)]
        if index not in lost:
            summaries.append(synthetic.database_summary(index, swept, found, COUNT, phases=phases))
        rows.append((index, found))
    synthetic.write_rows(result, iter(rows))
    synthetic.write_summaries(result, summaries)
    return open_result(path)


def drawn(result: Result) -> list[Figure]:
    swept = arrange(result)
    assert swept is not None
    return Twins().draw(result, swept)


def titles(figure: Figure) -> list[str]:
    return [axis["title"]["text"] for name, axis in figure.layout.items() if name.startswith("yaxis")]


def test_both_over_each_other_from_when_they_were_measured(tmp_path: Path) -> None:
    [figure] = drawn(written(tmp_path / "r"))
    assert titles(figure) == ["throughput, NOTPM", "age, MiB", "dirty, %"]
    assert [trace["name"] for trace in figure.data] == ["real", "modelled"] * 3
    assert [trace["showlegend"] for trace in figure.data] == [True, True, False, False, False, False]
    real, model = figure.data[:2]
    # The first sample ends a second after the begin.
    assert (real["x"][0], model["x"][0]) == (1 - REAL_WARMUP, 1 - MODEL_WARMUP)
    assert figure.layout["xaxis"]["range"] == [1 - REAL_WARMUP, COUNT - MODEL_WARMUP]
    assert figure.layout["shapes"][0]["x1"] == 0
    assert np.mean(model["y"]) == pytest.approx(2 * np.mean(real["y"]), rel=0.05)
    told = figure.about.rpartition("NOTPM, ")[2]
    assert 95 < float(told.partition(" %")[0]) < 105
    assert figure.wide


def test_what_only_one_recorded_is_left_out(tmp_path: Path) -> None:
    [figure] = drawn(written(tmp_path / "r", without="database.dirty_pct"))
    assert titles(figure) == ["throughput, NOTPM", "age, MiB"]


def test_each_pair_has_a_figure_of_its_own(tmp_path: Path) -> None:
    sizes = ("24M", "1G", "8G")
    figures = drawn(written(tmp_path / "r", sizes=sizes, lost=frozenset({3})))
    assert [figure.key for figure in figures] == ["twins-0000", "twins-0004"]
    assert figures[0].title.endswith("innodb_log_file_size 24 MiB")


@pytest.mark.slow
def test_no_more_than_a_page_holds(tmp_path: Path) -> None:
    sizes = tuple(f"{size}M" for size in range(16, 16 + PAIRS_MAX + 1))
    figures = drawn(written(tmp_path / "r", sizes=sizes))
    assert len(figures) == PAIRS_MAX
    # All of them together have hardly more points than one.
    assert max(len(trace["x"]) for figure in figures for trace in figure.data) <= 4 * 150


def test_without_twins_nothing(sweep: Result) -> None:
    assert drawn(sweep) == []
