"""Pages of several results: what was published beside ours, and what runs cost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from servelab import Lab, wait_for

from flatwater.errors import UserError
from flatwater.experiment import load
from flatwater.experiment.library import library_files
from flatwater.report.document import Rows
from flatwater.results.foreign import as_foreign
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment
from flatwater.serve import documents
from flatwater.serve.folders import find_results, key_of
from flatwater.serve.listed import Listed, read_listed


@pytest.fixture(scope="session")
def published_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A modelled run with published figures, of a few seconds of virtual time."""
    folder = tmp_path_factory.mktemp("published") / "tachion"
    experiment = load(library_files()["fill-level-tachion-400"], ["workload.duration_s=20"])
    run_experiment(experiment, folder, SilentReporter(), lambda *told: None)
    return folder


@pytest.fixture
def runs(published_run: Path, two_results: Path, tmp_path: Path) -> Iterator[Path]:
    """Two runs of an experiment with published figures, and one of another without."""
    for name in ("old", "new"):
        shutil.copytree(published_run, tmp_path / "runs" / name)
    manifest = tmp_path / "runs" / "old" / "flatwater.json"
    manifest.write_text(manifest.read_text().replace('"created_at": "2', '"created_at": "1'))
    shutil.copytree(two_results / "one", tmp_path / "runs" / "other")
    summary = json.loads((tmp_path / "runs" / "other" / "summary.json").read_text())
    for cell in summary["cells"]:
        cell["published"] = None
    (tmp_path / "runs" / "other" / "summary.json").write_text(json.dumps(summary))
    yield tmp_path / "runs"


def listed(folder: Path) -> dict[str, Listed]:
    return {place.name: read_listed(place) for place in find_results([folder])}


def test_the_newest_run_of_each_experiment_is_beside_what_was_published(runs: Path) -> None:
    found = listed(runs)
    assert found["other"].published == 0 and found["new"].published == found["old"].published > 0
    newest = documents.newest_published(list(found.values()))
    assert [one.place.name for one in newest] == ["new"]
    document = documents.published(newest)
    assert "figures agree" in document.headline
    rows = [row for block in document.blocks if isinstance(block, Rows) for row in block.rows]
    assert rows[0][0] == "fill-level-tachion-400" and any("fitted" in " ".join(row) for row in rows)


def test_a_run_that_is_damaged_hides_no_other(runs: Path) -> None:
    found = listed(runs)
    (runs / "old" / "experiment.toml").write_text("no [toml")
    document = documents.published([found["new"], found["old"]])
    assert "Left out: old: " in str(document.blocks[-1]) and "figures agree" in document.headline


def test_what_is_still_to_be_read_is_told(runs: Path) -> None:
    document = documents.published([], unread=1234)
    assert "1,234 results are still being read" in str(document.blocks[0])
    with Lab([runs]) as lab:
        assert "3 results are still being read" in lab.ask("/published").text
        lab.ask("/")
        assert "still being read" not in lab.ask("/published").text


def test_the_page_of_published_figures(runs: Path) -> None:
    with Lab([runs]) as lab:
        assert 'href="/published"' in lab.ask("/").text
        wait_for(lambda: "tachion" in lab.ask("/published").text)
        text = lab.ask("/published").text
        assert "figures agree" in text and 'href="/"' in text and "<script" not in text
    with Lab([runs / "other"]) as lab:
        lab.ask("/")
        assert "Nothing was published of these experiments." in lab.ask("/published").text


def test_what_runs_cost(runs: Path) -> None:
    document = documents.cost([listed(runs)["new"]])
    rows = [row for block in document.blocks if isinstance(block, Rows) for row in block.rows]
    assert len([row for row in rows if "0.3" in " ".join(row)]) > 0
    with Lab([runs]) as lab:
        keys = [key_of(runs / name) for name in ("new", "old")]
        answer = lab.ask(f"/cost?run={keys[0]}&run={keys[1]}")
        assert answer.status == 200 and "What it costs" in answer.text and "new: " in answer.text
        assert lab.ask("/cost").status == 400
        assert lab.ask("/cost?run=0000000000000000").status == 404
        assert lab.ask("/cost?" + "&".join(f"run={number}" for number in range(50))).status == 400
        assert 'formaction="/cost"' in lab.ask("/").text


@pytest.mark.parametrize("line", ['device = "{secret}"', 'device = "../secret.toml"'])
def test_no_file_that_a_result_names_is_opened(runs: Path, line: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.toml"
    secret.write_text('password = "of somebody"')
    file = runs / "new" / "experiment.toml"
    known = next(one for one in file.read_text().splitlines() if one.startswith("device = "))
    file.write_text(file.read_text().replace(known, line.format(secret=secret)))
    with as_foreign([runs]), pytest.raises(UserError, match="no page opens a file that a result names") as told:
        documents.cost([listed(runs)["new"]])
    assert "secret" not in str(told.value) and str(runs) not in str(told.value)
    file.write_text(file.read_text().replace(line.format(secret=secret), known) + f'\n[cost]\nprices = "{secret}"\n')
    with as_foreign([runs]):
        document = documents.cost([listed(runs)["new"]])
    assert "Price files that the experiments name are not read here" in str(document.blocks[0])
