from __future__ import annotations

from pathlib import Path
from typing import Any

import synthetic

from flatwater.report.sentences import Badge, badges, headline, modelled_text, notices
from flatwater.results import CellSummary, Published, Result, open_result


def texts(result: Result) -> str:
    return "\n".join(f"{notice.level}: {notice.text}" for notice in notices(result))


def one_cell(path: Path, run: str = "complete", **more: Any) -> Result:
    result = synthetic.create(path, [({}, 0)], status=run)
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 400.0, 600, **more)])
    return open_result(path)


def test_one_cell_speaks_for_itself(single: Result) -> None:
    assert headline(single).startswith("427.1 MiB/s with dips: every 225 s")


def test_a_verdict_without_words(tmp_path: Path) -> None:
    assert headline(one_cell(tmp_path / "r", verdict_text="")) == "400 ± 4.8 MiB/s, flat."


def test_a_sweep_is_summed_up(sweep: Result) -> None:
    assert headline(sweep) == (
        "Of 10 finished cells, 5 flat, 4 with dips, 1 not steady: "
        "the highest mean is 1,027 MiB/s (fill 0.2, threads 16), "
        "the lowest 409.1 MiB/s (fill 1, threads 8), a ratio of 2.51 (95 % CI 2.47 to 2.55). "
        "Against what was published: mean -1.9 % to -0.4 % (5 figures)."
    )


def test_all_alike(tmp_path: Path) -> None:
    result = synthetic.create(tmp_path / "r", [({"a.b": 1}, 0), ({"a.b": 2}, 0)])
    synthetic.write_summaries(result, [synthetic.summary(i, {"a.b": i + 1}, 400.0, 600) for i in (0, 1)])
    assert headline(open_result(tmp_path / "r")) == "All 2 finished cells are flat: both at 400 ± 4.8 MiB/s."


def test_no_difference_is_not_called_one(tmp_path: Path) -> None:
    result = synthetic.create(tmp_path / "r", [({"a.b": 1}, 0), ({"a.b": 2}, 0)])
    cells = [synthetic.summary(i, {"a.b": i + 1}, 400.0 + i, 600) for i in (0, 1)]
    synthetic.write_summaries(result, cells)
    assert headline(open_result(tmp_path / "r")) == (
        "All 2 finished cells are flat: the highest mean is 401 MiB/s (b 2), the lowest 400 MiB/s (b 1), "
        "and no difference is shown (ratio 0.99 to 1.02, 95 % CI)."
    )


def test_at_most_two_kinds_of_published_figures_are_in_the_headline(tmp_path: Path) -> None:
    metrics = ("mean", "latency_us.p95", "latency_us.p99", "flatness")
    result = synthetic.create(tmp_path / "r", [({"a.b": 1}, 0), ({"a.b": 2}, 0)])
    cells = []
    for place in (0, 1):
        figures = [Published(value=1, unit="", metric=name, ours=2, error=1.0) for name in metrics]
        cells.append(
            synthetic.summary(place, {"a.b": place + 1}, 400.0, 600, published=figures[0], published_others=figures[1:])
        )
    synthetic.write_summaries(result, cells)
    told = headline(open_result(tmp_path / "r"))
    assert told.endswith(", 2 more in the table.")
    assert told.count(". ") == 1


def test_nothing_finished(unfinished_path: Path) -> None:
    result = open_result(unfinished_path)
    assert headline(result) == "No cell of this run finished, so nothing was judged."
    assert texts(result).startswith("bad: This run is still going on, or was killed")
    assert "2 of 2 cells did not finish" in texts(result)


def test_what_must_be_known_is_said(single: Result, sweep: Result) -> None:
    assert texts(single).splitlines() == [
        "warning: Resumed after a kill: the seam is marked in the charts.",
        "warning: The machine was noisy: others used 1.3 cores on average; stop them, or repeat the run.",
    ]
    assert texts(sweep).splitlines() == [
        "warning: Never became steady (fill 0.6, threads 8): the mean is of a moving target, not a sustained rate.",
        "warning: The processors were saturated. (fill 0.6, threads 8)",
    ]


def test_failures_and_few_samples(tmp_path: Path) -> None:
    found = texts(one_cell(tmp_path / "r", "failed", status="failed", error="no space left", samples=5, mean=None))
    assert "bad: failed: no space left" in found
    assert "warning: Fewer than 30 intervals were measured" in found
    assert "This run failed" in found


