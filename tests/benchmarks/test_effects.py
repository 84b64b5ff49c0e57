"""The table of effects: what is asked of each server, the arithmetic, and the page."""

from __future__ import annotations

import argparse
import dataclasses
import math
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from benchmarks.effects import cells
from benchmarks.effects.__main__ import FULL, _joined, main
from benchmarks.effects.cells import Outcome
from benchmarks.effects.judge import Effect, effects, goals, interval
from benchmarks.effects.matrix import base, changes
from benchmarks.effects.page import Measured, page
from benchmarks.effects.picture import scatter
from benchmarks.effects.plan import UNCHANGED, Plan, folder_of
from benchmarks.effects.processors import Shared, cpu_times
from benchmarks.effects.storages import NAMES, find_storage
from benchmarks.options import measure
from benchmarks.servers.registry import SERVERS, Server

from flatwater.errors import UserError
from flatwater.experiment import cell_at, make_experiment
from flatwater.experiment.database.generation import generation_of
from flatwater.report.images import export_figure
from flatwater.server import find_server


def plan_of(server: Server, storage: str = "card") -> Plan:
    flavour, version = server.name.split("-")
    generation = generation_of(flavour, version)
    ground = find_storage(storage)
    unchanged = {**base(server, generation), **ground.unchanged}
    every = (*changes(server, generation), *ground.changes)
    return Plan(server.name, server.title, generation, storage, FULL, unchanged, every)


def outcome(throughput: float, verdict: str = "flat", read: float = 2.0, written: float = 3.0) -> Outcome:
    return Outcome(throughput, read, written, 10.0, None, None, verdict)


def effect(measured: float, predicted: float, half: float = 0.01, **model: float) -> Effect:
    low, high = measured - half, measured + half
    return Effect("a change", measured, low, high, predicted, outcome(1), outcome(1, **model))


@pytest.mark.parametrize("storage", NAMES)
@pytest.mark.parametrize("server", SERVERS, ids=lambda one: one.name)
def test_each_change_is_one_of_the_base_and_the_files_are_well(server: Server, storage: str, tmp_path: Path) -> None:
    plan, ground = plan_of(server, storage), find_storage(storage)
    assert len(plan.changes) >= 9 and len({one.name for one in plan.changes}) == len(plan.changes)
    assert len({folder_of(one, 1) for one in (UNCHANGED, *plan.changes)}) == 1 + len(plan.changes)
    for change in plan.changes:
        assert change.fields and all(plan.unchanged[name] != value for name, value in change.fields.items())
    model = {"kind": "innodb-model", "generation": plan.generation}
    swept = make_experiment(plan.sweep(plan.changes, model, ground.modelled))
    for number, change in enumerate((UNCHANGED, *plan.changes)):
        real = make_experiment(plan.cell(change, 1, {"kind": "server"}, ground.real(str(tmp_path))))
        modelled = cell_at(swept, number).experiment
        assert modelled.workload == real.workload, "both do the same work"
        assert modelled.database.settings == real.database.settings
        if ground.is_emulated:
            same = {"device", "parameters", "capacity_scale", "occupied_pct"}
            dumped = [one.storage.model_dump(include=same) for one in (modelled, real)]
            assert dumped[0] == dumped[1], "on the same device, in the same state"
    assert Plan.from_json(plan.to_json()) == plan, "it is kept as it is"


def test_every_cell_is_the_base_with_one_change() -> None:
    plan = plan_of(SERVERS[-1])
    swept = plan.sweep(plan.changes, {"kind": "innodb-model"}, find_storage("card").modelled)["sweep"]["zip"]
    for field, values in swept.items():
        assert values == [
            plan.unchanged[field],
            *(one.fields.get(field, plan.unchanged[field]) for one in plan.changes),
        ]
    assert swept.keys() == {field for one in plan.changes for field in one.fields}


def test_a_storage_brings_its_own_changes() -> None:
    names = {one: [change.name for change in find_storage(one).changes] for one in NAMES}
    assert names == {
        "card": ["card full", "card half full"],
        "array": ["array without battery"],
        "cache": ["no cache", "cache write-through"],
        "disk": [],
    }


