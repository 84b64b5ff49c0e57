from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import synthetic

from flatwater.errors import FlatwaterError, UserError
from flatwater.report import drawing_process
from flatwater.report.figure import Figure
from flatwater.report.images import export_figure, export_images, find_browser
from flatwater.results import open_result


@pytest.fixture
def _browser() -> None:
    try:
        find_browser()
    except FlatwaterError:
        if "CI" in os.environ:
            raise
        pytest.skip("no Chromium or Chrome on this machine")


@pytest.mark.usefixtures("_browser")
def test_one_png_a_chart_a_cell(tmp_path: Path) -> None:
    path = synthetic.sweep(tmp_path / "result", threads=(8,), count=30)
    result = open_result(path)
    result.cells = result.cells[:2]
    found = export_images(result, tmp_path / "deep" / "charts", "png")
    names = sorted(one.name for one in found)
    assert names[0] == "0000-cpu.png"
    assert {"sweep-throughput.png", "sweep-p95.png", "0001-throughput.png", "0001-latency.png"} <= set(names)
    assert names == sorted(one.name for one in (tmp_path / "deep" / "charts").iterdir())
    for one in found:
        raw = one.read_bytes()
        assert raw.startswith(b"\x89PNG")
        assert int.from_bytes(raw[16:20]) == 2400


@pytest.mark.usefixtures("_browser")
def test_one_cell_needs_no_number(tmp_path: Path) -> None:
    path = synthetic.single(tmp_path / "result", 60, histograms=False)
    found = export_images(open_result(path), tmp_path, "svg")
    assert "throughput.svg" in {one.name for one in found}
    assert found[0].read_text().startswith("<!-- drawn by flatwater -->\n<svg")


def test_without_a_browser_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    with pytest.raises(FlatwaterError, match="apt-get install chromium") as caught:
        find_browser()
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none", "no such file"),
        ("folder", "is a folder, and no program"),
        ("text", "is no program: it may not be executed"),
        ("pipe", "is no file"),
    ],
)
def test_a_browser_that_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("root:x:0:0")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / name))
    with pytest.raises(FlatwaterError) as caught:
        find_browser()
    where = f"BROWSER_PATH={tmp_path / name}"
    assert str(caught.value) == f"{where}: {told} (hint: unset it, or name a Chromium)"


@pytest.mark.usefixtures("_browser")
def test_a_folder_that_cannot_be_made(tmp_path: Path, single_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make the folder"):
        export_images(open_result(single_path), tmp_path / "file" / "charts", "png")


@pytest.mark.parametrize("does", ["#!/bin/sh\nexit 0\n", "#!/bin/sh\nexit 3\n", "no program at all"])
def test_a_browser_that_does_not_start_is_one_sentence(
    tmp_path: Path, single_path: Path, monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    broken = tmp_path / "chromium"
    broken.write_text(does)
    broken.chmod(0o755)
    monkeypatch.setenv("BROWSER_PATH", str(broken))
    with pytest.raises(FlatwaterError, match="could not draw the charts") as caught:
        export_images(open_result(single_path), tmp_path / "charts", "png")
    why = str(caught.value)
    assert "it ended before it drew everything (hint: to see why: " in why and "BROWSER_PATH names" in why
    assert "choreo" not in why and "('" not in why and "\n" not in why


def test_a_browser_that_does_not_answer_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "left"
    silent = tmp_path / "chromium"
    silent.write_text(f"#!/bin/sh\ntrap '' TERM\nsleep 1000 &\necho $! > {left}.part && mv {left}.part {left}\nwait\n")
    silent.chmod(0o755)
    orders = [{"fig": {"data": [], "layout": {}}, "path": str(tmp_path / "one.png"), "opts": {"format": "png"}}]
    monkeypatch.setattr(drawing_process, "_POLL_S", 0.01)
    # Longer than a busy machine needs to start the browser.
    with pytest.raises(FlatwaterError, match="was killed: it drew nothing more for 15 s, after 0 of 1 charts"):
        drawing_process.draw_images(orders, str(silent), tmp_path, patience_s=15)
    # The browser's own child, too.
    child = int(left.read_text())
    if psutil.pid_exists(child) and not _is_zombie(psutil.Process(child)):
        psutil.Process(child).wait(timeout=60)


DRAWS = """
import sys
from pathlib import Path
from flatwater.report.drawing_process import draw_images
orders = [{"fig": {"data": [], "layout": {}}, "path": sys.argv[2] + "/one.png", "opts": {"format": "png"}}]
draw_images(orders, sys.argv[1], Path(sys.argv[2]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_who_draws(tmp_path: Path, number: signal.Signals) -> None:
    left = tmp_path / "left"
    silent = tmp_path / "chromium"
    # A child, one in a session of its own, and one whose parent is gone: none of them hears of the end.
    silent.write_text(
        "#!/bin/sh\ntrap '' TERM HUP\nsleep 1000 &\nsetsid sleep 1000 &\n(setsid sleep 1000 & echo $! > "
        f"{left}.part)\necho $$ >> {left}.part && mv {left}.part {left}\nwait\n"
    )
    silent.chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", DRAWS, str(silent), str(tmp_path)]) as parent:
        try:
            end_s = time.monotonic() + 60
            while not left.exists():
                assert parent.poll() is None and time.monotonic() < end_s
                time.sleep(0.02)
            tree = psutil.Process(parent.pid).children(recursive=True)
            assert {int(pid) for pid in left.read_text().split()} < {one.pid for one in tree} and len(tree) >= 5
        finally:
            parent.send_signal(number)
    assert psutil.wait_procs([one for one in tree if not _is_zombie(one)], timeout=60)[1] == []


def _is_zombie(one: psutil.Process) -> bool:
    try:
        return one.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.usefixtures("_browser")
@pytest.mark.parametrize("entries", [2, 4, 12])
def test_a_legend_of_several_rows_stays_below_the_title(tmp_path: Path, entries: int) -> None:
    names = [f"device {number} of the array, what it wrote" for number in range(entries)]
    data = [{"type": "scatter", "x": [0, 1], "y": [0, number], "name": name} for number, name in enumerate(names)]
    drawn = export_figure(Figure("many", "Title", "about", data, {"showlegend": True}), tmp_path, "svg").read_text()
    title = re.search(r'class="gtitle"[^>]* y="([\d.]+)"', drawn)
    legend = re.search(r'class="legend"[^>]*translate\([\d.]+, ?([-\d.]+)\)', drawn)
    assert title is not None and legend is not None, drawn[:2000]
    # Where the title's line begins, and the height of its font.
    assert float(legend[1]) > float(title[1]) + 15
