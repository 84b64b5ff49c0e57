"""Programs that sample: their figures and times, and every damage to every format."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.probe.server import names, probe
from flatwater.results.importers.samplers import SAMPLERS, Recording
from flatwater.results.importers.samplers.sampler import Sample
from flatwater.results.importers.samplers.status import GAUGES, RATES
from flatwater.results.importers.texts import without_colours

sys.path.insert(0, str(Path(__file__).parent))
from sampled import EPOCH, FORMS, SAMPLES, at, counters, iostat, mysqladmin, vmstat

N = 60
ALL = SAMPLES | FORMS


def read(folder: Path, content: str | bytes, name: str = "x.txt") -> Recording:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    head = without_colours(path.read_bytes()[:65536].decode(errors="replace"))
    sampler = next(one for one in SAMPLERS if one.recognises(path, head))
    return sampler.read(path)


def means(samples: list[Sample]) -> dict[str, float]:
    found = {name for sample in samples for name in sample.metrics}
    return {
        name: sum(sample.metrics[name] for sample in samples if name in sample.metrics)
        / sum(name in sample.metrics for sample in samples)
        for name in found
    }


def test_every_sampler_has_a_sample() -> None:
    assert {sampler.NAME for sampler in SAMPLERS} == set(SAMPLES)


@pytest.mark.parametrize("name", ALL)
def test_each_is_recognised_by_one_only(tmp_path: Path, name: str) -> None:
    text = ALL[name](N)
    recognised = [one.NAME for one in SAMPLERS if one.recognises(tmp_path / "x", text[:65536])]
    assert len(recognised) == 1 or recognised[0] == "hammerdb-counter", recognised


@pytest.mark.parametrize("name", ALL)
def test_the_figures(tmp_path: Path, name: str) -> None:
    recording = read(tmp_path, ALL[name](N))
    figures = means(recording.samples)
    if "machine.cpu_user_pct" in figures:
        shares = [figures[f"machine.cpu_{kind}_pct"] for kind in ("user", "system", "idle", "iowait")]
        assert shares == pytest.approx([10, 4, 80, 6])
    if "workload.throughput" in figures:
        expected = {"tps": 50, "tpm": 3000, "NOTPM": 3000, "NOPM": 3000}[recording.unit]
        assert figures["workload.throughput"] == pytest.approx(expected)
    if name.startswith(("iostat", "dstat", "dool", "sysstat")):
        assert {"sda", "total"} & set(recording.devices)
    for device in ("sda", "total"):
        if device in recording.devices:
            of_device = means(recording.devices[device])
            assert of_device["storage.read_bytes_per_s"] == pytest.approx(1638400)
            assert of_device.get("storage.read_ops_per_s", 100) == pytest.approx(100)
            assert of_device.get("storage.read_await_us", 500) == pytest.approx(500)
    assert figures or recording.devices
    count = len(recording.samples or recording.devices["sda"])
    assert count == N, "each interval once, and not the mean since boot"


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("vmstat", "iostat", "dstat text")])
def test_the_times(tmp_path: Path, name: str) -> None:
    """They go past midnight: the file begins half a minute before it."""
    recording = read(tmp_path, ALL[name](N))
    times = recording.times
    assert [round(after - before) for before, after in pairwise(times)] == [1] * (N - 1)
    if recording.clock == "epoch":
        assert times[0] == pytest.approx(EPOCH + 1, abs=0.2)
    elif recording.clock == "local":
        # Its zone is not told; all of these were UTC.
        assert times[0] == EPOCH + 1
    else:
        assert name.startswith(("mysqladmin", "counters, seconds")) and recording.interval_s == 1


def test_intervals_of_a_server_are_those_of_its_uptime(tmp_path: Path) -> None:
    recording = read(tmp_path, mysqladmin(20, step=5))
    assert recording.interval_s == 5 and means(recording.samples)["workload.throughput"] == pytest.approx(50)
    assert means(recording.samples)["database.dirty_pct"] == pytest.approx(30)


def test_a_server_that_was_restarted_has_no_rate_there(tmp_path: Path) -> None:
    text = mysqladmin(10) + mysqladmin(10).replace("100", "000", 0)
    recording = read(tmp_path, text)
    rates = [sample.metrics.get("workload.throughput") for sample in recording.samples]
    assert rates.count(None) == 1 and {rate for rate in rates if rate is not None} == {50.0}


def test_seconds_that_begin_again_are_another_run(tmp_path: Path) -> None:
    text = FORMS["counters, seconds"](N)
    with pytest.raises(UserError, match=rf"x.txt:{N + 3}: time goes back to 0 s"):
        read(tmp_path, text + text.partition("\n")[2])


def test_counters_by_their_own_time(tmp_path: Path) -> None:
    """A second that the script skipped counts as two: its own tps would be twice as high there."""
    lines = counters(20).splitlines()
    del lines[10]
    recording = read(tmp_path, "\n".join(lines))
    assert {sample.metrics["workload.throughput"] for sample in recording.samples} == {50.0}
    assert "my_own" in recording.unknown and "tps" in recording.unknown


def test_a_script_that_takes_more_than_a_second_a_round(tmp_path: Path) -> None:
    """Its times are in whole seconds, and skip one now and then: that is no second with half of the transactions."""
    lines = [f"{at(int(number * 1.1))},{round(number * 1.1 * 50)}" for number in range(400)]
    recording = read(tmp_path, "\n".join(["timestamp,com_commit", *lines]))
    rates = [sample.metrics["workload.throughput"] for sample in recording.samples]
    assert max(rates) < 52.5 and min(rates) > 47.5
    assert any("evened out" in note for note in recording.notes)


def test_the_end_of_summer_time(tmp_path: Path) -> None:
    text = vmstat(30, stamped=True, zone="CET")
    lines = text.splitlines()
    back = [line.replace("00:00:", "23:00:").replace("2026-03-14", "2026-03-13") for line in lines]
    recording = read(tmp_path, "\n".join(back))
    assert recording.clock == "local" and any("set back" in note for note in recording.notes)
    assert len(recording.samples) == 30


def without_notes(recording: Recording) -> tuple[object, ...]:
    return recording.samples, recording.devices, recording.unit, recording.clock


HARMLESS: dict[str, Callable[[str], str | bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "colours": lambda text: "\n".join(f"\x1b[0;31m{line}\x1b[0m" if line else "" for line in text.split("\n")),
    "no end": lambda text: text.rstrip("\n"),
}


@pytest.mark.parametrize("damage", HARMLESS)
@pytest.mark.parametrize("name", ALL)
def test_harmless_differences(tmp_path: Path, name: str, damage: str) -> None:
    if damage == "colours" and ("JSON" in name or "json" in name or name == "counters"):
        pytest.skip("no terminal colours these")
    whole, damaged = read(tmp_path, ALL[name](N)), read(tmp_path, HARMLESS[damage](ALL[name](N)))
    assert without_notes(damaged) == without_notes(whole)


@pytest.mark.parametrize("name", ["vmstat", "iostat", "mpstat"])
def test_decimal_commas(tmp_path: Path, name: str) -> None:
    text = ALL[name](N)
    local = re.sub(r"(?<=\d)\.(?=\d\d)", ",", text)
    whole, damaged = read(tmp_path, text), read(tmp_path, local)
    assert without_notes(damaged) == without_notes(whole)
    assert any("commas" in note for note in damaged.notes) == ("," in local)


def garbage(text: str) -> str:
    lines = text.split("\n")
    for number in range(10, len(lines), 13):
        lines.insert(number, "\x07??? nothing of the kind \x00".replace("\x00", ""))
    return "\n".join(lines)


BROKEN: dict[str, Callable[[str], str | bytes]] = {
    "lines in between": garbage,
    "units": lambda text: re.sub(r"\b(\d+\.\d+)\b", r"\1MiB", text),
    "words": lambda text: re.sub(r"\b10(?:\.0+)?\b", "many", text),
    "huge numbers": lambda text: re.sub(r"\b(10|50|100)\b", "9" * 400, text),
    "not UTF-8": lambda text: text.encode().replace(b"0", b"\xff0", 40),
    "NUL": lambda text: text.replace("1", "\0", 3),
    "one long line": lambda text: text.replace("\n", " "),
    "the head alone": lambda text: "\n".join(text.split("\n")[:6]),
    "without its head": lambda text: text[len(text) // 2 :],
    "each line twice": lambda text: "\n".join(line for line in text.split("\n") for _ in (1, 2)),
    "backwards": lambda text: "\n".join(reversed(text.split("\n"))),
    "negative": lambda text: text.replace(" 1", " -1"),
    "not a number": lambda text: re.sub(r"\b80(?:\.0+)?\b", "nan", text),
}


@pytest.mark.parametrize("damage", BROKEN)
@pytest.mark.parametrize("name", ALL)
def test_damage_is_told_or_refused_in_one_line(tmp_path: Path, name: str, damage: str) -> None:
    content = BROKEN[damage](ALL[name](N))
    path = tmp_path / "x"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    head = path.read_bytes()[:65536].decode(errors="replace")
    for sampler in SAMPLERS:
        if not sampler.recognises(path, head):
            continue
        try:
            recording = sampler.read(path)
        except UserError as error:
            assert "\n" not in str(error) and str(path) in str(error)
            continue
        values = [value for one in recording.samples for value in one.metrics.values()]
        assert all(abs(value) < 1e30 for value in values), "no figure is infinite, or none at all"
        assert recording.times == sorted(recording.times)


@pytest.mark.parametrize("name", ALL)
def test_a_file_cut_off_anywhere(tmp_path: Path, name: str) -> None:
    text = ALL[name](N)
    draw = random.Random(17)
    before = 0
    for end in sorted(draw.sample(range(len(text)), 25)):
        (tmp_path / "x").write_text(text[:end])
        for sampler in SAMPLERS:
            if sampler.recognises(tmp_path / "x", text[:end]):
                try:
                    count = len(sampler.read(tmp_path / "x").times)
                except UserError:
                    count = 0
                assert count >= before - 1, "what was whole is taken"
                before = max(count, before)
                break


@pytest.mark.parametrize("name", ALL)
def test_random_bytes_in_it(tmp_path: Path, name: str) -> None:
    text = ALL[name](20).encode()
    draw = random.Random(4711)
    for _ in range(25):
        damaged = bytearray(text)
        for _ in range(draw.randrange(1, 30)):
            damaged[draw.randrange(len(damaged))] = draw.choice(b'0123456789,.:-|{}[]"\n\r\t\x1b\xff aZ+')
        (tmp_path / "x").write_bytes(damaged)
        head = bytes(damaged).decode(errors="replace")
        for sampler in SAMPLERS:
            if sampler.recognises(tmp_path / "x", head):
                try:
                    sampler.read(tmp_path / "x")
                except UserError as error:
                    assert "\n" not in str(error)


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    recording = read(tmp_path, garbage(iostat(N)))
    assert any("that cannot be read left out, first line" in note for note in recording.notes)
    assert {"rrqm/s", "%wrqm"} <= set(recording.unknown)


def test_names_of_series_are_those_of_the_probe() -> None:
    ours = {**RATES, **GAUGES}
    for figure, (variables, _) in names.PLACES.items():
        series = {**probe.RATES, **probe.GAUGES}.get(figure)
        for variable in variables:
            if variable in ours:
                assert ours[variable] == series or (figure, ours[variable]) == ("log_written", "log_bytes_per_s")
