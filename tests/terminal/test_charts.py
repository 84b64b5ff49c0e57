"""Which charts a run has, and how they fit a terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from flatwater.printing import make_console
from flatwater.terminal.charts import LINES_MAX, SERIES, WIDTH_MIN, Charts, fitted
from flatwater.terminal.history import History

HOSTILE = "tps\x1b]0;owned\x07\x1b[2J\n\r\u202eevil 日本語 " + "x" * 300
FILEIO = {"workload.throughput": 2000.0, "workload.latency_p99_us": 900.0, "storage.utilisation_pct": 55.0}
DATABASE = FILEIO | {"database.checkpoint_age_bytes": 3e8, "database.checkpoint_age_max_bytes": 4e8}


def charts(metrics: dict[str, float], count: int = 50, encoding: str = "utf-8") -> tuple[Charts, History]:
    history = History(SERIES)
    for at in range(count):
        history.add(at + 1.0, {name: value * (1 + at % 5 / 10) for name, value in metrics.items()})
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return Charts(make_console(stream), history), history


def lines(found: Charts, width: int, height: int, unit: str = "tps") -> list[str]:
    drawn = found.lines(width, height, unit)
    assert drawn is not None
    return [line.plain for line in drawn]


def titles(drawn: list[str]) -> list[str]:
    """What stands in the lines without a scale."""
    heads = [re.split(r"\s{3,}", line.strip()) for line in drawn if not re.search("[│|]", line)]
    return [re.sub(r"\s.*", "", one) for head in heads[:-1] for one in head]


def test_those_that_the_run_has() -> None:
    drawn = lines(charts(DATABASE)[0], 120, 40)
    assert titles(drawn) == ["throughput", "p99", "checkpoint", "device"]
    told = "\n".join(drawn)
    for part in ("throughput 2,800 tps", "p99 latency 1.26 ms", "75 % of its limit 534.1 MiB", "device busy 77 %"):
        assert part in told
    assert drawn[-1] == "1 s to 50 s of the cell"
    assert len(drawn) == 2 * LINES_MAX + 1
    assert titles(lines(charts(FILEIO)[0], 120, 40)) == ["throughput", "p99", "device"]
    assert titles(lines(charts({"workload.throughput": 3.0})[0], 120, 40)) == ["throughput"]


@pytest.mark.parametrize(
    ("series", "title"),
    [
        ({"storage.dies_busy_pct": 20.0, "storage.utilisation_pct": 90.0}, "flash dies busy 20 %"),
        ({"storage.busy_pct": 20.0}, "disk busy 20 %"),
        ({"storage.link_busy_pct": 20.0, "storage.utilisation_pct": 90.0}, "link busy 20 %"),
        ({"storage.member0_busy_pct": 30.0, "storage.member1_busy_pct": 20.0}, "first member busy 30 %"),
        ({"storage.utilisation_pct": 90.0, "workload.bytes_per_s": 1e6}, "device busy 90 %"),
        ({"workload.bytes_per_s": 3 * 2.0**20}, "requested bytes 3 MiB/s"),
    ],
)
def test_the_device_by_what_is_told_of_it(series: dict[str, float], title: str) -> None:
    """A flash model's utilisation is the share of its pages that are valid, and not how busy it is."""
    found, _ = charts({"workload.throughput": 1.0} | series, 1)
    assert title in "\n".join(lines(found, 80, 30))


def test_the_limit_is_a_line_of_its_own() -> None:
    found, history = charts({name: value for name, value in DATABASE.items() if "checkpoint" in name}, 1)
    history.clear()
    for at in range(30):
        history.add(at, {"database.checkpoint_age_bytes": 1e8, "database.checkpoint_age_max_bytes": 4e8})
    drawn = lines(found, WIDTH_MIN, 10)
    assert "⠉ ⠉" in drawn[1] and drawn[1].lstrip().startswith("381.5 MiB │")  # dashes, at the top of the scale
    assert sum(bool(re.search("[⠁-⣿]", line)) for line in drawn) == 2


@pytest.mark.parametrize("width", [40, 41, 79, 80, 101, 102, 103, 240])
@pytest.mark.parametrize("height", [5, 9, 13, 17, 24, 40, 100])
@pytest.mark.parametrize("unit", ["tps", HOSTILE])
def test_it_is_never_larger_than_its_place(width: int, height: int, unit: str) -> None:
    drawn = lines(charts(DATABASE)[0], width, height, unit)
    assert len(drawn) <= height
    assert max(cell_len(line) for line in drawn) <= width
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", "".join(drawn))
    assert titles(drawn)[0] == "throughput"


@pytest.mark.parametrize(("width", "height"), [(39, 40), (120, 4), (0, 0), (1, 1), (120, -3)])
def test_too_small(width: int, height: int) -> None:
    assert charts(DATABASE)[0].lines(width, height, "tps") is None


def test_nothing_was_recorded() -> None:
    assert charts({}, 0)[0].lines(120, 40, "tps") is None
    assert charts({}, 5)[0].lines(120, 40, "tps") is None


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_the_encoding_has(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    drawn = "\n".join(lines(charts(DATABASE | {"workload.latency_p99_us": 500.0}, 1, encoding)[0], 60, 40, HOSTILE))
    drawn.encode(encoding)
    assert ("*" in drawn) == (encoding != "utf-8") and ("µs" in drawn) == (encoding == "utf-8")


def test_the_kernels_own_terminal_has_no_braille(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    assert not re.search("[⠁-⣿]", "".join(lines(charts(DATABASE)[0], 60, 40)))


def test_without_colours_the_same_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = charts(DATABASE)
    drawn = found.lines(100, 40, "tps")
    assert drawn is not None
    shown = []
    for no_color in (False, True):
        out = io.StringIO()
        console = Console(file=out, force_terminal=True, color_system="standard", no_color=no_color, width=100)
        for line in drawn:
            console.print(line)
        shown.append(out.getvalue())
    assert re.search("\x1b\\[[0-9;]*3[1-7]", shown[0]) and not re.search("\x1b\\[[0-9;]*3[1-7]", shown[1])
    assert re.sub("\x1b\\[[0-9;]*m", "", shown[0]) == re.sub("\x1b\\[[0-9;]*m", "", shown[1])


def test_a_text_from_outside_is_one_line() -> None:
    assert fitted("a\n\tb\x1b[2J", 100) == "a  b\\u001b[2J"
    assert cell_len(fitted("日本語" * 9, 10)) <= 10
    narrow = fitted("± … 日本" * 50, 20, "ascii")
    assert narrow.isascii() and len(narrow) <= 20
    assert fitted("µs and …", 100, "ascii") == "us and \\u2026"
