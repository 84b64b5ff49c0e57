"""`flatwater run --all`: many modelled experiments as one run."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest
from lab import Lab
from modelledlab import summaries, write_modelled
from waiting import until

from flatwater.results import open_result, results_in

FIGURE = {"set": {"workload.rate_per_s": 500}, "value": 490, "unit": "IOPS", "source": "made up"}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def folder_of(lab: Lab, duration_s: float = 5) -> Path:
    """A folder of two modelled experiments, and a real one that is left out."""
    folder = lab.folder / "mine"
    folder.mkdir()
    for name, rates in (("one", [500, 1000]), ("two", [200, 300, 500])):
        file = write_modelled(lab, rates, duration_s=duration_s, published=[FIGURE], title=f"Number {name}")
        shutil.move(file, folder / f"{name}.toml")
    (folder / "real.toml").write_text('[workload]\nmode = "rndrd"\n')
    (folder / "notes.md").write_text("not read")
    return folder


def test_one_folder_one_table(lab: Lab) -> None:
    folder, out = folder_of(lab), lab.folder / "out"
    ran = lab.run(folder, "--all", "--json", out=out)
    ran.check()
    assert ran.code == 0, ran.stderr
    *cells, table = ran.cells
    assert sorted((cell["experiment"], cell["cell"]) for cell in cells) == [
        ("one", 0),
        ("one", 1),
        ("two", 0),
        ("two", 1),
        ("two", 2),
    ]
    assert table["agreement"]["figures"] == table["agreement"]["within_10_pct"] == 2
    assert [one["experiment"] for one in table["experiments"]] == ["one", "two"]
    assert table["experiments"][0]["rows"][0]["agrees"] is True
    assert table["left_out"] == {"real": "uses real storage, and needs storage.path"}
    index = results_in(out)
    assert (index.names, list(index.left_out)) == (["one", "two"], ["real"])
    assert [result.manifest.status for _, result in index.results() if result] == ["complete", "complete"]
    assert len(open_result(out / "two").cells) == 3

    page = lab.folder / "published.md"
    lab.flatwater("report", out, "--published", page).check()
    text = page.read_text()
    assert "| [one](#one) | 2 | 1 of 1 |  |  |  |  |" in text
    assert "| **all** | 5 | 2 of 2 |  |  |  |  |" in text
    assert "| predicted | 2 | 2 | 2 | 2 | 2 |" in text
    assert "- `real`: uses real storage, and needs storage.path." in text
    assert "| rate per s 1000 | mean | … |" in text
    asked = lab.flatwater("report", out, "--json")
    assert json.loads(asked.stdout) == table


def test_why_not_and_what_was_fitted(lab: Lab) -> None:
    near = FIGURE | {"standing": "fitted", "by": "the link", "missed": "no reason at all"}
    far = FIGURE | {
        "set": {"workload.rate_per_s": 1000},
        "value": 5000,
        "missed": "the appliance is not asked for more",
    }
    shape = {"verdict": "dips", "missed": "a closed loop has no bursts", "source": "made up"}
    folder, out = lab.folder / "mine", lab.folder / "out"
    folder.mkdir()
    shutil.move(write_modelled(lab, [500, 1000], duration_s=30, published=[near, far], expected=[shape]), folder)
    ran = lab.run(folder, "--all", out=out)
    assert ran.code == 0, ran.stderr
    assert "rate per s 500, mean: ours agrees, and the file says why not: take `missed` out" in ran.stderr
    lab.flatwater("report", out, "--published", lab.folder / "published.md").check()
    text = (lab.folder / "published.md").read_text()
    assert "| fitted by the link | made up |" in text and "no reason at all" not in text
    assert "| no | the appliance is not asked for more | predicted | made up |" in text
    assert text.count("| no | a closed loop has no bursts | predicted | made up |") == 2


def test_the_same_figures_as_alone(lab: Lab) -> None:
    folder = folder_of(lab)
    lab.run(folder, "--all", "--jobs", "2", out=lab.folder / "all").check()
    lab.run(folder / "two.toml", out=lab.folder / "alone").check()
    together, alone = open_result(lab.folder / "all/two"), open_result(lab.folder / "alone")
    volatile = {"started_at", "histograms"}
    for mine, other in zip(together.cells, alone.cells, strict=True):
        assert mine.summary is not None and other.summary is not None
        assert mine.summary.model_dump(exclude=volatile) == other.summary.model_dump(exclude=volatile)


def test_ctrl_c_keeps_what_is_done_and_resume_does_the_rest(lab: Lab) -> None:
    folder, out = folder_of(lab, duration_s=400), lab.folder / "out"
    running = lab.start(folder, "--all", "--jobs", "1", out=out)
    until(lambda: sum(summaries(place) for place in out.glob("*/")) or (out / "one/series.parquet").exists())
    running.process.send_signal(signal.SIGINT)
    ran = running.wait()
    assert ran.code == 130, ran.stderr
    assert "flatwater resume " in ran.error
    states = {name: result.manifest.status for name, result in results_in(out).results() if result is not None}
    assert "interrupted" in states.values()
    done = sum('"status":"complete"' in path.read_text() for path in out.glob("*/cells/*/summary.json"))
    again = lab.run(folder, "--all", "--resume", out=out)
    assert again.code == 0, again.stderr
    assert all(result is not None and result.manifest.status == "complete" for _, result in results_in(out).results())
    assert sum("[" in line and "Flat" in line for line in again.stderr.splitlines()) <= 5 - done


def test_one_that_fails_leaves_the_others(lab: Lab) -> None:
    """The device of the second experiment goes away while the first one runs."""
    folder, out = lab.folder / "mine", lab.folder / "out"
    folder.mkdir()
    for name, rates in (("one", [100_000, 90_000, 80_000]), ("two", [10, 20]), ("three", [30])):
        shutil.move(write_modelled(lab, rates, duration_s=20), folder / f"{name}.toml")
    device = lab.folder / "other.toml"
    shutil.copy(lab.folder / "appliance.toml", device)
    two = folder / "two.toml"
    two.write_text(two.read_text().replace("appliance.toml", "other.toml"))
    running = lab.start(folder / "one.toml", two, folder / "three.toml", "--all", "--jobs", "1", out=out)
    until(lambda: (out / "one/cells/0000/journal.jsonl").exists())
    device.unlink()
    ran = running.wait()
    assert ran.code == 1
    assert "1 of 3 experiments failed" in ran.error and "two: 2 of 2 cells failed" in ran.error
    states = {name: result.manifest.status for name, result in results_in(out).results() if result is not None}
    assert states == {"one": "complete", "two": "failed", "three": "complete"}


def test_what_is_no_folder_of_experiments_is_one_line(lab: Lab) -> None:
    folder = folder_of(lab)
    out = lab.folder / "taken"
    lab.run(folder / "one.toml", out=out / "one").check()
    empty = lab.folder / "empty"
    empty.mkdir()
    for asked, told in (
        ((empty, "--all"), "holds no experiment file (*.toml)"),
        ((out, "--all"), "holds results, and no experiment file"),
        ((out / "one", "--all"), "is a result, and no folder of experiments"),
        ((lab.folder / "nowhere", "--all"), "no such file"),
        ((folder / "real.toml", "--all"), "nothing to run: real uses real storage, and needs storage.path"),
        ((folder, folder / "two.toml", "--all"), "two experiments are called two"),
        ((folder, "--all", "--out", out), "the result folder exists and is not empty"),
        ((folder, "--all", "--out", folder / "notes.md"), "this is a file, and no folder"),
        ((folder, "--all", "--resume"), "which result?"),
        ((folder, "--all", "--on", "tcp://localhost:8786"), "--all runs on this machine only"),
        ((folder,), "is a directory, not an experiment file (hint: --all runs all that it holds"),
        ((folder / "one.toml", folder / "two.toml"), "2 experiments"),
        ((), "which experiment?"),
    ):
        ran = lab.flatwater("run", *asked)
        ran.check()
        assert ran.code == 2 and told in ran.error, (asked, ran.stderr)
    assert not list(lab.folder.glob("results*"))


def test_a_file_among_them_that_is_no_experiment(lab: Lab) -> None:
    folder = folder_of(lab)
    for text, told in (
        ("", "the file is empty"),
        ('kind = "memory"\n', "is a modelled device's file"),
        ("[workload]\nmode = 7\n", "workload.mode"),
        ("not toml", "not valid TOML"),
    ):
        (folder / "odd.toml").write_text(text)
        ran = lab.run(folder, "--all", out=lab.folder / "out")
        assert ran.code == 2 and "odd.toml" in ran.error and told in ran.error, ran.stderr
    assert not (lab.folder / "out").exists()


def test_resume_wants_the_same_experiments(lab: Lab) -> None:
    folder, out = folder_of(lab), lab.folder / "out"
    lab.run(folder, "--all", out=out).check()
    (folder / "two.toml").unlink()
    ran = lab.run(folder, "--all", "--resume", out=out)
    assert ran.code == 2 and "holds other experiments (two, for one)" in ran.error


def test_a_page_is_of_one_result(lab: Lab) -> None:
    folder, out = folder_of(lab), lab.folder / "out"
    lab.run(folder, "--all", out=out).check()
    ran = lab.flatwater("report", out)
    assert ran.code == 2 and "holds the results of many experiments" in ran.error
    assert lab.flatwater("report", out / "one", "--json", "--png", lab.folder).code == 2
    (out / "experiments.json").write_text('{"experiments": ["../one"]}')
    ran = lab.flatwater("report", out, "--json")
    assert ran.code == 2 and "there is no list of experiments in it" in ran.error
