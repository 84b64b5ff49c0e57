"""What a reader does with the pages in Chromium: filters, opens, compares, zooms, reloads, stops; keys, phone, dark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import synthetic
from chromium import Chromium
from servelab import Lab, started_run, wait_for, write_seconds
from test_catalogue import copies

from flatwater.report.figure import DARK, PAPER
from flatwater.results import Result
from flatwater.results.opening import read_manifest
from flatwater.serve.files import STATIC
from flatwater.serve.folders import key_of
from flatwater.serve.launch.launcher import Launcher

pytestmark = pytest.mark.slow
#: Seconds of a run that no page has every point of.
LONG = 20_000
TOKEN = "a-token-of-this-test"
#: The span that each chart over time shows, and how many points of its first line are in it.
SPANS = """[...document.querySelectorAll(".plot")].map((plot) => plot.layout.xaxis.range.map(Number))"""
POINTS = """(() => {
  const plot = document.querySelector(".plot");
  const [from, to] = plot.layout.xaxis.range.map(Number);
  const line = plot.data.find((one) => one.name === "throughput");
  return [...line.x].filter((at, i) => from <= at && at <= to && line.y[i] !== null).length;
})()"""
#: No chart is larger than the page, and nothing scrolls to the side.
WIDE = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    with Chromium(tmp_path / "profile") as found:
        found.look()
        yield found
        assert not found.problems


@pytest.fixture(scope="session")
def long_result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    result = synthetic.create(folder / "long", [({}, 0)])
    columns = synthetic.columns(np.random.default_rng(1), LONG, 300.0, [], [])
    synthetic.write_rows(result, iter([(0, columns)]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 300.0, LONG)])
    return result.path


@pytest.fixture
def long_run(tmp_path: Path) -> Result:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, LONG)
    return result


def live(result: Result) -> str:
    return f"/run/{key_of(result.path)}/live"


def zoom(browser: Chromium, times: int) -> list[float]:
    """Zooms the first chart with its keys until all follow; the span in the unit of the axis."""
    browser.ask("document.querySelector('.plot').focus()")
    (whole, *_) = browser.ask(SPANS)
    browser.press(*"+" * times)
    width = (whole[1] - whole[0]) * 0.7**times
    browser.until(f"{SPANS}.every(([from, to]) => Math.abs(to - from - {width}) < {width / 1e6})")
    found: list[float] = browser.ask(SPANS)[0]
    return found


def test_filter_and_search(lab: Lab, browser: Chromium) -> None:
    lab.catalogue.start()
    wait_for(lambda: lab.catalogue.read()[1] == 0)
    browser.open(lab, "/")
    assert browser.ask("document.getElementById('count').textContent.trim()") == "2 of 2 runs."
    choose = "document.querySelector('select[name=verdict]')"
    browser.ask(f"{choose}.value = 'stalls'; {choose}.dispatchEvent(new Event('change'))")
    browser.until(
        "location.search.includes('verdict=stalls') && document.querySelectorAll('#runs tbody tr').length === 1"
    )
    assert browser.ask("document.querySelector('#runs .what .faint').textContent") == "one"
    browser.open(lab, "/")
    browser.press("/")
    browser.write("all/fill")
    browser.press("Enter")
    browser.until("location.search.includes('q=all') && document.querySelectorAll('#runs tbody tr').length === 1")
    assert browser.ask("document.querySelector('#runs .what .faint').textContent") == "all/fill"


def test_two_runs_are_chosen_and_compared_by_keys(two_results: Path, long_result: Path, browser: Chromium) -> None:
    with Lab([two_results / "one", long_result]) as lab:
        browser.open(lab, "/")
        assert browser.ask("document.getElementById('compare').disabled")
        browser.press("j", "x", "j", "x", "c")
        browser.until_ready("/compare")
        assert browser.ask("document.querySelectorAll('.plot').length") == 1
        (whole,) = browser.ask(SPANS)
        browser.ask("document.querySelector('.plot').focus()")
        browser.press("+")
        browser.until(f"{SPANS}[0][1] < {whole[1]}")
        browser.press("Home")
        browser.until(f"{SPANS}[0][0] === {whole[0]} && {SPANS}[0][1] === {whole[1]}")


def test_a_report_is_opened_from_the_list_and_zooming_fetches_every_second(
    long_result: Path, browser: Chromium
) -> None:
    path = f"/run/{key_of(long_result)}"
    with Lab([long_result.parent]) as lab:
        browser.open(lab, "/")
        browser.press("j", "Enter")
        browser.until_ready(path)
        # What it may do is what the header and the page say.
        assert "connect-src 'self'" in lab.ask(path).headers["content-security-policy"]
        assert (
            browser.ask("document.querySelector('.plot').data.find((one) => one.name === 'throughput').y.length") < 9000
        )
        from_h, to_h = zoom(browser, 12)
        browser.until("document.body.dataset.closer")
        seconds = (to_h - from_h) * 3600
        browser.until(f"{POINTS} >= {int(seconds)}")
        assert browser.ask(POINTS) <= seconds + 1
        # Another span, and back to all of it.
        browser.press("ArrowRight")
        browser.until(f"{SPANS}[0][0] > {from_h} && {POINTS} >= {int(seconds)}")
        browser.press("Home")
        browser.until(f"{SPANS}.every(([from, to]) => from === 0 && to > {to_h}) && {POINTS} < 9000")
        assert browser.ask("document.getElementById('closer').hidden")


def test_a_report_says_why_there_are_no_more_points(long_result: Path, browser: Chromium) -> None:
    with Lab([long_result.parent]) as lab:
        browser.open(lab, f"/run/{key_of(long_result)}")
    zoom(browser, 12)
    browser.until("!document.getElementById('closer').hidden")
    assert browser.ask("document.getElementById('closer').textContent").endswith("flatwater serve does not answer.")
    browser.problems.clear()  # the browser says of its own that nothing answered


def test_a_live_page_zooms_all_its_charts_and_keeps_that_after_the_end(long_run: Result, browser: Chromium) -> None:
    with Lab([long_run.path.parent]) as lab:
        browser.open(lab, live(long_run))
        assert browser.ask("document.querySelectorAll('.plot').length") == 2
        from_h, to_h = zoom(browser, 12)
        seconds = (to_h - from_h) * 3600
        browser.until(f"{POINTS} >= {int(seconds)}")
        write_seconds(long_run, LONG, 5)
        browser.until(f"document.querySelector('.plot').data[0].x.at(-1) * 3600 > {LONG + 4}")
        assert browser.ask(SPANS)[0] == [from_h, to_h], "what is looked at stays while the run goes on"
        long_run.write_manifest("interrupted")
        browser.until("document.getElementById('told').dataset.state === 'ended'")
        assert browser.ask("document.querySelector('#told + #report a').textContent") == "The report"
        browser.press("ArrowLeft")
        browser.until(f"{SPANS}[0][0] < {from_h} && {POINTS} >= {int(seconds)}")
        wait_for(lambda: lab.ask(live(long_run)).status == 303)
        browser.reload()
        browser.until_ready(live(long_run).removesuffix("/live"))


def test_a_chart_that_has_grown_goes_back_to_all_of_it(tmp_path: Path, browser: Chromium) -> None:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 60)
    with Lab([result.path.parent]) as lab:
        browser.open(lab, live(result))
        assert browser.ask(SPANS) == [[0, 60]] * 2
        write_seconds(result, 60, 40)
        browser.until(f"{SPANS}.every(([from, to]) => from === 0 && to === 100)")
        zoom(browser, 2)
        # Minutes are the unit from then on: what is looked at is the same.
        shown = browser.ask(SPANS)[0]
        write_seconds(result, 100, 560)
        browser.until(f"{SPANS}[0][1] < 2")
        assert browser.ask(SPANS)[0] == pytest.approx([at / 60 for at in shown])
        browser.click(".plot .nsewdrag", 2)
        browser.until(f"{SPANS}.every(([from, to]) => from === 0 && to === 11)")


def test_a_reload_has_every_second(tmp_path: Path, browser: Chromium) -> None:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 1800)
    with Lab([result.path.parent]) as lab:
        browser.open(lab, live(result))
        assert browser.ask("document.body.dataset.points") == "1800"
        write_seconds(result, 1800, 3)
        browser.until("document.body.dataset.points === '1803'")
        browser.reload()
        assert browser.ask("document.body.dataset.points") == "1803"


def test_a_page_that_nobody_looks_at_takes_no_connection(tmp_path: Path, browser: Chromium) -> None:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 30)
    seen = """Object.defineProperty(document, "hidden", {{ value: {}, configurable: true }});
        document.dispatchEvent(new Event("visibilitychange"))"""
    with Lab([result.path.parent]) as lab:
        browser.open(lab, live(result))
        browser.ask(seen.format("true"))
        wait_for(lambda: lab.hub.viewers == 0)
        write_seconds(result, 30, 10)
        browser.ask(seen.format("false"))
        browser.until("document.body.dataset.points === '40'")
        # It ends while nobody looks: what was drawn stays, and the report is near.
        browser.ask(seen.format("true"))
        wait_for(lambda: lab.hub.viewers == 0)
        result.write_manifest("complete")
        wait_for(lambda: lab.ask(live(result)).status == 303)
        browser.ask(seen.format("false"))
        browser.until("document.querySelector('#told[data-state=ended] + #report')")
        assert browser.ask("document.body.dataset.points") == "40"


def test_who_is_refused_is_told_why(tmp_path: Path, browser: Chromium, monkeypatch: pytest.MonkeyPatch) -> None:
    own = STATIC["feed.js"]()
    monkeypatch.setitem(STATIC, "feed.js", lambda: own.replace("AGAIN_MS = 5000", "AGAIN_MS = 100"))
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 30)
    told = "document.getElementById('told').textContent"
    with Lab([result.path.parent], TOKEN, viewers=1) as lab:
        other = lab.watch(key_of(result.path))
        other.until(lambda name, data: True)
        browser._send("Page.navigate", url=f"http://127.0.0.1:{lab.port}{live(result)}?token={TOKEN}")
        browser.until(f"document.getElementById('told') && {told}.includes('1 viewers watch already')")
        other.close()
        # Its place is free: the page comes by itself.
        browser.until("document.body.dataset.points === '30'")
        # A browser that the server does not know (it was started anew, with another token).
        browser.forget_cookies()
        browser.ask("document.dispatchEvent(new Event('visibilitychange'))")
        browser.until(f"{told}.includes('Open the whole address that flatwater told')")
        assert browser.ask(told).startswith("flatwater serve refuses: ") and "again" not in browser.ask(told)
    browser.problems.clear()  # the browser tells of each refusal itself


def test_ten_thousand_runs(two_results: Path, tmp_path: Path, browser: Chromium) -> None:
    copies(two_results / "one", tmp_path / "results", 10_000)
    with Lab([tmp_path / "results"]) as lab:
        lab.catalogue.start()
        browser.open(lab, "/")
        assert "of 10,000 runs" in browser.ask("document.getElementById('count').textContent")
        assert browser.ask("document.querySelectorAll('#runs tbody tr').length") == 50
        wait_for(lambda: lab.catalogue.read()[1] == 0)
        browser.open(lab, "/?q=number+777")
        assert "19 of 10,000 runs." in browser.ask("document.getElementById('count').textContent")
        browser.open(lab, "/?page=200")
        browser.press("j", "Enter")
        browser.until("location.pathname.startsWith('/run/') && document.body?.dataset.state === 'ready'")


def test_stop(tmp_path: Path, browser: Chromium) -> None:
    (tmp_path / "results").mkdir()
    wish = ["sweep.storage.fill=[0.5]", "workload.duration_s=100000"]
    with Lab([tmp_path / "results"], TOKEN, Launcher(tmp_path / "results")) as lab:
        browser.open(lab, "/experiments/fill-level-tachion-400")
        browser.ask(f"document.getElementById('lines').value = {json.dumps(chr(10).join(wish))}")
        browser.click("button[formaction]")
        browser.until("location.pathname.endsWith('/live') && document.querySelector('#stop button')")
        browser.click("#stop button")
        # On the page of the run, which goes on until its result is whole, or on that of what it said.
        browser.until("document.querySelector('#told[data-state=ended]')")
        assert "interrupted" in browser.ask("document.getElementById('told').textContent")
        assert browser.ask("document.querySelector('#stop button')") is None
        (folder,) = (tmp_path / "results").iterdir()
        assert read_manifest(folder).status == "interrupted"
        assert lab.launcher is not None
        (child,) = lab.launcher.started()
        wait_for(lambda: not child.alive)
        assert child.code == 130


PAGES = ["list", "report", "sweep", "live", "compare", "trend", "published"]


@pytest.fixture
def lab_of_pages(two_results: Path, tmp_path: Path) -> Iterator[tuple[Lab, dict[str, str]]]:
    result = started_run(tmp_path / "more" / "run")
    write_seconds(result, 0, 60)
    other = synthetic.single(tmp_path / "more" / "other", 300)
    one, sweep = key_of(two_results / "one"), key_of(two_results / "all" / "fill")
    compared = f"/compare?run={one}&run={key_of(other)}"
    paths = ["/", f"/run/{one}", f"/run/{sweep}", live(result), compared, "/trend", "/published"]
    addresses = dict(zip(PAGES, paths, strict=True))
    with Lab([two_results, tmp_path / "more"]) as lab:
        yield lab, addresses


@pytest.mark.parametrize("page", PAGES)
def test_a_phone_scrolls_no_page_to_the_side(
    lab_of_pages: tuple[Lab, dict[str, str]], browser: Chromium, page: str
) -> None:
    lab, addresses = lab_of_pages
    for width in (320, 390):
        browser.look(width=width, height=780, phone=True)
        browser.open(lab, addresses[page])
        assert browser.ask("innerWidth") == width and not browser.ask(WIDE)


@pytest.mark.parametrize("page", PAGES)
def test_dark_pages_are_dark(lab_of_pages: tuple[Lab, dict[str, str]], browser: Chromium, page: str) -> None:
    lab, addresses = lab_of_pages
    colours = """[getComputedStyle(document.body).backgroundColor,
        ...[...document.querySelectorAll(".plot")].map((plot) => plot._fullLayout.paper_bgcolor)]"""
    for dark, paper in ((False, PAPER), (True, DARK[PAPER])):
        browser.look(dark=dark)
        browser.open(lab, addresses[page])
        body, *plots = browser.ask(colours)
        assert body == f"rgb({', '.join(str(int(paper[at : at + 2], 16)) for at in (1, 3, 5))})"
        assert set(plots) <= {paper} and bool(plots) == (page in ("report", "sweep", "live", "compare"))
