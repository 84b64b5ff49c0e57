"""What a reader does with the pages in Chromium: filters, opens, compares, zooms, reloads, stops; keys, phone, dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import synthetic
from drawn import DRAWN, open_page, until, until_at
from playwright.sync_api import Page, expect
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


def zoom(page: Page, times: int) -> list[float]:
    """Zooms the first chart with its keys until all follow; the span in the unit of the axis."""
    page.locator(".plot").first.focus()
    (whole, *_) = page.evaluate(SPANS)
    page.keyboard.type("+" * times)
    width = (whole[1] - whole[0]) * 0.7**times
    until(page, f"{SPANS}.every(([from, to]) => Math.abs(to - from - {width}) < {width / 1e6})")
    found: list[float] = page.evaluate(SPANS)[0]
    return found


def points(page: Page) -> str | None:
    """How many seconds the page of a run under way has drawn."""
    return page.locator("body").get_attribute("data-points")


def test_filter_and_search(lab: Lab, page: Page) -> None:
    lab.catalogue.start()
    wait_for(lambda: lab.catalogue.read()[1] == 0)
    open_page(page, lab, "/")
    runs = page.locator("#runs tbody tr")
    expect(page.locator("#count")).to_have_text("2 of 2 runs.")
    page.get_by_label("any verdict").select_option("stalls")
    page.wait_for_url("**/?*verdict=stalls*")
    expect(runs).to_have_count(1)
    expect(runs.locator(".what .faint")).to_have_text("one")
    open_page(page, lab, "/")
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("all/fill")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=all*")
    expect(runs).to_have_count(1)
    expect(runs.locator(".what .faint")).to_have_text("all/fill")


def test_two_runs_are_chosen_and_compared_by_keys(two_results: Path, long_result: Path, page: Page) -> None:
    with Lab([two_results / "one", long_result]) as lab:
        open_page(page, lab, "/")
        expect(page.get_by_role("button", name="Compare the chosen")).to_be_disabled()
        page.keyboard.type("jxjxc")
        until_at(page, "/compare")
        assert page.locator(".plot").count() == 1
        (whole,) = page.evaluate(SPANS)
        page.locator(".plot").press("+")
        until(page, f"{SPANS}[0][1] < {whole[1]}")
        page.keyboard.press("Home")
        until(page, f"{SPANS}[0][0] === {whole[0]} && {SPANS}[0][1] === {whole[1]}")


def test_a_report_is_opened_from_the_list_and_zooming_fetches_every_second(long_result: Path, page: Page) -> None:
    path = f"/run/{key_of(long_result)}"
    with Lab([long_result.parent]) as lab:
        open_page(page, lab, "/")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        until_at(page, path)
        # What it may do is what the header and the page say.
        assert "connect-src 'self'" in lab.ask(path).headers["content-security-policy"]
        assert (
            page.evaluate("document.querySelector('.plot').data.find((one) => one.name === 'throughput').y.length")
            < 9000
        )
        from_h, to_h = zoom(page, 12)
        until(page, "document.body.dataset.closer")
        seconds = (to_h - from_h) * 3600
        until(page, f"{POINTS} >= {int(seconds)}")
        assert page.evaluate(POINTS) <= seconds + 1
        # Another span, and back to all of it.
        page.keyboard.press("ArrowRight")
        until(page, f"{SPANS}[0][0] > {from_h} && {POINTS} >= {int(seconds)}")
        page.keyboard.press("Home")
        until(page, f"{SPANS}.every(([from, to]) => from === 0 && to > {to_h}) && {POINTS} < 9000")
        assert page.locator("#closer").is_hidden()


def test_a_report_says_why_there_are_no_more_points(long_result: Path, page: Page, problems: list[str]) -> None:
    with Lab([long_result.parent]) as lab:
        open_page(page, lab, f"/run/{key_of(long_result)}")
    zoom(page, 12)
    expect(page.locator("#closer")).to_be_visible()
    expect(page.locator("#closer")).to_have_text(re.compile(r"flatwater serve does not answer\.$"))
    problems.clear()  # the browser says of its own that nothing answered


def test_a_live_page_zooms_all_its_charts_and_keeps_that_after_the_end(long_run: Result, page: Page) -> None:
    told = page.locator("#told")
    with Lab([long_run.path.parent]) as lab:
        open_page(page, lab, live(long_run))
        assert page.locator(".plot").count() == 2
        from_h, to_h = zoom(page, 12)
        seconds = (to_h - from_h) * 3600
        until(page, f"{POINTS} >= {int(seconds)}")
        write_seconds(long_run, LONG, 5)
        until(page, f"document.querySelector('.plot').data[0].x.at(-1) * 3600 > {LONG + 4}")
        assert page.evaluate(SPANS)[0] == [from_h, to_h], "what is looked at stays while the run goes on"
        long_run.write_manifest("interrupted")
        expect(told).to_have_attribute("data-state", "ended")
        assert page.locator("#told + #report a").text_content() == "The report"
        page.keyboard.press("ArrowLeft")
        until(page, f"{SPANS}[0][0] < {from_h} && {POINTS} >= {int(seconds)}")
        wait_for(lambda: lab.ask(live(long_run)).status == 303)
        page.reload()
        until_at(page, live(long_run).removesuffix("/live"))


def test_a_chart_that_has_grown_goes_back_to_all_of_it(tmp_path: Path, page: Page) -> None:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 60)
    with Lab([result.path.parent]) as lab:
        open_page(page, lab, live(result))
        assert page.evaluate(SPANS) == [[0, 60]] * 2
        write_seconds(result, 60, 40)
        until(page, f"{SPANS}.every(([from, to]) => from === 0 && to === 100)")
        zoom(page, 2)
        # Minutes are the unit from then on: what is looked at is the same.
        shown = page.evaluate(SPANS)[0]
        write_seconds(result, 100, 560)
        until(page, f"{SPANS}[0][1] < 2")
        assert page.evaluate(SPANS)[0] == pytest.approx([at / 60 for at in shown])
        page.locator(".plot .nsewdrag").first.dblclick()
        until(page, f"{SPANS}.every(([from, to]) => from === 0 && to === 11)")


def test_a_reload_has_every_second(tmp_path: Path, page: Page) -> None:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 1800)
    with Lab([result.path.parent]) as lab:
        open_page(page, lab, live(result))
        assert points(page) == "1800"
        write_seconds(result, 1800, 3)
        expect(page.locator("body")).to_have_attribute("data-points", "1803")
        page.reload()
        until(page, DRAWN)
        assert points(page) == "1803"


def test_a_page_that_nobody_looks_at_takes_no_connection(tmp_path: Path, page: Page) -> None:
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 30)
    # A headless browser shows all its pages.
    hide = """(hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with Lab([result.path.parent]) as lab:
        open_page(page, lab, live(result))
        page.evaluate(hide, True)
        wait_for(lambda: lab.hub.viewers == 0)
        write_seconds(result, 30, 10)
        page.evaluate(hide, False)
        expect(page.locator("body")).to_have_attribute("data-points", "40")
        # It ends while nobody looks: what was drawn stays, and the report is near.
        page.evaluate(hide, True)
        wait_for(lambda: lab.hub.viewers == 0)
        result.write_manifest("complete")
        wait_for(lambda: lab.ask(live(result)).status == 303)
        page.evaluate(hide, False)
        expect(page.locator("#told[data-state=ended] + #report")).to_be_attached()
        assert points(page) == "40"


def test_who_is_refused_is_told_why(
    tmp_path: Path, page: Page, problems: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = STATIC["feed.js"]()
    monkeypatch.setitem(STATIC, "feed.js", lambda: own.replace("AGAIN_MS = 5000", "AGAIN_MS = 100"))
    result = started_run(tmp_path / "results" / "run")
    write_seconds(result, 0, 30)
    told = page.locator("#told")
    with Lab([result.path.parent], TOKEN, viewers=1) as lab:
        other = lab.watch(key_of(result.path))
        other.until(lambda name, data: True)
        page.goto(lab.address(live(result)))
        expect(told).to_contain_text("1 viewers watch already")
        other.close()
        # Its place is free: the page comes by itself.
        expect(page.locator("body")).to_have_attribute("data-points", "30")
        # A browser that the server does not know (it was started anew, with another token).
        page.context.clear_cookies()
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(told).to_contain_text("Open the whole address that flatwater told")
        text = told.text_content() or ""
        assert text.startswith("flatwater serve refuses: ") and "again" not in text
    problems.clear()  # the browser tells of each refusal itself


def test_ten_thousand_runs(two_results: Path, tmp_path: Path, page: Page) -> None:
    copies(two_results / "one", tmp_path / "results", 10_000)
    with Lab([tmp_path / "results"]) as lab:
        lab.catalogue.start()
        open_page(page, lab, "/")
        expect(page.locator("#count")).to_contain_text("of 10,000 runs")
        expect(page.locator("#runs tbody tr")).to_have_count(50)
        wait_for(lambda: lab.catalogue.read()[1] == 0)
        open_page(page, lab, "/?q=number+777")
        expect(page.locator("#count")).to_contain_text("19 of 10,000 runs.")
        open_page(page, lab, "/?page=200")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/run/*")
        until(page, DRAWN)


def test_stop(tmp_path: Path, page: Page) -> None:
    (tmp_path / "results").mkdir()
    wish = ["sweep.storage.fill=[0.5]", "workload.duration_s=100000"]
    with Lab([tmp_path / "results"], TOKEN, Launcher(tmp_path / "results")) as lab:
        open_page(page, lab, "/experiments/fill-level-tachion-400")
        page.get_by_label("What is to be different").fill("\n".join(wish))
        page.get_by_role("button", name="Start").click()
        page.wait_for_url("**/live")
        page.get_by_role("button", name="Stop").click()
        # On the page of the run, which goes on until its result is whole, or on that of what it said.
        told = page.locator("#told[data-state=ended]")
        expect(told).to_contain_text("interrupted")
        assert page.get_by_role("button", name="Stop").count() == 0
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


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_scrolls_no_page_to_the_side(lab_of_pages: tuple[Lab, dict[str, str]], phone: Page, name: str) -> None:
    lab, addresses = lab_of_pages
    for width in (320, 390):
        phone.set_viewport_size({"width": width, "height": 780})
        open_page(phone, lab, addresses[name])
        assert phone.evaluate("innerWidth") == width and not phone.evaluate(WIDE)


@pytest.mark.parametrize("name", PAGES)
def test_dark_pages_are_dark(lab_of_pages: tuple[Lab, dict[str, str]], page: Page, name: str) -> None:
    lab, addresses = lab_of_pages
    colours = """[getComputedStyle(document.body).backgroundColor,
        ...[...document.querySelectorAll(".plot")].map((plot) => plot._fullLayout.paper_bgcolor)]"""
    schemes: dict[Literal["light", "dark"], str] = {"light": PAPER, "dark": DARK[PAPER]}
    for scheme, paper in schemes.items():
        page.emulate_media(color_scheme=scheme)
        open_page(page, lab, addresses[name])
        body, *plots = page.evaluate(colours)
        assert body == f"rgb({', '.join(str(int(paper[at : at + 2], 16)) for at in (1, 3, 5))})"
        assert set(plots) <= {paper} and bool(plots) == (name in ("report", "sweep", "live", "compare"))
