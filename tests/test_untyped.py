"""Dictionaries whose values may be anything stand at the borders of flatwater only. Everything else has a class.

A border is where other programs, or users, decide what is there: TOML before it is checked, JSON of other tools, what
plotly reads. An alias of such a dictionary counts like the dictionary, each time that it is used.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "python" / "flatwater"

#: The room or file of each border, and how many there are. A border may lose some, and gains none.
BORDERS = {
    # A file's tables, from TOML until its layers are read: a user may write anything.
    "experiment": 86,
    # What the engine tells a user's flushing policy.
    "_engine.pyi": 1,
    # Experiments of results, which other versions may have written.
    "analysis/alike.py": 6,
    "analysis/trend/runs.py": 1,
    # What a cache keeps of itself, as one process hands it to the next.
    "cache/messages.py": 1,
    # The engine's JSON schema.
    "cache/settings.py": 2,
    # Figures of a device as `--set` has them.
    "cli/emulate.py": 1,
    # A book of prices as TOML, before it is checked.
    "cost/book.py": 1,
    # A device's file.
    "fit/device_file.py": 1,
    # A row of the user's table.
    "fit/table.py": 1,
    # The engine's settings as JSON.
    "plan/cache.py": 1,
    # Records that flatwater writes beside what it makes; they may be damaged.
    "owned/reading.py": 1,
    # What the sidecar of a served device keeps for its owner.
    "plan/emulation.py": 1,
    # The type of a figure, which plotly reads.
    "report/figure.py": 1,
    # The experiment of a result, which another version may have written.
    "results/opening.py": 1,
    "results/result.py": 1,
    # A new experiment, as TOML.
    "results/importers/keeping.py": 2,
    # What dask tells of workers and events.
    "runner/executors/dask.py": 1,
    "runner/executors/relay.py": 5,
    "runner/executors/scheduler.py": 6,
    # What the engine tells a user's flushing policy.
    "runner/stack/database/modelled/policy.py": 1,
    # The model of a dashboard, which Grafana reads.
    "serve/grafana.py": 1,
    # The experiment of a result beside the library's, as TOML.
    "serve/launch/difference.py": 2,
    # JSON beside a snapshot.
    "server/snapshot.py": 1,
    # A new experiment, as TOML.
    "what_if/twin.py": 1,
}

#: Module and name of aliases that any number of places may use: traces and layouts of charts, which plotly reads, and
#: panels, which Grafana reads.
FREE = {("flatwater.report.figure", "Json"), ("flatwater.serve.grafana", "Json")}

#: What has keys and values.
_DICTIONARIES = ("dict", "Mapping", "MutableMapping")


def is_untyped(node: ast.AST) -> bool:
    """Whether this is the type of a dictionary of anything, for example `dict[str, Any]`."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=[_, ast.Name(id="Any")])):
            return name in _DICTIONARIES
    return False


def aliases_of(trees: Mapping[str, ast.Module]) -> set[tuple[str, str]]:
    """Module and name of each type alias with a dictionary of anything in it. A `NewType` is a type of its own."""
    return {
        (module, node.targets[0].id)
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Subscript | ast.BinOp) and any(map(is_untyped, ast.walk(node.value)))
    }


def untyped_in(module: str, tree: ast.Module, aliases: set[tuple[str, str]]) -> Iterator[ast.AST]:
    """Every use of a dictionary of anything in a module: written out, or by an alias."""
    names = {name for home, name in aliases if home == module}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name for one in node.names if (node.module, one.name) in aliases}
    for node in ast.walk(tree):
        if is_untyped(node) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names):
            yield node


def count(package: Path) -> Counter[str]:
    """How many uses each module of a package has, by its path in the package."""
    paths = {path: path.relative_to(package.parent) for path in sorted(package.rglob("*.py*"))}
    paths = {path: name for path, name in paths.items() if path.suffix in (".py", ".pyi")}
    modules = {path: ".".join(name.with_suffix("").parts).removesuffix(".__init__") for path, name in paths.items()}
    trees = {module: ast.parse(path.read_text()) for path, module in modules.items()}
    aliases = aliases_of(trees) - FREE
    found = Counter(
        {
            str(path.relative_to(package)): sum(1 for _ in untyped_in(module, trees[module], aliases))
            for path, module in modules.items()
        }
    )
    return +found


def border_of(path: str) -> str:
    """The border that a module belongs to: itself, or else a room that it is in."""
    rooms = [path, *(str(room) for room in Path(path).parents)]
    return next((room for room in rooms if room in BORDERS), path)


def test_dictionaries_of_anything_stand_at_the_borders_only() -> None:
    found: Counter[str] = Counter()
    for path, uses in count(SOURCE).items():
        found[border_of(path)] += uses
    assert {border: uses for border, uses in found.items() if uses > BORDERS.get(border, 0)} == {}
    assert {border for border in BORDERS if not found[border]} == set(), "these are no longer needed"


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("def f(a: dict[str, Any]) -> Mapping[str, Any]: ...", 2),
        ("def f(a: list[dict[int, Any]] | None): ...", 1),
        ("a: MutableMapping[str, Any] = {}", 1),
        ("def f(a: dict[str, object], b: dict[str, float]): ...", 0),
        ("Line = dict[str, Any]\ndef f(a: Line, b: list[Line]): ...", 3),
        ("Lines = list[Mapping[str, Any]] | None\na: Lines", 2),
        ("from package.lines import Line as Given\ndef f(a: Given, b: Line): ...", 1),
        ("from package.lines import Shape\ndef f(a: Shape): ...", 0),
        ("from elsewhere.lines import Line\ndef f(a: Line): ...", 0),
    ],
)
def test_what_counts(tmp_path: Path, text: str, uses: int) -> None:
    package = tmp_path / "package"
    package.mkdir()
    shape = 'Shape = NewType("Shape", dict[str, int])'
    (package / "lines.py").write_text(f"Line = dict[str, Any]\n{shape}\n")
    (package / "part.py").write_text(text)
    assert count(package) == +Counter({"lines.py": 1, "part.py": uses})
