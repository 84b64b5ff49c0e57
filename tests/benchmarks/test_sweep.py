"""The benchmark of sweeps, small: so that it runs when it is wanted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import sweep
from flatwater.errors import Interrupted


@pytest.mark.slow
def test_measures_and_says_what_came_out(tmp_path: Path) -> None:
    options = ["--cells", "40", "--scaling-cells", "4", "--rounds", "1", "--jobs", "2", "--dir", str(tmp_path)]
    told = sweep.main(options).splitlines()
    assert told[2].startswith("| 10 | 2 |") and told[3].startswith("| 40 | 2 |")
    assert told[-1].startswith("Two processes over one, 4 cells of ")
    assert not list(tmp_path.iterdir()), "nothing is left"


def test_own_cost_is_what_no_cell_took() -> None:
    measured = sweep.Swept(1000, 2, 0.5, 9.5, 3.0, in_cells_s=19.0, cells_cpu_s=15.0, parent_cpu_s=0.25)
    assert measured.own_ms == pytest.approx(1.25)
    assert measured.whole_ms == pytest.approx(13.0)


def test_a_sweep_that_was_interrupted_has_no_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = SimpleNamespace(status="interrupted", error="interrupted by the user")
    monkeypatch.setattr(sweep, "run_experiment", lambda *_, **__: ended)
    with pytest.raises(Interrupted, match="by the user"):
        sweep.sweep(tmp_path, 4, 1, sweep.TINY)
