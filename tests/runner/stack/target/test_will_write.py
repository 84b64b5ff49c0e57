"""Other people's data outlast every option of the format: each field of a workload on files and of its storage, with
every kind of value, against a file that flatwater did not make and a device that somebody mounted.

The fields come from the schema, so that a new one is tried as soon as it is there.
"""

from __future__ import annotations

import hashlib
import subprocess
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import MIB, Lab
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from flatwater.errors import FlatwaterError
from flatwater.experiment import load
from flatwater.experiment.storage import FileStorage
from flatwater.experiment.workload.fileio import Fileio
from flatwater.runner.stack.target.opening import open_target
from flatwater.runner.stack.target.plans import plan_of_target

#: What numbers are tried, of which each field takes those that it may have.
NUMBERS = (0, 1, 0.5, 50, 65536)
#: And where a number is a time: the tests have none to lose.
TIMES_S = (0.1, 1)
#: Rounds to steadiness that take no time.
SHORT_ROUNDS = {"round_s": 0.1, "rounds_max": 5, "precondition_passes": 0}
#: Fields that say which data it is, and those that say that they are not needed.
SETTLED = {"kind", "path", "mode", "trace", "overwrite", "duration_s"}


def values(annotation: Any, name: str = "") -> Iterator[Any]:
    """Values for a field of some type, as they stand in a file."""
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        yield from typing.get_args(annotation)
    elif origin in (typing.Union, types.UnionType):
        for one in typing.get_args(annotation):
            yield from values(one, name)
    elif origin is typing.Annotated:
        yield from values(typing.get_args(annotation)[0], name)
    elif annotation is bool:
        yield from (True, False)
    elif annotation in (int, float):
        yield from TIMES_S if name.endswith("_s") else NUMBERS
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {name: list(values(of.annotation, name)) for name, of in annotation.model_fields.items()}
        first = {name: choices[0] for name, choices in fields.items() if choices}
        for name, choices in fields.items():
            yield from ({**first, name: choice} for choice in choices)


def options(model: type[BaseModel]) -> list[tuple[str, Any]]:
    """Every field with every value that is tried."""
    of: dict[str, FieldInfo] = model.model_fields
    return [
        (name, value) for name, field in of.items() if name not in SETTLED for value in values(field.annotation, name)
    ]


def modes() -> list[str]:
    return list(values(Fileio.model_fields["mode"].annotation))


OPTIONS = [("workload", *one) for one in options(Fileio)] + [("storage", *one) for one in options(FileStorage)]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def attempt(lab: Lab, path: Path, mode: str, layer: str, name: str, value: Any, **storage: Any) -> int:
    """A run of a moment with one option; the lab sees to it that it ends in one line at most."""
    layers: dict[str, dict[str, Any]] = {
        "workload": {"mode": mode, "duration_s": 0.1},
        "storage": {"path": str(path), "size": 4 * MIB, **storage},
    }
    layers[layer][name] = value
    layers["workload"] |= {"queue_depth": {"engine": "io_uring"}, "steady_state": SHORT_ROUNDS}.get(name, {})
    return lab.run(lab.write(layers["workload"], layers["storage"])).code


def test_every_field_is_tried() -> None:
    tried = {(layer, name) for layer, name, _ in OPTIONS}
    for layer, model in (("workload", Fileio), ("storage", FileStorage)):
        assert {name for name in model.model_fields if (layer, name) not in tried} <= SETTLED, layer


