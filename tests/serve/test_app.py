"""What a browser is answered, over the machine's own network."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import synthetic
from servelab import Lab, started_run, wait_for, write_seconds

from flatwater.results.tags import change_tags
from flatwater.serve.app import query_of
from flatwater.serve.catalogue import Query
from flatwater.serve.files import STATIC
from flatwater.serve.folders import key_of

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from each_result import HOSTILE


class Page(HTMLParser):
    """What a page loads, where it leads, and whether anything in it would run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    @property
    def runs(self) -> list[str]:
        """The links to runs."""
        return [one for one in self.links if one.startswith("/run/")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tags.append(tag)
        self.handlers += [name for name in told if name.startswith("on")]
        if tag in ("script", "img", "iframe") and told.get("src"):
            self.loads.append(str(told["src"]))
        if tag == "link":
            self.loads.append(str(told["href"]))
        if tag == "a":
            self.links.append(str(told.get("href")))


def test_a_folder_that_is_gone(tmp_path: Path, two_results: Path) -> None:
    gone = tmp_path / "results"
    shutil.copytree(two_results / "one", gone / "one")
    with Lab([gone]) as lab:
        assert "is gone" not in lab.ask("/").text and Page(lab.ask("/").text).runs
        shutil.rmtree(gone)
        wait_for(lambda: not Page(lab.ask("/").text).runs)
        text = lab.ask("/").text
        assert f"The folder {gone} is gone." in text and "There is no result here yet" not in text
        gone.mkdir()
        assert "There is no result here yet" in lab.ask("/").text
    gone.rmdir()
    gone.write_text("")
    with Lab([gone, two_results]) as lab:
        text = lab.ask("/").text
        assert f"The folder {gone} cannot be looked into: Not a directory." in text and Page(text).runs


def test_the_list(lab: Lab, two_results: Path) -> None:
    answer = lab.ask("/")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/html")
    page = Page(answer.text)
    one, sweep = key_of(two_results / "one"), key_of(two_results / "all" / "fill")
    assert {f"/run/{one}", f"/run/{sweep}"} <= set(page.links)
    assert "427.1 MiB/s" in answer.text and "stalls" in answer.text and "2 of 2 runs" in answer.text
    # Everything comes from here, and is there.
    assert page.loads and all(one.startswith(("/static/", "/run/", "data:,")) for one in page.loads)
    for one in page.loads:
        if one != "data:,":
            assert lab.ask(one).status == 200, one
    assert "style=" not in answer.text and "<style" not in answer.text and not page.handlers


def test_the_policy_lets_nothing_in(lab: Lab) -> None:
    policy = lab.ask("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy


def test_filter_and_search_over_http(lab: Lab) -> None:
    lab.catalogue.refresh()
    lab.ask("/")
    assert "1 of 2 runs" in lab.ask("/?verdict=stalls").text
    assert "No run is like that" in lab.ask("/?q=%3Cscript%3E").text
    assert "0 of 2 runs" in lab.ask("/?status=failed&q=one").text


def test_tags_are_shown_and_lead_to_all_that_have_them(tmp_path: Path) -> None:
    for name, value in (("a", "6.12"), ("b", '<b>&"=x'), ("c", "6.12")):
        synthetic.single(tmp_path / name, 60)
        change_tags(tmp_path / name, {"kernel": value})
    with Lab([tmp_path]) as lab:
        links = [one for one in Page(lab.ask("/").text).links if "tag=" in one]
        assert links.count("/?tag=kernel%3D6.12") == 2 and len(links) == 3
        assert "2 of 3 runs" in lab.ask("/?tag=kernel%3D6.12").text
        nasty = next(one for one in links if "6.12" not in one)
        answer = lab.ask(nasty)
        assert "1 of 3 runs" in answer.text and "<b>&" not in answer.text


def test_a_report(lab: Lab, two_results: Path) -> None:
    path = f"/run/{key_of(two_results / 'one')}"
    answer = lab.ask(path)
    assert answer.status == 200 and "Over time" in answer.text and 'href="/"' in answer.text
    packed = lab.ask(path, {"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip" and gzip.decompress(packed.body) == answer.body
    assert len(packed.body) < len(answer.body) / 2
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and policy.count("'sha256-") == 3
    # It asks this server for more points, and nobody else.
    assert policy.count("connect-src") == 1 and "connect-src 'self';" in policy
    assert f'data-spans="{path}/span"' in answer.text and 'connect-src &#39;self&#39;"' in answer.text
    # Nothing was written into the result.
    assert not (two_results / "one" / "report.html").exists()


def test_a_comparison_tells_first_what_differs(lab: Lab, two_results: Path, tmp_path: Path) -> None:
    shutil.copytree(two_results / "one", tmp_path / "other")
    machine = json.loads((tmp_path / "other" / "machine.json").read_text()) | {"cpu": "another processor"}
    (tmp_path / "other" / "machine.json").write_text(json.dumps(machine))
    with Lab([two_results, tmp_path]) as both:
        keys = [key_of(two_results / "one"), key_of(tmp_path / "other")]
        answer = both.ask(f"/compare?run={keys[0]}&run={keys[1]}")
        assert answer.status == 200
        assert answer.text.index("another processor") < answer.text.index("Cell by cell")
        assert '"overlay-0"' in answer.text and "another processor" in answer.text
        assert both.ask(f"/compare?run={keys[0]}").status == 400
        assert both.ask(f"/compare?run={keys[0]}&run={keys[0]}").status == 400
        assert both.ask("/compare").status == 400
        assert both.ask("/compare?" + "&".join(f"run={number}" for number in range(50))).status == 400
        # Two that share nothing are told so in one line.
        fill = key_of(two_results / "all" / "fill")
        answer = both.ask(f"/compare?run={keys[0]}&run={fill}")
        assert answer.status == 500 and "no cell of one is in the other" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        *("/run/0000000000000000", "/run/..%2f..%2fetc%2fpasswd", "/run/%00", "/run/one", "/run//", "/nosuch"),
        *("/static/..%2fapp.py", "/static/nosuch.js", "/../../etc/passwd", "/notes/secret.txt", "/one/flatwater.json"),
        *(
            "/run/0000000000000000/live",
            "/run/0000000000000000/events",
            "/run/0000000000000000/span?cell=0&from=1&to=2",
            "/run/x/sparkline.svg",
        ),
        *("/trend?name=nosuch", "/cost?run=0000000000000000"),
    ],
)
def test_nothing_else_is_served(lab: Lab, path: str) -> None:
    answer = lab.ask(path)
    assert answer.status == 404
    assert "nobody is shown this" not in answer.text and "Traceback" not in answer.text


def test_the_checks_stand_before_every_address(lab: Lab, two_results: Path) -> None:
    key = key_of(two_results / "one")
    for path in ("/", f"/run/{key}", f"/run/{key}/live", f"/run/{key}/events", "/metrics", "/static/page.css", "/x"):
        assert lab.ask(path, {"Host": "attacker.example"}).status == 403
        assert lab.ask(path, {"Origin": "http://attacker.example"}).status == 403
        assert lab.ask(path, method="POST").status == 405


def test_hostile_names(tmp_path: Path) -> None:
    synthetic.single(tmp_path / "<script>alert(1)<script>", 60)
    synthetic.single(tmp_path / "a\nb\x1b[31m\u202e", 60)
    nasty = os.fsencode(tmp_path) + b"/\xff\xfe"
    shutil.copytree(tmp_path / "a\nb\x1b[31m\u202e", os.fsdecode(nasty))
    write_seconds(started_run(tmp_path / '"><img src=x onerror=alert(2)>', title=HOSTILE), 0, 1)
    for folder in tmp_path.iterdir():
        manifest = json.loads((folder / "flatwater.json").read_text()) | {"title": HOSTILE, "name": HOSTILE}
        (folder / "flatwater.json").write_text(json.dumps(manifest))
    (tmp_path / "<b>damaged<b>").mkdir()
    (tmp_path / "<b>damaged<b>" / "flatwater.json").write_text('{"<i>": 1}')
    with Lab([tmp_path]) as lab:
        answer = lab.ask("/")
        page = Page(answer.text)
        assert answer.status == 200 and page.links.count("/") == 0 and len(page.runs) == 4
        _check_harmless(answer.text, scripts=1)
        assert "&lt;b&gt;damaged" in answer.text
        for link in page.links:
            found = lab.ask(link)
            # No series can be read where the name is not UTF-8: told in a line.
            assert found.status == 200 or "cannot read" in found.text, found.text[:2000]
            _check_harmless(found.text, scripts=7)
        assert "run=" in lab.ask("/metrics").text


def _check_harmless(text: str, scripts: int) -> None:
    page = Page(re.sub(r"(<script\b[^>]*>).*?(</script>)", r"\1\2", text, flags=re.DOTALL))
    assert not page.handlers and page.tags.count("script") <= scripts + 1
    assert ("x" not in page.loads and "b" not in page.tags[page.tags.index("body") :]) or "onerror" not in page.handlers
    assert "\x1b" not in text and "\u202e" not in text


def test_a_run_under_way_has_a_page_of_its_own(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 3)
    with Lab([tmp_path]) as lab:
        (link,) = Page(lab.ask("/").text).runs
        assert link.endswith("/live")
        page = lab.ask(link)
        assert page.status == 200 and f'data-run="{link.removesuffix("/live")}"' in page.text
        for one in Page(page.text).loads:
            if one != "data:,":
                assert lab.ask(one).status == 200
        # The report of what was recorded so far.
        assert "A run under way" in lab.ask(link.removesuffix("/live")).text
        # Once it is over, the report is all there is.
        result.write_manifest("complete")
        wait_for(lambda: lab.ask(link).status == 303)
        assert lab.ask(link).headers["location"] == link.removesuffix("/live")


def test_a_span_of_a_run_that_is_watched(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 30)
    key = key_of(result.path)
    with Lab([tmp_path]) as lab:
        events = lab.watch(key)
        next(iter(events))
        answer = lab.ask(f"/run/{key}/span?cell=0&from=10&to=12.5")
        assert answer.status == 200 and answer.headers["content-type"] == "application/json"
        assert len(json.loads(answer.body)["lines"]["workload.throughput"]["v"]) == 5
        assert lab.ask(f"/run/{key}/span?cell=1&from=10&to=12.5").status == 404
        events.close()


def test_a_span_of_a_result(lab: Lab, two_results: Path) -> None:
    one, sweep = key_of(two_results / "one"), key_of(two_results / "all" / "fill")
    found = json.loads(lab.ask(f"/run/{one}/span?cell=0&from=10&to=12").body)
    assert found["cell"] == 0 and [table["first"] for table in found["times"]] == [9] * len(found["times"])
    assert {len(line["v"]) for line in found["lines"].values()} == {4}
    # Of every cell, and of what is beyond the end nothing but the last second.
    first, second = (
        json.loads(lab.ask(f"/run/{sweep}/span?cell={cell}&from=10&to=12").body)["lines"] for cell in (0, 1)
    )
    assert first["workload.throughput"] != second["workload.throughput"]
    late = json.loads(lab.ask(f"/run/{one}/span?cell=0&from=1e6&to=2e6").body)
    assert len(late["lines"]["workload.throughput"]["v"]) == 1
    assert lab.ask(f"/run/{one}/span?cell=1&from=1&to=2").status == 404


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "from=1&to=2", "cell=0&from=1", "cell=0&from=2&to=1", "cell=0&from=nan&to=1", "cell=0&from=0&to=inf"),
        *("cell=0&from=a&to=b", "cell=0&from=1&to=1", "cell=-1&from=1&to=2", "cell=x&from=1&to=2"),
        f"cell={'9' * 400}&from=1&to=2",
    ],
)
def test_what_is_no_span(lab: Lab, two_results: Path, wrong: str) -> None:
    assert lab.ask(f"/run/{key_of(two_results / 'one')}/span?{wrong}").status == 400


