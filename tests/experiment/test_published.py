from __future__ import annotations

import tomllib

import pytest
from pydantic import ValidationError

from flatwater.experiment import Experiment, PublishedFigure, iter_cells, make_experiment, published_for, to_toml
from flatwater.experiment.problem import ProblemsError
from flatwater.experiment.validation import validate

TEXT = """
[workload]
mode = "rndrd"
engine = "io_uring"
unit = "MiB/s"

[sweep]
"workload.block_size" = ["4KiB", "16KiB"]
[sweep.zip]
"workload.threads" = [1, 2]
"workload.queue_depth" = [64, 32]
"""


def experiment(*sets: str, more: str = "") -> Experiment:
    figures = "".join(
        f'[[published]]\nset = {{ {set} }}\nvalue = {number}\nunit = "MiB/s"\nsource = "s"\n{more}\n'
        for number, set in enumerate(sets)
    )
    return make_experiment(tomllib.loads(TEXT + figures))


def test_figures_stand_beside_the_cells_that_have_their_set() -> None:
    e = experiment('"workload.block_size" = 16384', "workload.threads = 2", "", '"workload.mode" = "randread"')
    found = [[figure.value for figure in published_for(e, cell.set)] for cell in iter_cells(e)]
    assert found == [[2, 3], [1, 2, 3], [0, 2, 3], [0, 1, 2, 3]]
    assert [[figure.value for figure in cell.experiment.published] for cell in iter_cells(e)] == found


def test_nested_and_quoted_names_are_the_same() -> None:
    e = experiment('workload = { threads = 2, block_size = "4K" }')
    assert e.published[0].set == {"workload.threads": 2, "workload.block_size": "4K"}


@pytest.mark.parametrize(
    "cells",
    [
        "workload.threads = 3",
        "workload.threads = 1, workload.queue_depth = 32",  # both there, never together
        "workload.files = 2",
        '"workload.block_size" = "8KiB"',
    ],
)
def test_a_figure_without_a_cell_is_refused(cells: str) -> None:
    with pytest.raises(ProblemsError, match="matches no cell"):
        experiment(cells)


@pytest.mark.parametrize("metric", ["mean", "flatness", "storage.write_amplification", "cache.hit_ratio"])
def test_metrics(metric: str) -> None:
    assert experiment("", more=f'metric = "{metric}"').published[0].metric == metric


@pytest.mark.parametrize("metric", ["men", "latency", "nowhere.x", ""])
def test_what_is_no_metric(metric: str) -> None:
    with pytest.raises(ProblemsError, match="is not a metric"):
        experiment("", more=f'metric = "{metric}"')


def test_units_must_be_comparable() -> None:
    with pytest.raises(ProblemsError, match="latencies are in us"):
        experiment("", more='metric = "latency_us.p95"')
    with pytest.raises(ProblemsError, match="cannot be compared"):
        make_experiment(tomllib.loads(TEXT + '[[published]]\nvalue = 1\nunit = "IOPS"\nsource = "s"'))


def test_figures_of_a_server_s_settings() -> None:
    text = """
[workload]
kind = "tpcc"
[database]
kind = "server"
settings = { innodb_io_capacity = 20000 }
[sweep]
"database.settings.innodb_doublewrite" = [0, 1]
"""
    figures = "".join(
        f'[[published]]\nset = {{ {set} }}\nvalue = {number}\nunit = "NOTPM"\nsource = "s"\n'
        for number, set in enumerate(
            (
                '"database.settings.innodb_doublewrite" = 1',
                "database = { settings = { innodb-doublewrite = 0, innodb_io_capacity = 20000 } }",
                '"workload.warehouses" = 10',
            )
        )
    )
    e = make_experiment(tomllib.loads(text + figures))
    found = [[figure.value for figure in published_for(e, cell.set)] for cell in iter_cells(e)]
    assert found == [[1, 2], [0, 2]]


def test_a_range_has_no_error_within_and_one_to_its_nearer_end_outside() -> None:
    figure = PublishedFigure(value=18.0, up_to=45.0, unit="min", source="s")
    assert [figure.error(ours) for ours in (9.0, 18.0, 30.0, 45.0, 54.0)] == pytest.approx([-0.5, 0, 0, 0, 0.2])
    assert PublishedFigure(value=20.0, unit="min", source="s").error(25.0) == pytest.approx(0.25)


