"""What `pip install` of the wheel brings: everything that stands in `python/flatwater`."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python/flatwater"
#: Folders of data, which no import asks for: a wheel without them works until somebody uses them.
DATA = (
    "devices",
    "experiments",
    "machines",
    "prices",
    "workloads",
    "report/templates",
    "report/vendor",
    "serve/static",
    "serve/templates",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    maturin = Path(sys.executable).with_name("maturin")
    command = [str(maturin), "build", "--release", "--locked", "--offline", "--quiet", "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    (built,) = folder.glob("flatwater-*.whl")
    return zipfile.ZipFile(built)


def shipped(folder: Path) -> set[str]:
    """The paths below the package's parent of what a folder has to bring; the engine has another name in a wheel."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".so"))
    return {str(path.relative_to(PACKAGE.parent)) for path in files}


@pytest.mark.slow
@pytest.mark.timeout(3600)  # it compiles the engine where nobody has
def test_the_wheel_brings_every_file(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert shipped(PACKAGE) - names == set()
    assert any(name.startswith("flatwater/_engine") and name.endswith(".so") for name in names)
    for folder in DATA:
        assert len([name for name in names if name.startswith(f"flatwater/{folder}/")]) > 0, folder
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    told = Parser().parsestr(wheel.read(metadata).decode())
    assert told["Author"] == "The flatwater authors"
    assert told["License-Expression"] == "Apache-2.0"


def test_the_folders_of_data_are_in_the_package() -> None:
    assert not [folder for folder in DATA if not shipped(PACKAGE / folder)]


def test_nothing_is_kept_out_of_the_wheel() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert told["project"]["authors"] == [{"name": "The flatwater authors"}]
    assert "exclude" not in told["tool"]["maturin"]
