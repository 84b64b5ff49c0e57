"""One thing is planted in each modelled run, and the diagnosis must name it; in healthy runs it must name nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from planted import HEALTHY, PLANTS, Plant, Tables, run_modelled


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS.keys())
def test_what_was_planted_is_the_first_or_the_second_finding(plant: Plant, tmp_path: Path) -> None:
    bound = run_modelled(plant.tables, tmp_path / "run").bound
    assert bound is not None
    first = "rate asked" if bound.name == "nothing" else bound.name
    assert plant.names & {first, *(one.name for one in bound.others[:1])}, bound
    assert bound.evidence
    assert all(any(letter.isdigit() for letter in line) for line in bound.evidence[:1]), "in figures of this run"


@pytest.mark.parametrize("tables", HEALTHY.values(), ids=HEALTHY.keys())
def test_nothing_is_found_in_a_healthy_run(tables: Tables, tmp_path: Path) -> None:
    bound = run_modelled(tables, tmp_path / "run").bound
    assert bound is not None
    assert bound.name == ("nothing" if tables["workload"].get("rate_per_s") else "CPU")
    assert bound.others == []
    assert bound.interruptions_text == ""
