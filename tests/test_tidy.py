"""House rules that no linter knows. Each failure names the file."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


TRACKED = _tracked()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


def test_no_file_names_a_package_index() -> None:
    # Whoever builds this may use a mirror. Cargo.lock names its source by rule, not by choice.
    hosts = [r"pypi\.org", r"pythonhosted", r"static\.crates", r"index\.crates", r"deb\.debian", r"registry\.npmjs"]
    pattern = re.compile("|".join(hosts))
    found = [path for path in TRACKED if path != Path(__file__) and pattern.search(_text(path))]
    assert not found


def test_no_file_names_a_place_of_one_machine() -> None:
    pattern = re.compile(r"(?<![\w.])/(?:work|home/\w+|root)/")
    found = [path for path in TRACKED if path != Path(__file__) and pattern.search(_text(path))]
    assert not found


def test_nothing_generated_is_committed() -> None:
    allowed = {".png"}
    odd = [p for p in TRACKED if p.suffix in {".log", ".parquet", ".html", ".so", ".whl", ".jsonl", ".png"}]
    templates = {ROOT / "python/flatwater/report/templates", ROOT / "python/flatwater/serve/templates"}
    samples = ROOT / "tests/results/imports"
    assert not [
        path
        for path in odd
        if not templates & {*path.parents}
        and samples not in path.parents
        and not (path.suffix in allowed and path.parent == ROOT / "docs/pictures")
    ]


def test_nobody_changes_a_value_of_others() -> None:
    # Defaults of experiments are shared: a test that changed one changed the runs of the tests behind it.
    pattern = re.compile(r"object\.__setattr__\((?!self,)")
    assert not [path for path in TRACKED if path != Path(__file__) and pattern.search(_text(path))]


@pytest.mark.parametrize(
    ("room", "sign", "pattern"),
    [
        ("cli", r"^NAME = ", "cli/test_{}.py"),
        ("probe", r"^    def sample\(", "probe/test_{}.py"),
        ("results/importers", r"^NAME = ", "results/test_import_{}.py"),
        ("experiment/workload", r"^    kind: Literal", "experiment/workload/test_{}.py"),
        ("experiment/database", r"^    kind: Literal", "experiment/database/test_{}.py"),
        ("report/charts", r"^    order = |^ORDER = ", "report/charts/test_{}.py"),
    ],
)
def test_every_kind_has_its_test(room: str, sign: str, pattern: str) -> None:
    files = (ROOT / "python/flatwater" / room).glob("*.py")
    kinds = [path.stem for path in files if re.search(sign, _text(path), re.MULTILINE) and path.stem != "__init__"]
    assert kinds
    # `import` is a word of Python's own, so that verb's module is called otherwise.
    wanted = [ROOT / "tests" / pattern.format("import" if kind == "importing" else kind) for kind in kinds]
    assert not [path.name for path in wanted if not path.exists()]


def test_the_readme_names_commands_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", _text(ROOT / "Makefile"), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)", _text(ROOT / "README.md"), re.MULTILINE))
    assert {"demo", "test"} <= named <= targets
    assert "make test" in _text(ROOT / ".ci/run")


def test_links_in_the_docs_lead_somewhere() -> None:
    pages = [path for path in TRACKED if path.suffix == ".md"]
    links = [(page, target) for page in pages for target in re.findall(r"\]\(([^)#:]+)\)", _text(page))]
    assert links
    assert not [f"{page.name} -> {target}" for page, target in links if not (page.parent / target).exists()]
