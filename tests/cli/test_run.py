"""`flatwater run`: the contract that scripts rely on, as DESIGN.md has it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from lab import FLATWATER, Lab

from flatwater.results.schema import SCHEMA_VERSION

KEYS = {"schema_version", "cell", "set", "seed", "layers", "unit", "mean", "stddev", "flatness", "verdict"}
KEYS |= {"steady_since_s", "latency_us", "client_cpu_us_per_op", "published", "metrics"}
VERDICTS = {"flat", "dips", "stalls", "drifting", "not steady", None}


class TestJson:
    def test_every_promised_key_and_nothing_else_on_standard_output(self, lab: Lab) -> None:
        ran = lab.start(lab.write({"duration_s": 1}), "--json").wait()
        assert ran.code == 0

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not JSON")

        (line,) = ran.stdout.splitlines()
        cell = json.loads(line, parse_constant=refuse)
        assert set(cell) >= KEYS
        assert (cell["schema_version"], cell["cell"], cell["set"], cell["unit"]) == (SCHEMA_VERSION, 0, {}, "IOPS")
        assert {name: cell["layers"][name] for name in ("workload", "database", "cache", "storage")} == {
            "workload": "real",
            "database": "none",
            "cache": "none",
            "storage": "real",
        }
        assert cell["layers"]["device"]
        assert cell["verdict"] in VERDICTS - {None}
        assert set(cell["latency_us"]) >= {"p50", "p95", "p99", "p999", "max"}
        assert cell["mean"] > 0 and cell["stddev"] >= 0 and 0 < cell["flatness"] <= 1.5
        assert cell["published"] is None
        for name, told in cell["metrics"].items():
            assert name.split(".")[0] in ("workload", "storage", "machine")
            assert isinstance(told["mean"], float) and isinstance(told["max"], float)

    def test_the_object_is_the_one_in_the_result(self, lab: Lab) -> None:
        ran = lab.go()
        (kept,) = json.loads((ran.out / "summary.json").read_text())["cells"]
        histograms = kept.pop("histograms")
        assert kept == ran.cell
        assert set(histograms) == {"all", "read", "write"}

    def test_a_reader_that_goes_away_is_no_error(self, lab: Lab) -> None:
        file = lab.write({"mode": "rndrd"}, sweep={"workload.threads": [1, 2, 3]})
        command = f"{FLATWATER} run {file} --json --out {lab.folder / 'out'} | head -c 1"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.stdout == "{"
        assert "Traceback" not in done.stderr and "Exception" not in done.stderr


class TestPlain:
    def test_says_what_happens_and_where_the_result_is(self, lab: Lab) -> None:
        ran = lab.start(lab.write({"duration_s": 1.0, "warmup_s": 0.2}, title="A test")).wait()
        assert ran.code == 0
        assert ran.stdout.splitlines() == [f"result: {ran.out}", f"report: flatwater report {ran.out}"]
        said = [line.strip() for line in ran.stderr.splitlines()]
        assert said[0].startswith("needs and writes a file of ")
        assert said[1] == "cell 1 of 1: experiment1"
        assert said[2] == "prepare"
        assert said[3].startswith("warmup, ")
        assert said[4] == "measure, 1 s"
        assert said[5].startswith("[1/1] ") and "IOPS" in said[5]

    def test_says_first_that_no_verdict_can_come(self, lab: Lab) -> None:
        ran = lab.go({"duration_s": 0.3}, arguments=())
        assert ran.stderr.splitlines()[0].startswith(
            "warning: there can be no verdict: 3 samples of 0.1 s are measured"
        )
        assert lab.go({"duration_s": 1.0}).stderr.find("no verdict") < 0

    def test_a_swept_cell_is_named_by_its_values(self, lab: Lab) -> None:
        ran = lab.go(arguments=(), sweep={"workload.threads": [2], "workload.block_size": ["4KiB"]})
        assert "cell 1 of 1: threads 2, block_size 4KiB" in ran.stderr

    @pytest.mark.slow
    def test_tells_a_line_every_ten_seconds(self, lab: Lab) -> None:
        ran = lab.start(lab.write({"mode": "rndrd", "duration_s": 21})).wait()
        told = [line.strip() for line in ran.stderr.splitlines() if line.startswith("  measure ")]
        assert len(told) == 2
        assert told[0].startswith("measure 10 s: ") and " IOPS, p95 " in told[0] and told[0].endswith("11 s left")


class TestArguments:
    def test_set_replaces_fields(self, lab: Lab) -> None:
        ran = lab.go(arguments=("--json", "--set", "workload.block_size=4KiB", "--set", "workload.threads=3"))
        assert ran.cell["bytes"] == 4096 * ran.cell["operations"]
        assert ran.result.experiment["workload"]["threads"] == 3

    def test_seed_replaces_the_seed(self, lab: Lab) -> None:
        first, again, other = (lab.go({"duration_s": 0.1}, arguments=("--json", "--seed", n)) for n in ("5", "5", "6"))
        assert first.cell["seed"] == again.cell["seed"] != other.cell["seed"]
        assert first.result.manifest.seed == 5

    def test_the_default_folder_is_new_each_time(self, lab: Lab) -> None:
        file = lab.write({"duration_s": 0.1})
        for _ in range(2):
            done = subprocess.run([FLATWATER, "run", file], cwd=lab.folder, capture_output=True, text=True, check=True)
            folder = Path(done.stdout.splitlines()[0].removeprefix("result: "))
            assert folder.parent == Path("results") and folder.name.startswith("experiment1-20")
        assert len(list((lab.folder / "results").iterdir())) == 2

    def test_a_folder_that_is_in_use_is_refused(self, lab: Lab) -> None:
        ran = lab.go({"duration_s": 0.1})
        again = lab.run(lab.write(), out=ran.out)
        assert again.code == 2
        assert "not empty" in again.error and "resume" not in again.error, "it is complete"

    def test_an_empty_folder_is_used(self, lab: Lab) -> None:
        (lab.folder / "empty").mkdir()
        assert lab.go({"duration_s": 0.1}, out=lab.folder / "empty").code == 0

    @pytest.mark.parametrize("out", ["file", "file/below", "x" * 300])
    def test_a_folder_that_cannot_be(self, lab: Lab, out: str) -> None:
        (lab.folder / "file").write_text("precious")
        ran = lab.go(out=lab.folder / out)
        assert ran.code == 2
        assert str(lab.folder / out) in ran.error
        assert (lab.folder / "file").read_text() == "precious"

    def test_resume_needs_a_folder(self, lab: Lab) -> None:
        done = subprocess.run([FLATWATER, "run", lab.write(), "--resume"], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == "error: --resume: which result? (hint: give its folder with --out DIR)\n"

    def test_an_unknown_executor(self, lab: Lab) -> None:
        ran = lab.go(arguments=("--on", "mars"))
        assert (ran.code, "no executor 'mars'" in ran.error) == (2, True)

    def test_jobs_are_at_least_one(self, lab: Lab) -> None:
        command = [FLATWATER, "run", lab.write(), "--jobs", "0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, "--jobs" in done.stderr) == (2, True)

    def test_thousands_of_cells_are_asked_about(self, lab: Lab) -> None:
        ran = lab.go({"duration_s": 3600}, sweep={"workload.rate_per_s": list(range(1, 2001))})
        assert ran.code == 2
        assert "2,000 cells" in ran.error and "--yes" in ran.error
        assert not ran.out.exists()

    @pytest.mark.parametrize(
        "arguments", [(), ("missing.toml",), ("no-such-name",), ("--nonsense",), ("experiment1.toml", "--set", "x")]
    )
    def test_bad_ones(self, lab: Lab, arguments: tuple[str, ...]) -> None:
        lab.write()
        done = subprocess.run(
            [FLATWATER, "run", *arguments], cwd=lab.folder, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr and done.stderr


class TestExitCodes:
    """0, 2 and 130 are all over the other tests."""

    def test_failed_says_what_and_where_it_is_kept(self, lab: Lab) -> None:
        ran = lab.start(lab.write({"mode": "rndrd"}, {"fault": {"kind": "error", "after_ops": 100}})).wait()
        assert ran.code == 1
        assert "Input/output error" in ran.error and str(ran.out) in ran.error
        assert ran.error.count("(hint: ") == 1
        assert ran.stdout.splitlines()[0] == f"result: {ran.out}"

    def test_too_few_file_descriptors(self, lab: Lab) -> None:
        file = lab.write({"mode": "rndrd", "files": 200, "block_size": "4KiB"})
        command = f"ulimit -n 100; exec {FLATWATER} run {file} --out {lab.folder / 'out'}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr
        assert "Too many open files" in done.stderr.splitlines()[-1]
        assert "ulimit -n" in done.stderr.splitlines()[-1], "what to do"

    def test_too_few_processes(self, lab: Lab) -> None:
        if os.geteuid() == 0:
            pytest.skip("root has as many as it likes")
        file = lab.write({"mode": "rndrd", "threads": 2000})
        command = f"ulimit -u 500; exec {FLATWATER} run {file} --out {lab.folder / 'out'}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr


def test_the_commands_that_are_printed_are_words_of_a_shell(lab: Lab) -> None:
    arguments = ["run", lab.write({"duration_s": 1}), "--out", "my results"]
    ran = subprocess.run([FLATWATER, *arguments], cwd=lab.folder, capture_output=True, text=True, check=True)
    command = next(line for line in ran.stdout.splitlines() if line.startswith("report: ")).removeprefix("report: ")
    subprocess.run(
        ["bash", "-c", f"{Path(FLATWATER).parent}/{command}"], cwd=lab.folder, capture_output=True, check=True
    )
    assert (lab.folder / "my results" / "report.html").exists()