def test_a_range_survives_being_written_and_goes_up() -> None:
    e = experiment("", more="up_to = 7.0")
    assert make_experiment(tomllib.loads(to_toml(e))).published[0].up_to == 7.0
    with pytest.raises(ProblemsError, match="up_to"):
        experiment("", more="up_to = -1.0")


RATIO = '[[published]]\nvalue = 4\nunit = "x"\nsource = "s"\n'


def ratio(set: str, relative_to: str) -> Experiment:  # noqa: A002 (the file's own word)
    return make_experiment(tomllib.loads(f"{TEXT}{RATIO}set = {{ {set} }}\nrelative_to = {{ {relative_to} }}\n"))


def test_a_ratio_names_another_cell_and_survives_being_written() -> None:
    e = ratio("workload.threads = 2", "workload.threads = 1, workload.block_size = 16384")
    e = make_experiment(tomllib.loads(to_toml(e)))
    assert e.published[0].relative_to == {"workload.threads": 1, "workload.block_size": 16384}
    assert [len(published_for(e, cell.set)) for cell in iter_cells(e)] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("set", "relative_to", "why"),
    [
        ("workload.threads = 2", "workload.threads = 1", "matches 2 cells"),
        ("workload.threads = 2", "workload.threads = 3", "matches no cell"),
        ("workload.threads = 2", "workload.thread = 1", "no such field"),
        ("", 'workload.threads = 1, workload.block_size = "4KiB"', "the very cell"),
    ],
)
def test_a_ratio_to_no_other_cell_is_refused(set: str, relative_to: str, why: str) -> None:  # noqa: A002
    with pytest.raises(ProblemsError, match=why):
        ratio(set, relative_to)


def test_a_ratio_is_in_x_and_nothing_else_is() -> None:
    with pytest.raises(ProblemsError, match="ratio to another cell"):
        experiment("", more='relative_to = { "workload.threads" = 1 }')
    with pytest.raises(ProblemsError, match="is the unit of a ratio"):
        make_experiment(tomllib.loads(TEXT + RATIO))


def test_an_override_takes_the_ratios_of_lost_cells_along() -> None:
    ratio = "set = { workload.threads = 2 }\nrelative_to = { workload.threads = 1, workload.block_size = '4K' }\n"
    text = f"{TEXT}{RATIO}{ratio}"
    data = tomllib.loads(text)
    del data["sweep"]["zip"]
    assert (left := validate(data, overridden=True).experiment) is not None and left.published == []


def test_of_a_lower_bound_nothing_above_it_is_an_error() -> None:
    figure = PublishedFigure(value=1000.0, at_least=True, unit="MiB/s", source="s")
    assert [figure.error(ours) for ours in (500.0, 1000.0, 9000.0)] == pytest.approx([-0.5, 0, 0])
    with pytest.raises(ValidationError, match="exclude each other"):
        PublishedFigure(value=1.0, up_to=2.0, at_least=True, unit="s", source="s")


def test_about_allows_more() -> None:
    plain, about = (experiment("", more=more).published[0] for more in ("", "about = true"))
    assert (plain.tolerance, about.tolerance) == (0.15, 0.25)
    assert experiment("", more="about = true\nwithin = 0.5").published[0].tolerance == 0.5
    figure = PublishedFigure(value=100, unit="s", source="s")
    assert figure.agrees(115) and figure.agrees(85) and not figure.agrees(115.1) and not figure.agrees(84.9)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ('standing = "fitted"', "is missing"),
        ('standing = "follows"', "is missing"),
        ('by = "the link"', "is the reason of a standing"),
        ("fitted = true", "it is a standing"),
        ('standing = "measured"', "is not a choice"),
    ],
)
def test_a_standing_has_its_reason(more: str, what: str) -> None:
    with pytest.raises(ProblemsError, match=what):
        experiment("", more=more)
    told = experiment("", more='standing = "fitted"\nby = "the link"').published[0]
    assert (told.standing, told.by) == ("fitted", "the link")