def test_a_warning_of_many_cells_is_said_once(tmp_path: Path) -> None:
    plans: list[tuple[dict[str, Any], int]] = [({"a.b": i}, 0) for i in range(9)]
    result = synthetic.create(tmp_path / "r", plans)
    cells: list[CellSummary] = [
        synthetic.summary(i, {"a.b": i}, 1.0, 600, warnings=[f"Noisy: {i}.5 %."]) for i in range(9)
    ]
    synthetic.write_summaries(result, cells)
    assert texts(open_result(tmp_path / "r")) == "warning: Noisy: 0.5 %. (b 0; b 1; b 2; b 3 and 5 more)"


def test_an_injected_fault_is_said_once_and_first(tmp_path: Path) -> None:
    experiment = 'name = "x"\n[storage.fault]\nkind = "stall"\n'
    result = synthetic.create(tmp_path / "r", [({}, 0)], experiment=experiment)
    warnings = ["a fault was injected on purpose: stall", "stolen time"]
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 400.0, 600, warnings=warnings)])
    assert texts(open_result(tmp_path / "r")).splitlines() == [
        "bad: A fault was injected on purpose: stall.",
        "warning: Stolen time",
    ]


def test_a_fault_of_a_cell_that_never_finished_has_its_kind_too(tmp_path: Path) -> None:
    plans: list[tuple[dict[str, Any], int]] = [({"storage.fault.kind": kind}, 0) for kind in ("stall", "full")]
    result = synthetic.create(tmp_path / "r", plans, status="running")
    assert texts(result).splitlines()[1:] == [
        "bad: A fault was injected on purpose: stall (kind stall).",
        "bad: A fault was injected on purpose: full (kind full).",
    ]


def test_published_figures_by_metric_and_repeats_as_one(tmp_path: Path) -> None:
    plans: list[tuple[dict[str, Any], int]] = [({"a.b": value}, repeat) for value in (1, 2) for repeat in (0, 1)]
    result = synthetic.create(tmp_path / "r", plans)

    def figure(metric: str, error: float) -> Published:
        return Published(value=100, unit="", metric=metric, ours=100 * (1 + error), error=error)

    cells = [
        synthetic.summary(
            index,
            values,
            400.0,
            600,
            repeat=repeat,
            published=figure("mean", -0.5 + 0.1 * index),
            published_others=[figure("latency_us.p95", 6.0)] if values["a.b"] == 1 else [],
        )
        for index, (values, repeat) in enumerate(plans)
    ]
    synthetic.write_summaries(result, cells)
    assert headline(open_result(tmp_path / "r")).endswith(
        " Against what was published: mean -45.0 % to -25.0 % (2 figures), latency p95 +600.0 %."
    )


def test_layers(single: Result, unfinished_path: Path, tmp_path: Path) -> None:
    assert [(badge.layer, badge.kind, badge.text) for badge in badges(single)] == [
        ("workload", "real", "real"),
        ("database", "none", "none"),
        ("cache", "none", "none"),
        ("storage", "real", "real: /mnt/card (nvme0n1)"),
    ]
    layers = {"workload": "real", "database": "none", "cache": "none", "storage": "modelled", "device": "tachion-400"}
    assert badges(one_cell(tmp_path / "r", layers=layers))[3] == Badge("storage", "modelled", "modelled: tachion-400")
    asked = badges(open_result(unfinished_path))
    assert [(badge.kind, badge.text) for badge in asked] == [
        ("unknown", "fileio"), ("none", "none"), ("none", "none"), ("unknown", "file /mnt/card/flatwater.dat"),
    ]  # fmt: skip


def test_what_was_modelled_is_said(single: Result, tmp_path: Path) -> None:
    assert modelled_text(single) == ""
    both = {"workload": "modelled", "storage": "modelled", "device": "A card (devices/card.toml)"}
    told = modelled_text(one_cell(tmp_path / "a", layers=both))
    assert told == "Computed, not measured: workload and storage are models, of A card (devices/card.toml)."
    served = {"workload": "real", "storage": "modelled", "device": "A card (devices/card.toml)"}
    told = modelled_text(one_cell(tmp_path / "b", layers=served))
    assert told == "Computed, not measured: storage is a model, of A card (devices/card.toml)."
