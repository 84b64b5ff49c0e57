"""The history of drives: kept, thinned, and read whatever is in it."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from recordings import NOW_S

from flatwater.health.drive import Gauges, Identity, Reading
from flatwater.health.history import (
    DAY_S,
    READ_BYTES_MAX,
    THIN_BYTES,
    Entry,
    History,
    keep,
    load_history,
    read_lines,
    state_folder,
    thinned,
)

GOOD = b'{"at_s":1700000000,"key":"abcd","model":"A","used_pct":5,"host_written_bytes":1000}'


def reading(at_s: float, key: str = "abcd", **gauges: float) -> Reading:
    return Reading("/dev/sda", at_s, identity=Identity("A MODEL", key=key), gauges=Gauges(**gauges))


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "state/health"
    assert keep([reading(NOW_S, used_pct=5, host_written_bytes=1e12)], folder) == ""
    assert keep([reading(NOW_S + 60, used_pct=5, host_written_bytes=2e12)], folder) == ""
    history = load_history(folder)
    assert history.trouble == ""
    assert [entry.host_written_bytes for entry in history.of("abcd", NOW_S + 60)] == [1e12, 2e12]
    assert history.of("abcd", NOW_S + 1)[-1].at_s == NOW_S
    assert history.of("", NOW_S + 60) == history.of("other", NOW_S + 60) == []


def test_a_drive_without_a_key_or_figures_is_not_kept(tmp_path: Path) -> None:
    assert keep([reading(NOW_S, key="", used_pct=5), reading(NOW_S)], tmp_path / "health") == ""
    assert not (tmp_path / "health").exists()


def test_no_history_is_an_empty_one(tmp_path: Path) -> None:
    assert load_history(tmp_path / "nothing") == History()


@pytest.mark.parametrize(
    "line",
    [
        b"no json",
        b'{"at_s":"later","key":"abcd"}',
        b'{"at_s":NaN,"key":"abcd"}',
        b'{"at_s":-5,"key":"abcd"}',
        b'{"at_s":5}',
        b"[1,2]",
        b'{"at_s":1,"key":"abcd"',
        b"\xff\xfe\x00",
        b"[" * 3000,
        b'{"at_s":1,"key":"a","model":"' + b"x" * 5000 + b'"}',
    ],
)
def test_a_damaged_line_is_left_out_and_told(line: bytes) -> None:
    history = read_lines([GOOD, line, b"", GOOD])
    assert len(history.entries) == 2
    assert history.trouble == "1 line of the history of drives cannot be read and is left out"


def test_hostile_values_are_no_figures() -> None:
    line = b'{"at_s":1,"key":"abcd","model":"a\\u001b[2J","used_pct":-4,"host_written_bytes":1e999,"media_errors":"x"}'
    (entry,) = read_lines([line]).entries
    assert (entry.used_pct, entry.host_written_bytes, entry.media_errors) == (None, None, None)
    assert "\x1b" not in entry.model


def test_only_the_end_of_a_huge_file_is_read(tmp_path: Path) -> None:
    tmp_path.mkdir(exist_ok=True)
    with (tmp_path / "history.jsonl").open("wb") as handle:
        handle.seek(READ_BYTES_MAX * 3)
        handle.write(b"\n" + GOOD + b"\n")
    history = load_history(tmp_path)
    assert len(history.entries) == 1


def test_a_history_that_is_a_folder_or_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").mkdir()
    assert "cannot be read: Is a directory" in load_history(tmp_path).trouble
    assert keep([reading(NOW_S, used_pct=5)], tmp_path).startswith("the history of drives was not kept: ")


def test_what_is_not_ours_is_not_written(tmp_path: Path) -> None:
    folder = tmp_path / "health"
    folder.mkdir()
    theirs = folder / "history.jsonl"
    theirs.write_bytes(b"their own\n")
    assert "was not made by flatwater" in keep([reading(NOW_S, used_pct=5)], folder)
    assert theirs.read_bytes() == b"their own\n"


def test_a_link_in_the_files_place_is_not_followed(tmp_path: Path) -> None:
    folder, theirs = tmp_path / "health", tmp_path / "theirs"
    keep([reading(NOW_S, used_pct=5)], folder)
    theirs.write_text("theirs")
    (folder / "history.jsonl").unlink()
    (folder / "history.jsonl").symlink_to(theirs)
    assert keep([reading(NOW_S, used_pct=5)], folder) != ""
    assert theirs.read_text() == "theirs"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "was not kept" in keep([reading(NOW_S, used_pct=5)], tmp_path / "file/health")


def test_a_line_that_a_kill_tore_costs_that_line_only(tmp_path: Path) -> None:
    folder = tmp_path / "health"
    keep([reading(NOW_S, used_pct=5)], folder)
    path = folder / "history.jsonl"
    os.truncate(path, path.stat().st_size - 20)
    keep([reading(NOW_S + 1, used_pct=6)], folder)
    history = load_history(folder)
    assert [entry.used_pct for entry in history.entries] == [6]
    assert "1 line" in history.trouble


def test_several_at_once_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "health"
    keep([reading(NOW_S, used_pct=5)], folder)
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda number: keep([reading(NOW_S + number, used_pct=5)], folder), range(1, 13)))
    kept = load_history(folder)
    assert len(kept.entries) == 1 + told.count("") and kept.trouble == ""


def test_a_long_history_is_thinned(tmp_path: Path) -> None:
    folder = tmp_path / "health"
    keep([reading(NOW_S - 90 * DAY_S, used_pct=1)], folder)
    path = folder / "history.jsonl"
    with path.open("a") as handle:
        for number in range(THIN_BYTES // 100):
            told = {
                "at_s": NOW_S - 80 * DAY_S + number,
                "key": "abcd",
                "model": "A MODEL",
                "host_written_bytes": 1e15 + number,
            }
            handle.write(json.dumps(told) + "\n")
    keep([reading(NOW_S, used_pct=2)], folder)
    kept = load_history(folder)
    assert len(kept.entries) == 3 and path.stat().st_size < 1000
    assert (kept.entries[0].used_pct, kept.entries[-1].used_pct) == (1, 2)


def test_what_thinning_keeps() -> None:
    hours = [Entry(NOW_S - hour * 3600.0, "k", "") for hour in range(24 * 60)]
    kept = thinned(hours, NOW_S)
    recent = [entry for entry in kept if NOW_S - entry.at_s < 30 * DAY_S]
    assert len(recent) == 30 * 24
    assert 29 <= len(kept) - len(recent) <= 31
    assert kept[0].at_s == NOW_S - (24 * 60 - 1) * 3600 and kept[-1].at_s == NOW_S


def test_counters_that_fall_back_begin_a_new_drive() -> None:
    entries = [
        Entry(1.0, "k", "", host_written_bytes=100, power_on_hours=10),
        Entry(2.0, "k", "", host_written_bytes=50, power_on_hours=11),
        Entry(3.0, "k", "", host_written_bytes=60, power_on_hours=12),
    ]
    assert [entry.at_s for entry in History(tuple(reversed(entries))).of("k", 9.0)] == [2.0, 3.0]


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FLATWATER_STATE_DIR")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "flatwater/health"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert state_folder() == Path("/var/lib/flatwater/health")
