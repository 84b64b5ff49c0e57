"""How four layers make a stack: who is asked in which order, and what is let go when a place does not last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flatwater._engine import Run
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment, FileStorage, PlannedCell, make_experiment
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter, SilentReporter
from flatwater.runner.resuming import Left
from flatwater.runner.stack.layers.cache import Cache
from flatwater.runner.stack.layers.database import Database
from flatwater.runner.stack.layers.layer import Ground, Layer
from flatwater.runner.stack.layers.storage import Storage, Used
from flatwater.runner.stack.layers.workload import Workload
from flatwater.runner.stack.stack import Stack

HERE, THERE = Ground(FileStorage(path="/here")), Ground(FileStorage(path="/there"), lasts=False)
EXPERIMENT = make_experiment({"workload": {"mode": "rndrd"}, "storage": {"path": "/here", "size": "1MiB"}})
PLAN = PlannedCell(index=0, repeat=0, set={}, seed=1, experiment=EXPERIMENT)


class Told(Layer):
    """Writes down what it is asked, in a list that all layers of a stack share."""

    name = ""

    def __init__(self, told: list[str]) -> None:
        self.told = told

    def turn_to(self, plan: PlannedCell) -> None:
        self.told.append(f"{self.name} turns")

    def faults(self) -> list[str]:
        return [self.name]

    def warnings(self) -> list[str]:
        return [self.name]

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        self.told.append(f"{self.name} ends" + (", to go on" if resumable else ""))

    def remove(self) -> None:
        self.told.append(f"{self.name} is removed")

    def release(self) -> None:
        self.told.append(f"{self.name} lets go")


class Disk(Told, Storage):
    name = "storage"
    given: Ground | None = HERE

    def place(self, used: Used | None) -> Path | None:
        return used.place if used is not None else None

    def text(self, used: Used | None) -> str:
        return "a disk"

    def ready(self) -> Ground | None:
        return self.given

    def make(self, reporter: Reporter, interrupt: Interrupt) -> Ground:
        self.told.append("storage makes a place")
        return THERE


class Card(Told, Cache):
    name = "cache"
    text = "a card"

    def ready(self) -> Ground | None:
        return None

    def make(self, reporter: Reporter, interrupt: Interrupt) -> Ground:
        self.told.append("cache makes a place")
        return THERE

    def take_up(self, left: Left) -> str | None:
        return "it was made anew"


class Base(Told, Database):
    name = "database"

    def stand_on(self, place: Ground) -> None:
        self.told.append(f"database on {place.files.path}")

    @property
    def used(self) -> Used | None:
        return Used(Path("/here/servers"), Path("/here/servers"))


class Work(Told, Workload[Any]):
    name = "workload"
    kept_in: Path | None = None

    def take_up(self, left: Left) -> str | None:
        self.told.append("workload takes up")
        return None

    def check_sweep(self, experiment: Experiment) -> None:
        self.told.append("workload checks the sweep")

    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None) -> None:
        self.kept_in = kept_in

    def plan(self, seed: int) -> Any:
        raise NotImplementedError

    def start(self, plan: Any, after: Run | None = None) -> Run:
        raise NotImplementedError


def stack_of(*, cache: bool = False) -> tuple[Stack, list[str]]:
    told: list[str] = []
    card = Card(told) if cache else None
    return Stack(EXPERIMENT, Disk(told), card, Base(told), Work(told)), told


def prepared(*, cache: bool) -> tuple[Stack, list[str]]:
    stack, told = stack_of(cache=cache)
    stack.turn_to(PLAN)
    stack.kept_in = Path("/result/cells/0000")
    stack.prepare(SilentReporter(), Interrupt())
    told.clear()
    return stack, told


def test_what_is_there_is_looked_at_before_anything_is_made() -> None:
    stack, told = stack_of()
    stack.turn_to(PLAN)
    assert told == ["storage turns", "database turns", "workload turns", "database on /here"]
    stack.check_sweep()
    assert told[-1] == "workload checks the sweep"
    told.clear()
    stack.prepare(SilentReporter(), Interrupt())
    assert told == [], "a place that is there is not made"


def test_what_is_made_for_each_cell_is_stood_on_when_it_is_there() -> None:
    stack, told = stack_of(cache=True)
    stack.turn_to(PLAN)
    stack.check_sweep()
    assert told == ["storage turns", "cache turns", "database turns", "workload turns"]
    stack.prepare(SilentReporter(), Interrupt())
    assert told[4:] == ["cache makes a place", "database on /there"], "and the cache stands on the storage, not they"


def test_a_cell_ends_from_the_top_down() -> None:
    stack, told = prepared(cache=False)
    stack.end_cell(Path("/logs"), resumable=True)
    assert told == ["workload ends, to go on", "database ends, to go on", "storage ends, to go on"]


def test_what_stood_on_a_place_that_goes_is_let_go_before_it() -> None:
    stack, told = prepared(cache=True)
    stack.end_cell(Path("/logs"), resumable=True)
    assert told == [
        "workload ends",
        "workload lets go",
        "database ends",
        "database lets go",
        "cache ends",
        "storage ends",
    ]


@pytest.mark.parametrize("layer", ["workload", "database"])
def test_a_layer_that_fails_to_end_keeps_no_other_from_it(layer: str) -> None:
    stack, told = prepared(cache=True)

    def fail(logs: Path, *, resumable: bool) -> None:
        raise FlatwaterError("it did not end well")

    getattr(stack, layer).end_cell = fail
    with pytest.raises(FlatwaterError, match="did not end well"):
        stack.end_cell(Path("/logs"))
    assert told[-2:] == ["cache ends", "storage ends"]


def test_a_later_run_goes_on_only_with_what_lasts() -> None:
    for cache, kept_in in ((False, Path("/result/cells/0000")), (True, None)):
        stack, _ = prepared(cache=cache)
        assert isinstance(stack.workload, Work) and stack.workload.kept_in == kept_in


def test_the_lowest_layer_that_cannot_be_taken_up_says_why() -> None:
    stack, told = prepared(cache=True)
    assert stack.take_up(Left()) == "it was made anew"
    assert "workload takes up" not in told, "it is not told of what is gone"
    stack, told = prepared(cache=False)
    assert stack.take_up(Left()) is None and told == ["workload takes up"]


def test_all_layers_have_their_say() -> None:
    stack, told = prepared(cache=True)
    assert stack.faults() == stack.warnings() == ["storage", "cache", "database", "workload"]
    assert (stack.device, stack.cache, stack.place) == ("a disk", "a card", Path("/here/servers"))
    stack.release()
    assert told == ["workload lets go", "database lets go", "cache lets go", "storage lets go"]


def test_a_place_that_cannot_be_used_is_refused_when_it_is_turned_to() -> None:
    stack, _ = stack_of()

    def refuse(place: Ground) -> None:
        raise UserError("somebody uses it", where="storage.path")

    stack.database.stand_on = refuse  # type: ignore[method-assign]
    with pytest.raises(UserError, match="somebody uses it"):
        stack.turn_to(PLAN)
