"""A user's own flushing policy in a modelled run."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import Lab, Ran

sys.path.insert(0, str(Path(__file__).parents[3] / "experiment" / "storage"))
from devices import appliance
from flatwater.errors import UserError
from flatwater.runner.stack.database.modelled.policy import Guard

OUT = itertools.count()
EXAMPLE = Path(__file__).parents[4] / "docs" / "policies" / "steady.py"
#: All of the data in memory, so that only the policy writes pages.
SETTINGS = {"innodb_buffer_pool_size": "256M", "innodb_log_file_size": "64M", "innodb_log_files_in_group": 2}
TOLD = {
    "time_s": 2.0,
    "lsn": 9000,
    "oldest_lsn": 1000,
    "checkpoint_age": 8000,
    "dirty_pages": 50,
    "dirty_pct": 12.5,
    "flushed": 7,
    "flushed_lru": 0,
    "flushed_own": 7,
    "idle": False,
    "log_capacity": 20_000,
    "async_age": 14_000,
    "sync_age": 15_000,
    "max_age": 16_000,
}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def run(lab: Lab, policy: str, generation: str = "percona-5.5", servers: int = 1, doublewrite: int = 1) -> Ran:
    oltp = {"kind": "oltp", "mode": "read_write", "tables": servers, "rows": 300_000 // servers}
    content = {
        "workload": oltp | {"warmup_s": 10, "duration_s": 20},
        "database": {
            "kind": "innodb-model",
            "generation": generation,
            "flushing": policy,
            "settings": SETTINGS | {"innodb_doublewrite": doublewrite},
            "servers": servers,
        },
        "storage": {"kind": "memory", "device": appliance(lab.folder)},
    }
    path = lab.folder / "policy.toml"
    path.write_text(tomli_w.dumps(content))
    return lab.run(path, "--json", out=lab.folder / f"out-{next(OUT)}")


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    return f"{path}:Mine"


#: A batch of 5.5 sees its LSN limit again when the doublewrite buffer is full, and writes younger pages meanwhile.
@pytest.mark.parametrize(("generation", "doublewrite"), [("percona-5.5", 0), ("mysql-5.7", 1)])
def test_a_policy_holds_what_it_wants_to_hold(lab: Lab, generation: str, doublewrite: int) -> None:
    def age(policy: str) -> tuple[float, float]:
        told = run(lab, policy, generation, doublewrite=doublewrite).cell["metrics"]
        names = ("modified_age_bytes", "pages_flushed_adaptive_per_s")
        return told[f"database.{names[0]}"]["mean"], told[f"database.{names[1]}"]["mean"]

    none, own = age("none"), age(f"{EXAMPLE}:Steady")
    assert own[1] > 3 * none[1]
    # 60 % of the asynchronous age, which is 0.709 of 128 MiB.
    assert own[0] == pytest.approx(0.6 * 0.709 * (128 << 20), rel=0.1)


def test_a_policy_gives_the_same_run_again(lab: Lab) -> None:
    first, second = (run(lab, f"{EXAMPLE}:Steady").cell for _ in range(2))
    assert first["latency_us"] == second["latency_us"]


def test_each_of_two_servers_has_a_policy_with_a_memory_of_its_own(lab: Lab) -> None:
    text = """\
class Mine:
    def __init__(self):
        self.last_s = 0.0

    def round(self, view):
        assert view.settings["innodb_buffer_pool_size"] == 128 * 2**20
        # A policy that two servers share sees two rounds in one second.
        assert view.time_s - self.last_s > 0.9, view.time_s
        self.last_s = view.time_s
        return 100
"""
    cell = run(lab, written(lab.folder, text), servers=2).cell
    assert cell["status"] == "complete"


def test_a_policy_that_raises_ends_the_run_with_its_line(lab: Lab) -> None:
    text = "class Mine:\n    def round(self, view):\n        return 1 / (0 if view.time_s > 5 else 1)\n"
    ran = run(lab, written(lab.folder, text))
    assert ran.code == 1
    assert "mine.py:3: Mine.round raises ZeroDivisionError" in ran.error
    assert len(ran.error.strip().splitlines()) == 1


def test_a_policy_that_is_not_there_is_refused_before_the_run(lab: Lab) -> None:
    ran = run(lab, "nowhere.py:Mine")
    assert ran.code == 2
    assert "database.flushing: there is no file nowhere.py" in ran.error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class Mime: pass", "has no class Mine (hint: did you mean Mime?)"),
        ("Mine = 3", "is no class"),
        ("class Mine: pass", "no round(view)"),
        ("class Mine:\n    period_s = 0\n    def round(self, view): return 0", "period_s of Mine must be"),
        (
            "class Mine:\n  def __init__(self): raise ValueError('no\\nway')",
            "mine.py:2: Mine() raises ValueError: no way",
        ),
        ("import nothing_of_that_name\n", "mine.py:1: cannot be imported: ModuleNotFoundError"),
        ("class Mine:\n  def round(self view): return 0", "mine.py:2: cannot be imported: SyntaxError"),
        ("raise SystemExit(3)", "mine.py:1: cannot be imported: SystemExit: 3"),
    ],
)
def test_what_is_no_policy_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        Guard(written(tmp_path, text), {})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "answer", ["None", "-1", "float('nan')", "True", "'5'", "(1, 2, 3)", "(1, -1)", "(1, 2.5)", "[1, 2]"]
)
def test_nonsense_is_told_with_its_place(tmp_path: Path, answer: str) -> None:
    guard = Guard(written(tmp_path, f"class Mine:\n\n    def round(self, view):\n        return {answer}\n"), {})
    with pytest.raises(UserError, match=r"mine\.py:3: Mine\.round must return"):
        guard(TOLD)


@pytest.mark.parametrize(
    ("answer", "taken"), [("3.9", (3, None)), ("(5, 2**40)", (5, 2**40)), ("(5, None)", (5, None))]
)
def test_answers_are_whole_pages_and_perhaps_a_limit(tmp_path: Path, answer: str, taken: Any) -> None:
    guard = Guard(written(tmp_path, f"class Mine:\n    period_s = 0.5\n    def round(self, view): return {answer}"), {})
    assert (guard(TOLD), guard.period_ns) == (taken, 500_000_000)


def test_a_policy_sees_the_server(tmp_path: Path) -> None:
    text = "class Mine:\n    def round(self, view):\n        return view.age, view.settings['innodb_io_capacity']"
    assert Guard(written(tmp_path, text), {"innodb_io_capacity": 200})(TOLD) == (8000, 200)
