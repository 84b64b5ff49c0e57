"""From a device's name to a checked device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment.device.check import InvalidDeviceError, parameter_names
from flatwater.experiment.device.files import device_files, find_device, read_tables, unsourced
from flatwater.experiment.device.load import list_devices, load_device
from flatwater.experiment.device.memory import MemoryDevice

sys.path.insert(0, str(Path(__file__).parents[1] / "storage"))
from devices import MEMORY, appliance


def fault(written: str) -> UserError:
    with pytest.raises(UserError) as caught:
        load_device(written)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", list(device_files()))
def test_every_device_is_read_and_has_its_sources(name: str) -> None:
    device = load_device(name)
    assert device.title and device.capacity > 0
    assert device.kind == device.KIND
    assert unsourced(find_device(name)) == [], "every figure has a source: [sources]"


def test_the_list_is_by_name() -> None:
    entries = list_devices()
    assert [entry.name for entry in entries] == sorted(device_files())


def test_a_path(tmp_path: Path) -> None:
    device = load_device(appliance(tmp_path))
    assert isinstance(device, MemoryDevice)
    assert (device.title, device.capacity, device.latency_us) == ("An appliance", 2**30, 100)


def test_figures_are_replaced_by_their_names(tmp_path: Path) -> None:
    device = load_device(appliance(tmp_path), {"latency_us": 5, "capacity": "2GiB"})
    assert isinstance(device, MemoryDevice)
    assert (device.latency_us, device.capacity) == (5, 2**31)


def test_a_base_gives_what_a_file_does_not_say(tmp_path: Path) -> None:
    appliance(tmp_path, "below.toml")
    above = 'base = "./below.toml"\ntitle = "Twice as fast"\nlatency_us = 50\n[sources]\nlatency_us = "said so"\n'
    path = appliance(tmp_path, "above.toml", above)
    device = load_device(path)
    assert isinstance(device, MemoryDevice)
    assert (device.title, device.latency_us, device.read_mib_per_s) == ("Twice as fast", 50, 1200)
    assert device.sources["capacity"] == "made up"
    assert unsourced(Path(path)) == []


def test_a_circle_of_bases_ends(tmp_path: Path) -> None:
    appliance(tmp_path, "a.toml", 'base = "./b.toml"\n')
    path = appliance(tmp_path, "b.toml", 'base = "./a.toml"\n')
    assert "based on itself" in str(fault(path))


def test_a_base_that_is_not_there(tmp_path: Path) -> None:
    path = appliance(tmp_path, "a.toml", 'base = "./below.tml"\n')
    assert "base: there is no" in str(fault(path))
    assert "base: must be the name" in str(fault(appliance(tmp_path, "b.toml", "base = 3\n")))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("capacity = ", "capacity = ]"), ["not valid TOML", ":3:"]),
        (("latency_us = 100", "latency_us = -1"), ["latency_us: must be at least 0"]),
        (("read_mib_per_s = 1200", "read_mib_per_s = 0"), ["read_mib_per_s: must be more than 0"]),
        (
            ("latency_us = 100", "latency_us = 100\nreed_mib_per_s = 1"),
            ["reed_mib_per_s: unknown field", "did you mean"],
        ),
        (("read_mib_per_s = 1200\n", ""), ["read_mib_per_s: is missing"]),
        (('kind = "memory"', 'kind = "memmory"'), ["kind: 'memmory' is no kind of device", "did you mean memory?"]),
        (('kind = "memory"\n', ""), ["kind: is missing"]),
        (('capacity = "1GiB"', 'capacity = "9000PiB"'), ["capacity: '9000PiB' is more than a file can hold"]),
        (('title = "An appliance"', "title = 3"), ["title: must be text"]),
        (('title = "An appliance"', 'title = ""'), ["title: must not be empty"]),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, change: tuple[str, str], words: list[str]) -> None:
    text = str(fault(appliance(tmp_path, text=MEMORY.replace(*change))))
    assert all(word in text for word in words), text
    assert "box.toml" in text


def test_every_problem_of_a_file_is_told(tmp_path: Path) -> None:
    text = MEMORY.replace("1200", "0").replace("500", "'x'")
    with pytest.raises(InvalidDeviceError) as caught:
        load_device(appliance(tmp_path, text=text))
    assert len(caught.value.problems) == 2


def test_a_name_that_is_not_there_has_a_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    appliance(tmp_path, "violin-memory-appliance.toml")
    monkeypatch.setattr("flatwater.experiment.device.files.devices_dir", lambda: tmp_path)
    assert "did you mean violin-memory-appliance?" in str(fault("violin-memory-aplliance"))
    assert "list --devices" in str(fault("zzz"))
    assert load_device("violin-memory-appliance").title == "An appliance"


@pytest.mark.parametrize("written", ["/dev/null/x.toml", "no\0t.toml", "./" + "x" * 5000 + ".toml", "/tmp/"])
def test_what_is_no_path(written: str) -> None:
    fault(written)


def test_figures_without_a_source_are_named(tmp_path: Path) -> None:
    text = MEMORY.replace('latency_us = "made up"\n', "") + "[more]\nx = 1\n"
    path = Path(appliance(tmp_path, text=text))
    assert unsourced(path) == ["latency_us", "more.x"]
    assert read_tables(path)["more"] == {"x": 1}


def test_what_can_be_replaced() -> None:
    assert parameter_names(MemoryDevice) == ("capacity", "latency_us", "read_mib_per_s", "write_mib_per_s")
