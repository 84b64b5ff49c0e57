"""The shape of the Python source: imports go one way, files and functions stay short.

An arrow is an import of one module by another. All of them count: those at the top of a file, those inside functions,
and those that only a type checker follows. A reader follows them all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "python" / "flatwater"

#: Room -> why it still has a circle: none today. An entry that is no longer needed is an error.
ROOMS_WITH_CIRCLES: dict[str, str] = {}

#: A source file with more lines does more than one thing, in Python and in Rust.
SOURCE_LINES_MAX = 400
#: A file of tests may be longer: it is a list of cases, and nobody has to read it as a whole.
TEST_LINES_MAX = 560
#: A function with more lines does not fit a screen.
FUNCTION_LINES_MAX = 70

#: Module -> the modules that it imports.
Arrows = dict[str, set[str]]


def modules_below(package: Path) -> dict[str, Path]:
    """The dotted name of each module of a package, and its file."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def arrows_of(package: Path) -> Arrows:
    """Every import between the modules of a package."""
    modules = modules_below(package)
    return {name: set(_imported(path, modules)) - {name} for name, path in modules.items()}


def _imported(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in modules)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports by their full name can be followed"
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield from (
                    one for one in (inner, node.module) if one in modules and (one == inner or inner not in modules)
                )


def arrows_in_room(arrows: Arrows, room: str) -> Arrows:
    """The arrows between the parts of a room: its files, and its folders with all that they hold."""

    def part(module: str) -> str | None:
        if module == room:
            return f"{room}.__init__"
        inside = module.startswith(f"{room}.")
        return ".".join(module.split(".")[: room.count(".") + 2]) if inside else None

    found: Arrows = {}
    for module, targets in arrows.items():
        if (source := part(module)) is not None:
            parts = {target for one in targets if (target := part(one)) is not None}
            found.setdefault(source, set()).update(parts - {source})
    return found


def circle(arrows: Arrows) -> list[str]:
    """One circle of imports, each importing the next, or nothing where there is none."""
    done: set[str] = set()

    def visit(module: str, way: list[str]) -> list[str]:
        if module in way:
            return [*way[way.index(module) :], module]
        if module in done:
            return []
        for target in sorted(arrows.get(module, ())):
            if found := visit(target, [*way, module]):
                return found
        done.add(module)
        return []

    for module in sorted(arrows):
        if found := visit(module, []):
            return found
    return []


ARROWS = arrows_of(SOURCE)
ROOMS = sorted({name.rpartition(".")[0] for name in ARROWS if "." in name})
PYTHON = [path for top in ("python", "tests", "benchmarks", "scripts") for path in sorted((ROOT / top).rglob("*.py"))]


@pytest.mark.parametrize("room", ROOMS)
def test_the_parts_of_a_room_form_no_circle(room: str) -> None:
    found = circle(arrows_in_room(ARROWS, room))
    if room in ROOMS_WITH_CIRCLES:
        assert found, f"{room} has no circle any more: take it out of ROOMS_WITH_CIRCLES"
    else:
        assert not found, " -> ".join(found)


def test_rooms_that_are_excused_exist() -> None:
    assert ROOMS_WITH_CIRCLES.keys() <= set(ROOMS)


@pytest.mark.parametrize(
    "back",
    [
        "import room.upper",
        "from room import upper",
        "from room.upper import Thing",
        "def later():\n    from room.upper import Thing",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from room.upper import Thing",
    ],
)
def test_an_import_of_any_sort_closes_a_circle(tmp_path: Path, back: str) -> None:
    room = tmp_path / "room"
    (room / "folder").mkdir(parents=True)
    for name, text in {"__init__": "", "folder/__init__": "", "upper": "import room.folder.inner"}.items():
        (room / f"{name}.py").write_text(text)
    (room / "folder" / "inner.py").write_text("")
    assert circle(arrows_in_room(arrows_of(room), "room")) == []
    (room / "folder" / "inner.py").write_text(back)
    assert circle(arrows_in_room(arrows_of(room), "room")) == ["room.folder", "room.upper", "room.folder"]


def test_a_part_that_imports_its_own_package_closes_a_circle(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "__init__.py").write_text("from room.part import Thing")
    (room / "part.py").write_text("from room import Thing")
    assert circle(arrows_in_room(arrows_of(room), "room")) == ["room.__init__", "room.part", "room.__init__"]


def test_files_are_short() -> None:
    rust = [path for top in ("crates", "fuzz/src", "fuzz/targets") for path in sorted((ROOT / top).rglob("*.rs"))]
    lines = {path.relative_to(ROOT): path.read_text().count("\n") for path in [*PYTHON, *rust]}
    assert {path.suffix for path in lines} == {".py", ".rs"}
    limits = {path: TEST_LINES_MAX if "tests" in path.parts else SOURCE_LINES_MAX for path in lines}
    assert {str(path): count for path, count in lines.items() if count > limits[path]} == {}


def test_functions_fit_a_screen() -> None:
    functions = [
        (f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1)
        for path in PYTHON
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    ]
    assert len(functions) > len(PYTHON)
    assert [name for name, lines in functions if lines > FUNCTION_LINES_MAX] == []