def test_the_changes_of_several_nights_are_one_table(tmp_path: Path) -> None:
    plan, file = plan_of(SERVERS[0]), tmp_path / "plan.json"
    first, second = (dataclasses.replace(plan, changes=plan.changes[at : at + 2]) for at in (0, 1))
    assert _joined(first, file) == first
    file.write_text(first.to_json())
    assert {one.name for one in _joined(second, file).changes} == {one.name for one in plan.changes[:3]}
    longer = dataclasses.replace(second, scale=dataclasses.replace(FULL, rounds=FULL.rounds + 1))
    assert _joined(longer, file).scale.rounds == FULL.rounds + 1
    other = dataclasses.replace(second, scale=dataclasses.replace(FULL, warmup_s=FULL.warmup_s + 1))
    with pytest.raises(UserError, match="of another base or of another length"):
        _joined(other, file)


def test_methods_of_adaptive_checkpoint_are_asked_of_the_server_that_has_them() -> None:
    having = [one.name for one in SERVERS if any("adaptive checkpoint" in it.name for it in plan_of(one).changes)]
    assert having == ["percona-5.1"]


def test_an_effect_is_of_the_rounds_in_which_both_ended() -> None:
    real = [[outcome(100), outcome(200), None], [outcome(110), outcome(260), outcome(500)]]
    model = [[outcome(1000)] * 3, [outcome(1250)] * 3]
    (one,) = effects(["a change"], real, [0.03, 0.04], model)
    assert one.measured == pytest.approx(math.sqrt(1.1 * 1.3)) and one.predicted == pytest.approx(1.25)
    # Of two rounds: the noise of both runs, 3 and 4 % are 5 %.
    assert one.high == pytest.approx(one.measured * math.exp(1.96 * 0.05 / math.sqrt(2))) and one.is_outside_noise
    assert effects(["a change"], [[None], [outcome(1)]], [0.1, 0.1], [[outcome(1)], [outcome(1)]]) == []


def test_three_rounds_tell_by_themselves_how_far_they_scatter() -> None:
    logs = (0.1, 0.2, 0.3)
    low, high = interval([math.exp(one) for one in logs], noise=0.0)
    # Student's t is 4.303 with two degrees of freedom (any table of it), and the deviation of these is 0.1.
    half = 4.303 * 0.1 / math.sqrt(3)
    assert (math.log(low), math.log(high)) == (pytest.approx(0.2 - half, rel=1e-3), pytest.approx(0.2 + half, rel=1e-3))
    assert interval([1.5], 0.1) == (pytest.approx(1.5 * math.exp(-0.196)), pytest.approx(1.5 * math.exp(0.196)))


def test_processor_times_are_those_of_the_unchanged_server() -> None:
    costly, cheap = (dataclasses.replace(outcome(1), cpu_us=cpu_us) for cpu_us in (4000.0, 2000.0))
    assert cpu_times([costly, None, cheap], [cheap]) == pytest.approx(1.5)
    assert cpu_times([None], [cheap]) == cpu_times([outcome(1)], [cheap]) == cpu_times([costly], [None]) == 1


@pytest.mark.parametrize("server", SERVERS, ids=lambda one: one.name)
def test_the_model_s_processors_do_the_work_of_what_runs_beside_the_server(server: Server) -> None:
    generation = plan_of(server).generation
    alone, beside = (Shared(2.0, *extra).table(generation) for extra in ((0.0, 0.0), (10.0, 20.0)))
    more = {name: beside[name] - alone[name] for name in alone}
    assert more == pytest.approx({"statement_us": 10, "read_us": 0, "write_us": 0, "request_us": 20})
    assert alone == pytest.approx({name: 2 * us for name, us in Shared(1.0, 0, 0).table(generation).items()})
    fields = {"kind": "innodb-model", "generation": generation, "cpu": beside}
    make_experiment(plan_of(server).sweep([], fields, find_storage("card").modelled))


def test_the_goals_count_what_they_say() -> None:
    found = [effect(1.5, 1.4), effect(1.5, 0.9, read=3.0), effect(1.0, 0.9), effect(0.5, 0.8, verdict="dips")]
    signs, median, ninth, verdicts, pages = goals(found)
    assert (signs.value, signs.count) == (pytest.approx(2 / 3), 3), "one is in the noise"
    assert median.value is not None and 0.1 < median.value < 0.5
    assert ninth.value == pytest.approx(0.5) and verdicts.value == pytest.approx(0.75)
    assert (pages.value, pages.count) == (pytest.approx(7 / 8), 8)
    assert all(one.verdict == "**not met**" for one in (signs, median, ninth, verdicts, pages))
    assert {one.verdict for one in goals([])} == {"nothing to judge"}
    assert {one.verdict for one in goals([effect(1.5, 1.5)])} == {"met"}


