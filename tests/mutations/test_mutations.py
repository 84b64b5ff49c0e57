"""Every mutation of the catalogue is seen by the tests that it names: each of them fails."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import flatwater

sys.path.insert(0, str(Path(__file__).parent))
from catalogue import PYTHON, RUST, Mutation

ROOT = Path(__file__).parents[2]
#: Where mutated Rust is compiled; what does not change is compiled once.
TARGET = ROOT / "target" / "mutations"


def mutate(mutation: Mutation, copy: Path) -> None:
    """Makes the change in a copy of its file; fails when the file has not exactly one place for it."""
    text = (ROOT / mutation.file).read_text()
    count = text.count(mutation.old)
    assert count == 1, f"{mutation.file} has {mutation.old!r} {count} times: mend this entry of the catalogue"
    copy.write_text(text.replace(mutation.old, mutation.new))


def unseen(tests: Sequence[str], told: str, failed: re.Pattern[str]) -> list[str]:
    """The tests that are not among those that failed. Of a test that is named without its cases, any case may fail."""
    names = {found[1] for found in failed.finditer(told)}
    return [test for test in tests if not any(test in (name, name.partition("[")[0]) for name in names)]


def _first_of_each_folder(mutations: Sequence[Mutation]) -> list[object]:
    """`make test` tries the first of each folder, which takes two seconds; `make test-slow` all."""
    folders: set[str] = set()
    found = []
    for one in mutations:
        folder = one.file.rpartition("/")[0]
        found.append(pytest.param(one, id=one.title, marks=[pytest.mark.slow] if folder in folders else []))
        folders.add(folder)
    return found


class TestPython:
    """The package is copied, and found by its tests before the installed one."""

    FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)

    @pytest.fixture(scope="class")
    @classmethod
    def package(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        place = tmp_path_factory.mktemp("mutated") / "flatwater"
        shutil.copytree(Path(flatwater.__file__).parent, place, ignore=shutil.ignore_patterns("__pycache__"))
        return place

    def run(self, package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        # No compiled module is kept: two changes within a second, of equal length, would be taken for one.
        environment = os.environ | {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)

    def run_tests(self, package: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return self.run(package, "-m", "pytest", "-p", "no:cacheprovider", "--tb=no", "-rf", *tests)

    def test_unchanged_they_pass(self, package: Path) -> None:
        found = self.run(package, "-c", "import flatwater; print(flatwater.__file__)").stdout.strip()
        assert found == str(package / "__init__.py"), "the copy is what is tested"
        done = self.run_tests(package, sorted({test for mutation in PYTHON for test in mutation.tests}))
        assert done.returncode == 0, done.stdout

    @pytest.mark.parametrize("mutation", _first_of_each_folder(PYTHON))
    def test_it_is_seen(self, package: Path, mutation: Mutation) -> None:
        copy = package / mutation.file.removeprefix("python/flatwater/")
        mutate(mutation, copy)
        try:
            done = self.run_tests(package, mutation.tests)
        finally:
            shutil.copyfile(ROOT / mutation.file, copy)
        # 1: tests failed. Anything else is that they could not be run, by which nothing is seen.
        assert done.returncode == 1, done.stdout + done.stderr
        assert unseen(mutation.tests, done.stdout, self.FAILED) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
class TestRust:
    """The workspace is copied, and compiled in a folder that is kept."""

    FAILED = re.compile(r"^test (\S+) \.\.\. FAILED$", re.MULTILINE)

    @pytest.fixture(scope="class")
    @classmethod
    def workspace(cls) -> Path:
        if shutil.which("cargo") is None:
            pytest.skip("there is no cargo on this machine")
        place = TARGET / "workspace"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(ROOT / "crates", place / "crates")
        for name in ("Cargo.toml", "Cargo.lock", "README.md"):
            if (ROOT / name).exists():
                shutil.copy2(ROOT / name, place / name)
        return place

    def cargo(self, workspace: Path, file: str, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
        environment: Mapping[str, str] = os.environ | {"CARGO_TARGET_DIR": str(TARGET), "PROPTEST_CASES": "64"}
        command = ["cargo", "test", "--locked", "--offline", "--lib", "-p", f"flatwater-{file.split('/')[1]}"]
        return subprocess.run(
            [*command, "--", "--exact", *tests], capture_output=True, text=True, cwd=workspace, env=environment
        )

    @pytest.mark.parametrize("crate", sorted({mutation.file.split("/")[1] for mutation in RUST}))
    def test_unchanged_they_pass(self, workspace: Path, crate: str) -> None:
        tests = sorted({test for one in RUST if one.file.split("/")[1] == crate for test in one.tests})
        done = self.cargo(workspace, f"crates/{crate}", tests)
        assert done.returncode == 0 and f"{len(tests)} passed" in done.stdout, done.stdout + done.stderr

    @pytest.mark.parametrize("mutation", RUST, ids=[mutation.title for mutation in RUST])
    def test_it_is_seen(self, workspace: Path, mutation: Mutation) -> None:
        copy = workspace / mutation.file
        mutate(mutation, copy)
        try:
            done = self.cargo(workspace, mutation.file, mutation.tests)
        finally:
            copy.write_text((ROOT / mutation.file).read_text())
        assert "test result: FAILED" in done.stdout, done.stdout + done.stderr
        assert unseen(mutation.tests, done.stdout, self.FAILED) == []


def test_the_catalogue_is_whole() -> None:
    """Of each mutation, text that is there once, and tests that are there; Rust's too, which are compiled seldom."""
    assert len({(one.file, one.old, one.new) for one in (*PYTHON, *RUST)}) == len(PYTHON) + len(RUST) >= 40
    for mutation in (*PYTHON, *RUST):
        text = (ROOT / mutation.file).read_text()
        assert text.count(mutation.old) == 1, f"mend the catalogue: {mutation.title}"
        assert mutation.tests
        for test in mutation.tests:
            name = test.rpartition("::")[-1].partition("[")[0]
            there = text if mutation in RUST else (ROOT / test.partition("::")[0]).read_text()
            assert re.search(rf"(?:def|fn) {name}\(", there), f"there is no {test}: {mutation.title}"