def test_a_span_of_a_run_that_nobody_watches_any_more(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 30)
    with Lab([tmp_path]) as lab:
        asked = f"/run/{key_of(result.path)}/span?cell=0&from=10&to=12.5"
        under_way = lab.ask(asked)
        assert len(json.loads(under_way.body)["lines"]["workload.throughput"]["v"]) == 5
        result.write_manifest("interrupted")
        wait_for(lambda: lab.ask(asked.partition("/span")[0] + "/live").status == 303)
        assert json.loads(lab.ask(asked).body)["lines"] == json.loads(under_way.body)["lines"]


def test_scripts_are_those_of_the_server_that_runs(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lab.ask("/static/live.js")
    tag = first.headers["etag"]
    assert "no-cache" in first.headers["cache-control"] and "max-age" not in first.headers["cache-control"]
    again = lab.ask("/static/live.js", {"If-None-Match": tag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    monkeypatch.setitem(STATIC, "live.js", lambda: "newer")
    newer = lab.ask("/static/live.js", {"If-None-Match": tag})
    assert (newer.status, newer.body) == (200, b"newer") and newer.headers["etag"] != tag


def test_a_result_that_is_damaged_is_told_in_a_line(tmp_path: Path, two_results: Path) -> None:
    shutil.copytree(two_results / "one", tmp_path / "one")
    (tmp_path / "one" / "experiment.toml").write_text("no [toml")
    with Lab([tmp_path]) as lab:
        answer = lab.ask(f"/run/{key_of(tmp_path / 'one')}")
        assert answer.status == 500 and "cannot read experiment.toml" in answer.text
        assert "Traceback" not in answer.text


def test_what_an_address_asks_for() -> None:
    assert query_of({"q": "a b", "verdict": "flat", "sort": "mean", "page": "3"}) == Query(
        "a b", "flat", sort="mean", page=3
    )
    assert query_of({"status": "<b>", "limits": "x", "sort": "y", "page": "-1"}) == Query()
    assert query_of({"page": "9" * 400}) == query_of({"page": "٣"}) == Query()
    assert len(query_of({"q": "x" * 10_000}).text) == 200


def test_metrics_over_http(lab: Lab) -> None:
    answer = lab.ask("/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")