def test_the_page() -> None:
    text = page(
        [Measured("A server", [("model", "mysql-8.0")], [effect(1.5, 0.9), effect(1.0, 1.0)], ["cell 3: died"])]
    )
    assert "| a change | 1.50 | 1.49 to 1.51 | 0.90 | **wrong** |" in text and "| in noise |" in text
    assert "- cell 3: died" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {3, 6, 12}, "no cell of any table has a bar in it"


def test_two_rounds_tell_how_often_a_server_agrees_with_itself() -> None:
    rounds = [[outcome(100, "flat"), outcome(100, "dips")], [outcome(150, "dips"), outcome(150, "dips")]]
    (found,) = effects(["a change"], rounds, [0.02, 0.02], [[outcome(100)], [outcome(150, "dips")]])
    assert list(found.own_verdicts()) == [True]
    assert "| the server's own verdict, of another round | 1.00 |  | 1 | shown only |" in page(
        [Measured("A", [], [found], [])]
    )
    (once,) = effects(["a change"], [one[:1] for one in rounds], [0.02, 0.02], [[outcome(100)], [outcome(150)]])
    assert "another round" not in page([Measured("A", [], [once], [])])


def test_the_scatter_plot(tmp_path: Path) -> None:
    wide = Effect("in noise", 1.1, 0.5, 2.4, 1.2, outcome(1), outcome(1))
    once = Effect("once", 0.5, 0.4, 0.6, 1.2, outcome(1), outcome(1))
    drawn = export_figure(scatter([("A server", [effect(1.5, 1.6), wide]), ("Another", [once])]), tmp_path, "svg")
    text = drawn.read_text()
    assert drawn.name == "effects.svg" and all(title in text for title in ("A server", "Another", "measured: changed"))
    assert ">once<" in text and ">in noise<" not in text, "only the worst have names"
    points = [trace for trace in scatter([("A server", [effect(1.5, 1.6), wide])]).data if trace["name"] == "A server"]
    assert points[0]["marker"]["symbol"] == ["circle", "circle-open"]
    told = page([Measured("A server", [], [once], [])], "pictures/effects.svg")
    assert "](pictures/effects.svg)" in told
    assert "pictures" not in page([Measured("A server", [], [once], [])])
    assert scatter([]).data, "no server at all"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-server"], "there is no server no-server"),
        (["mariadb-10.11", "--dir", "/no/folder"], "is no directory"),
        (["mariadb-10.11", "--only", "nothing like it"], "no row has 'nothing like it'"),
        (["mariadb-10.11", "--only", "adaptive checkpoint"], "no change of mariadb-10.11"),
        (["mariadb-10.11", "--changes", "doublewrite off,warp"], "no change of mariadb-10.11 is named 'warp'"),
    ],
)
def test_bad_arguments(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_both_sides_run(as_root: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        find_server(None)
    except UserError as error:
        pytest.skip(str(error))
    assert main(["mariadb-10.11", "--quick", "--only", "doublewrite", "--dir", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "| doublewrite off | " in told.out, told.err


def test_the_page_shows_where_the_cards_differ() -> None:
    aged = dataclasses.replace(outcome(100.0), write_amplification=6.44)
    fresh = dataclasses.replace(aged, write_amplification=1.0)
    [effect] = effects(("pool",), [[aged], [aged]], [0.0, 0.0], [[fresh], [fresh]])
    assert "| 6.4, 1.0 |" in page([Measured("a server", [], [effect], [])])


def test_a_run_that_is_interrupted_ends_cleanly(tmp_path: Path) -> None:
    ready, ended = tmp_path / "ready", tmp_path / "ended"
    program = f"""
import pathlib, signal, sys, time
def end(*_):
    time.sleep(0.5)
    pathlib.Path({str(ended)!r}).touch()
    sys.exit(130)
signal.signal(signal.SIGINT, end)
pathlib.Path({str(ready)!r}).touch()
signal.pause()
"""

    main_thread = threading.get_ident()

    def interrupt() -> None:
        while not ready.exists():
            time.sleep(0.01)
        signal.pthread_kill(main_thread, signal.SIGTERM)

    def run(_: argparse.Namespace) -> str:
        thread = threading.Thread(target=interrupt)
        thread.start()
        code = cells._wait_for([sys.executable, "-c", program])
        thread.join()
        assert code == 130
        raise KeyboardInterrupt

    assert measure(lambda _: argparse.Namespace(), run, []) == 130
    assert ended.exists()
