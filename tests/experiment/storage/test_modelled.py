"""Modelled storage: which device, how much of it, and what makes no sense of a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from flatwater.engine_json import as_data
from flatwater.errors import UserError
from flatwater.experiment import InvalidExperimentError, cell_at, load, to_toml
from flatwater.experiment.device import ArrayEvent
from flatwater.experiment.storage import KINDS, carried_over
from flatwater.experiment.storage.modelled import MemoryStorage, ModelledStorage, RaidStorage
from flatwater.plan.device import write_device
from flatwater.plan.device.raid import write_events
from flatwater.plan.device.ssd import Ssd

sys.path.insert(0, str(Path(__file__).parent))
from devices import MEMORY, appliance

FILE = """
[workload]
mode = "rndrd"
{workload}
[storage]
kind = "{kind}"
{storage}
{rest}
"""


@pytest.fixture
def box(tmp_path: Path) -> str:
    return appliance(tmp_path)


def write(folder: Path, storage: str, *, kind: str = "memory", workload: str = "", rest: str = "") -> Path:
    path = folder / "e.toml"
    path.write_text(FILE.format(kind=kind, storage=storage, workload=workload, rest=rest))
    return path


def told(path: Path, *overrides: str) -> list[str]:
    """What is wrong with it: each on one line, all of it before anything runs."""
    with pytest.raises(UserError) as caught:
        load(path, overrides)
    assert caught.value.exit_code == 2
    problems = caught.value.problems if isinstance(caught.value, InvalidExperimentError) else [caught.value]
    lines = [str(problem) for problem in problems]
    assert all("\n" not in line and len(line) < 400 for line in lines)
    return lines


def test_the_size_is_the_devices_own(tmp_path: Path, box: str) -> None:
    experiment = load(write(tmp_path, f'device = "{box}"\nfill = 0.5'))
    assert experiment.storage.used_bytes == experiment.size_per_file == 2**29
    assert experiment.in_virtual_time
    assert experiment.layers == {"workload": "modelled", "database": "none", "cache": "none", "storage": "modelled"}


def test_a_smaller_device_holds_less(tmp_path: Path, box: str) -> None:
    path = write(tmp_path, f'device = "{box}"\ncapacity_scale = 0.25')
    assert load(path).storage.used_bytes == 2**28
    assert load(path, ["scale=0.5"]).storage.used_bytes == 2**27


def test_parameters_are_set_swept_and_written(tmp_path: Path, box: str) -> None:
    storage = f'device = "{box}"\nparameters = {{ latency_us = 5 }}'
    sweep = '[sweep]\n"storage.parameters.read_mib_per_s" = [100, 200]'
    experiment = load(write(tmp_path, storage, rest=sweep), ["storage.parameters.write_mib_per_s=7"])
    second = cell_at(experiment, 1).experiment.modelled
    assert second.parameters == {"latency_us": 5, "write_mib_per_s": 7, "read_mib_per_s": 200}
    assert write_device(second.modelled_device, second.use()).read_bytes_per_s == 200 * 2**20
    again = tmp_path / "again.toml"
    again.write_text(to_toml(experiment))
    assert load(again).model_dump() == experiment.model_dump()


def test_a_table_of_parameters_and_dotted_names_are_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, "[storage.parameters.collector]\npolicy = 'fifo'", kind="ssd")
    [line] = told(path, "storage.parameters.collector.pace=true")
    assert "device: is missing" in line
    table = {"kind": "ssd", "parameters": {"collector": {"policy": "fifo"}, "collector.pace": True}}
    [fault] = KINDS["ssd"].model_construct(**table).conflicts()
    assert fault.rests_on == ("storage.device", "storage.parameters")


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        ('device = "DEVICE"\nsize = "2GiB"', ["storage.size", "2 GiB of data do not fit the 1 GiB"]),
        ('device = "DEVICE"\nsize = "9000PiB"', ["storage.size", "more than a file can hold"]),
        ('device = "DEVICE"\nsize = 0', ["storage.size", "must be more than 0"]),
        ('device = "DEVICE"\nfill = 0', ["storage.fill", "must be more than 0"]),
        ('device = "DEVICE"\ncapacity_scale = 0', ["storage.capacity_scale", "must be more than 0"]),
        ('device = "DEVICE"\ncapacity_scale = 1.5', ["storage.capacity_scale", "at most 1"]),
        ('device = "DEVICE"\ncapacity_scale = 1e-12', ["storage.capacity_scale", "leaves nothing of the device"]),
        ('device = "DEVICE"\ncapacity_scale = nan', ["storage.capacity_scale", "finite"]),
        ('device = "DEVICE"\npath = "/mnt"', ["storage.path", "no meaning in virtual time"]),
        ('device = "DEVICE"\nkeep = false', ["storage.keep", "no meaning in virtual time"]),
        ('device = "DEVICE"\nfile_system = "xfs"', ["storage.file_system", "no meaning in virtual time"]),
        ('device = "DEVICE"\npurge = true', ["storage.purge", 'only with storage.kind = "file"']),
        ('device = "DEVICE"\noverwrite = true', ["storage.overwrite", 'only with storage.kind = "file"']),
        ('device = "DEVICE"\nfault = { kind = "full" }', ["storage.fault", 'only with storage.kind = "file"']),
        ('device = "DEVICE"\ninitial = "fresh"', ["storage.initial", 'only with storage.kind = "ssd" or']),
        ('device = "DEVICE"\ndevise = 3', ["storage.devise", "did you mean device?"]),
        ('device = "nowhere.toml"', ["storage.device", "there is no file nowhere.toml"]),
        ('device = ""', ["storage.device", "must not be empty"]),
        ("device = 3", ["storage.device", "must be text"]),
        ("parameters = { latency_us = 3 }", ["storage.device", "is missing", "list --devices"]),
        ('device = "DEVICE"\nparameters = 3', ["storage.parameters", "must be a table"]),
        ('device = "DEVICE"\nparameters = { latency_uss = 3 }', ["parameters.latency_uss", "did you mean latency_us?"]),
        ('device = "DEVICE"\nparameters = { latency_us = -3 }', ["storage.parameters.latency_us", "at least 0"]),
        ('device = "DEVICE"\nparameters = { latency_us = "3" }', ["storage.parameters.latency_us", "must be a number"]),
        (
            'device = "DEVICE"\nparameters = { latency_us = [3] }',
            ["storage.parameters.latency_us", "one value", "sweep"],
        ),
        ('device = "DEVICE"\nparameters = { latency_us = inf }', ["storage.parameters.latency_us", "finite"]),
        ('device = "DEVICE"\nparameters = { read_mib_per_s = 0 }', ["parameters.read_mib_per_s", "more than 0"]),
        ('device = "DEVICE"\nparameters = { capacity = "0B" }', ["storage.parameters.capacity", "more than 0"]),
        ('device = "DEVICE"\nparameters = { kind = "ssd" }', ["storage.parameters.kind", "no such figure"]),
        ('device = "DEVICE"\nparameters = { title = "x" }', ["storage.parameters.title", "no such figure"]),
    ],
)
def test_bad_input(tmp_path: Path, box: str, storage: str, words: list[str]) -> None:
    lines = told(write(tmp_path, storage.replace("DEVICE", box)))
    assert len(lines) == 1, lines
    assert all(word in lines[0] for word in words), lines[0]
    assert lines[0].startswith(f"{tmp_path / 'e.toml'}:"), "the place in the file"


@pytest.mark.parametrize(
    ("workload", "word"),
    [("direct = false", "direct"), ("verify = true", "verify"), ("compressible_pct = 30", "compressible_pct")],
)
def test_what_means_nothing_on_a_model(tmp_path: Path, box: str, workload: str, word: str) -> None:
    [line] = told(write(tmp_path, f'device = "{box}"', workload=workload))
    assert f"workload.{word}: has no meaning on modelled storage" in line
    load(write(tmp_path, f'device = "{box}"\nreal_time = true\npath = "/mnt"', workload=workload))


def test_a_server_needs_real_time(tmp_path: Path, box: str) -> None:
    path = tmp_path / "server.toml"
    server = f'[workload]\nkind = "tpcc"\n[database]\nkind = "server"\n[storage]\nkind = "memory"\ndevice = "{box}"\n'
    path.write_text(server)
    [line] = told(path)
    assert "storage.kind: a server runs in real time" in line and "storage.real_time = true" in line
    path.write_text(server + 'real_time = true\npath = "/mnt"')
    assert load(path).layers["storage"] == "modelled"
    assert load(path).layers["workload"] == "real"


def test_a_device_of_another_kind_says_which(tmp_path: Path, box: str) -> None:
    [line] = told(write(tmp_path, f'device = "{box}"', kind="hdd"))
    assert 'is of kind "memory"' in line and '(hint: storage.kind = "memory")' in line


def test_more_data_than_capacity_in_one_cell_of_a_sweep(tmp_path: Path, box: str) -> None:
    sweep = '[sweep]\n"storage.capacity_scale" = [1.0, 0.5, 0.25]'
    [line] = told(write(tmp_path, f'device = "{box}"\nsize = "900MiB"', rest=sweep))
    assert "(cell storage.capacity_scale = 0.5), and 1 more cell" in line


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ('{ kind = "fail", at_s = 5 }', ["storage.events[0].member", "is missing"]),
        ('{ kind = "patrol", at_s = 5, member = 2 }', ["storage.events[0].member", "of the whole array"]),
        ('{ kind = "fail", at_s = 5, member = 0, duration_s = 3 }', ["storage.events[0].duration_s", "has no length"]),
        ('{ kind = "fail", at_s = -5, member = 0 }', ["storage.events[0].at_s", "at least 0"]),
        ('{ kind = "fail", at_s = 5, member = -1 }', ["storage.events[0].member", "at least 0"]),
        ('{ kind = "explode", at_s = 5 }', ["storage.events[0].kind", "'explode' is not a choice"]),
        ('{ kind = "relearn", at_s = 5, duration_s = 0 }', ["storage.events[0].duration_s", "more than 0"]),
        ('{ kind = "relearn" }', ["storage.events[0].at_s", "is missing"]),
        ("{ at_s = 1 }", ["storage.events[0].kind", "is missing"]),
        ('{ kind = "relearn", at_s = 5, for = 3 }', ["storage.events[0].for", "unknown field"]),
        ("3", ["storage.events[0]", "must be a table"]),
    ],
)
def test_events_that_cannot_be(tmp_path: Path, event: str, words: list[str]) -> None:
    lines = told(write(tmp_path, f"events = [{event}]", kind="raid"))
    assert len(lines) == 1, lines
    assert all(word in lines[0] for word in words), lines[0]


def test_events_in_the_plan_and_in_the_files(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"kind": "relearn", "at_s": "1m", "duration_s": "7h"},
        {"kind": "fail", "at_s": 90.5, "member": 2},
        {"kind": "patrol", "at_s": 0},
    ]
    storage = RaidStorage.model_validate({"kind": "raid", "events": events})
    assert as_data(write_events(storage.use().events)) == [
        {"kind": "relearn", "at_ns": 60 * 10**9, "duration_ns": 7 * 3600 * 10**9},
        {"kind": "fail", "at_ns": 90_500_000_000, "member": 2},
        {"kind": "patrol", "at_ns": 0},
    ]
    path = write(tmp_path, "events = [{ kind = 'fail', at_s = '10m', member = 1 }]", kind="raid")
    again = tmp_path / "again.toml"
    again.write_text(to_toml(load(path)))
    assert load(again).storage == load(path).storage
    assert load(path, ["scale=0.1"]).modelled.use().events == (ArrayEvent(kind="fail", at_s=60.0, member=1),)


def test_how_a_card_is_used() -> None:
    table = {"kind": "ssd", "initial": "filled", "reserve_pct": 25, "life_used_pct": 10, "capacity_scale": 0.5}
    storage = KINDS["ssd"].model_validate(table)
    assert isinstance(storage, ModelledStorage)
    use = storage.use(asynchronous=True, align_bytes=16384)
    assert (use.initial, use.reserve, use.life_used, use.scale) == ("filled", 0.25, 0.1, 0.5)
    assert (use.asynchronous, use.align_bytes) == (True, 16384)
    assert MemoryStorage().use().initial == "preconditioned"


def test_what_stays_when_the_kind_is_replaced() -> None:
    table = {
        "kind": "file",
        "path": "/mnt",
        "size": "1GiB",
        "fill": 0.5,
        "purge": True,
        "overwrite": True,
        "keep": False,
    }
    assert carried_over(table, "ssd") == {"kind": "file", "size": "1GiB", "fill": 0.5}
    assert carried_over(table, "hdd") == {"kind": "file", "size": "1GiB", "fill": 0.5}
    assert carried_over(table, "file") == table
    assert carried_over({"kind": "ssd", "device": "a", "fill": 0.5}, "hdd") == {"kind": "ssd", "fill": 0.5}
    assert carried_over(table, "nothing") == table


@pytest.mark.parametrize("name", ["quick", "fill-level", "card-async-read", "card-write-curve", "snia-iops"])
def test_a_real_experiment_runs_on_a_model(name: str, box: str) -> None:
    found = load(name, ["storage.fill=0.6", f"storage.device={box}", "storage.kind=memory", "storage.size=1GiB"])
    assert found.modelled.fill == 0.6
    assert found.storage.used_bytes is not None


def test_a_card_that_was_to_be_discarded_is_a_fresh_one() -> None:
    assert load("card-write-curve", ["storage.kind=ssd"]).storage.model_dump()["initial"] == "fresh"
    # What is preconditioned begins in the state that this is for: a sequential pass would only take it away.
    for name in ("card-async-read", "fill-level"):
        prepared = load(name, ["storage.kind=ssd"])
        assert prepared.storage.model_dump()["initial"] == "preconditioned"
        assert prepared.fileio.precondition_passes == 0
    asked = ["workload.precondition_passes=2", "storage.initial=fresh", "storage.kind=ssd"]
    assert load("fill-level", asked).fileio.precondition_passes == 2


def test_a_changed_file_is_read_again(tmp_path: Path, box: str) -> None:
    path = write(tmp_path, f'device = "{box}"')
    assert load(path).storage.used_bytes == 2**30
    Path(box).write_text(MEMORY.replace("1GiB", "64GiB"))
    assert load(path).storage.used_bytes == 2**36


def test_a_member_that_an_array_does_not_have(tmp_path: Path) -> None:
    events = 'device = "raid10-8"\nevents = [{ kind = "fail", at_s = 1, member = 99 }]'
    [line] = told(write(tmp_path, events, kind="raid"))
    assert "storage.events[0].member: raid10-8 has no member 99, but 0 to 7" in line


def test_a_card_is_as_full_as_the_experiment_says(tmp_path: Path) -> None:
    card = 'device = "intel-x25-m"\noccupied_pct = 75'
    experiment = load(write(tmp_path, card, kind="ssd"))
    use = experiment.modelled.use()
    plan = write_device(experiment.modelled.modelled_device, use)
    assert isinstance(plan, Ssd) and plan.occupied_bytes == int(0.75 * experiment.modelled.modelled_device.capacity)
    [line] = told(write(tmp_path, f'{card}\ninitial = "fresh"', kind="ssd"))
    assert "storage.occupied_pct" in line and "it holds nothing" in line
    [line] = told(write(tmp_path, 'device = "raid10-8"\noccupied_pct = 75', kind="raid"))
    assert 'only with storage.kind = "ssd"' in line