@pytest.fixture
def diary(lab: Lab) -> Path:
    """Somebody's file, of which a run uses half."""
    path = lab.folder / "diary"
    path.write_bytes(bytes(range(256)) * (8 * MIB // 256))
    return path


@pytest.mark.parametrize("mode", modes())
def test_a_foreign_file_outlasts_every_mode(lab: Lab, diary: Path, mode: str) -> None:
    before, codes = digest(diary), set()
    for passes in (0, 1):
        codes.add(attempt(lab, diary, mode, "workload", "precondition_passes", passes))
        assert digest(diary) == before
    assert 2 in codes and (0 in codes) == (mode in ("rndrd", "seqrd"))
    assert [path.name for path in lab.folder.iterdir() if path.name.startswith("diary")] == ["diary"]


@pytest.mark.parametrize(("layer", "name"), sorted({(layer, name) for layer, name, _ in OPTIONS}))
def test_a_foreign_file_outlasts_every_option(lab: Lab, diary: Path, layer: str, name: str) -> None:
    before, times, codes = digest(diary), diary.stat(), []
    for value in [value for own, field, value in OPTIONS if (own, field) == (layer, name)]:
        codes.append(attempt(lab, diary, "rndrd", layer, name, value))
        assert digest(diary) == before, f"{layer}.{name} = {value!r}"
        assert diary.stat().st_mtime_ns == times.st_mtime_ns, f"{layer}.{name} = {value!r}"
    assert set(codes) & {0, 1}, "at least one value let it run"


def test_no_option_lets_a_mounted_device_be_written(
    lab: Lab, device: Callable[..., Path], mount: Callable[..., Path]
) -> None:
    """Even where its user says `overwrite`: the check refuses it, or the engine gets no permit."""
    path = device(16, "ext4")
    mount(path, "-o", "ro")
    granted = refused = 0
    for layer, name, value in OPTIONS:
        for mode in ("rndrd", "seqrd"):
            layers: dict[str, dict[str, Any]] = {
                "workload": {"mode": mode, "duration_s": 0.1},
                "storage": {"path": str(path), "size": 4 * MIB, "overwrite": True},
            }
            layers[layer][name] = value
            try:
                cell = load(lab.write(layers["workload"], layers["storage"]))
                target = open_target(cell)
            except FlatwaterError:
                refused += 1
                continue
            target.grant()
            assert target.permit is None, f"{layer}.{name} = {value!r} in {mode}"
            assert plan_of_target(cell, target, 1).permit is None
            target.release()
            granted += 1
    assert granted > 50 and refused > 10


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "name"), sorted({(layer, name) for layer, name, _ in OPTIONS}))
def test_a_mounted_device_outlasts_every_option(
    lab: Lab, device: Callable[..., Path], mount: Callable[..., Path], layer: str, name: str
) -> None:
    path = device(16, "ext4")
    place = mount(path, "-o", "ro")
    before = digest(path)
    for value in [value for own, field, value in OPTIONS if (own, field) == (layer, name)]:
        attempt(lab, path, "rndrd", layer, name, value, overwrite=True)
        assert digest(path) == before, f"{layer}.{name} = {value!r}"
    assert place.is_mount()


@pytest.mark.parametrize("asked", [{"precondition_passes": 1}, {"verify": True}, {"mode": "seqwr"}])
def test_no_member_of_a_mounted_btrfs_is_written(
    lab: Lab, device: Callable[..., Path], mount: Callable[..., Path], asked: dict[str, Any]
) -> None:
    members = [device(128), device(128)]
    subprocess.run(["mkfs.btrfs", "-q", "-f", *map(str, members)], check=True)
    subprocess.run(["btrfs", "device", "scan", *map(str, members)], check=True, capture_output=True)
    place = mount(members[0])
    (place / "letter").write_text("precious" * 1000)
    subprocess.run(["sync", "-f", place], check=True)
    for member in members:
        before = member.read_bytes()[MIB : 64 * MIB]
        ran = lab.go({"mode": "rndrd", **asked}, {"path": str(member), "overwrite": True, "size": 64 * MIB})
        assert (ran.code, "in use" in ran.error) == (2, True)
        assert member.read_bytes()[MIB : 64 * MIB] == before
    assert (place / "letter").read_text() == "precious" * 1000


def test_a_replayed_trace_that_writes_is_refused_a_foreign_file(lab: Lab, diary: Path) -> None:
    trace = lab.folder / "t.iolog"
    trace.write_text("fio version 3 iolog\n0 f add\n0 f open\n0 f read 0 4096\n1000 f write 4096 4096\n")
    before = digest(diary)
    file = lab.folder / "replay.toml"
    file.write_text(f'[workload]\nkind = "replay"\ntrace = "{trace}"\n[storage]\npath = "{diary}"\nsize = "4MiB"\n')
    ran = lab.run(file)
    assert ran.code == 2 and "was not made by flatwater" in ran.error
    assert digest(diary) == before
