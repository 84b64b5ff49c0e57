"""Each public module, class, function, method and property of flatwater has a docstring.

The rules for what needs none:
- A name with a leading underscore is private, and so is everything in it.
- A method that overrides a documented method of flatwater promises the same, and needs no text of its own.
- A function inside a function belongs to that function.
- The compiled engine is asked itself, and not its stub.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flatwater import _engine

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "python" / "flatwater"

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Class:
    """A class of the package: what it stands on, and the methods that have a docstring."""

    bases: tuple[str, ...]
    documented: frozenset[str]


@dataclass(frozen=True)
class Item:
    """A public thing: where it stands, its dotted name in its module, its docstring."""

    place: str
    name: str
    text: str | None
    #: The dotted name of its class, for a method.
    owner: str | None = None


@dataclass
class Module:
    """A file that is read: its public items, and its classes by their dotted names in the package."""

    path: Path
    name: str
    tree: ast.Module
    imported: dict[str, str] = field(default_factory=dict)


def modules_of(package: Path) -> list[Module]:
    """Every module of a package, and where each name that it imports comes from."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        module = Module(path, name, ast.parse(path.read_text()))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                module.imported.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})
            elif isinstance(node, ast.Import):
                module.imported.update({one.asname or one.name: one.name for one in node.names})
        modules.append(module)
    return modules


def classes_of(modules: list[Module]) -> dict[str, Class]:
    """The classes at the top of each module, by their full name; a class that is passed on has both names."""
    classes = {}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                documented = {one.name for one in definitions(node) if ast.get_docstring(one)}
                bases = tuple(_full_name(base, module) for base in node.bases)
                classes[f"{module.name}.{node.name}"] = Class(bases, frozenset(documented))
    for module in modules:
        for name, source in module.imported.items():
            if source in classes:
                classes.setdefault(f"{module.name}.{name}", classes[source])
    return classes


def _full_name(base: ast.expr, module: Module) -> str:
    """The full name of a base class: `Model[Plan]` is `Model`, and `room.Model` is looked up in the imported room."""
    name = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
    first, _, rest = name.partition(".")
    if first not in module.imported:
        return f"{module.name}.{name}"
    return f"{module.imported[first]}.{rest}" if rest else module.imported[first]


def definitions(node: ast.AST) -> Iterator[Definition]:
    """What stands directly in a module or a class, also below an `if` or a `try`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield child
        elif isinstance(child, ast.If | ast.Try | ast.ExceptHandler):
            yield from definitions(child)


def items_of(module: Module, root: Path) -> Iterator[Item]:
    """The public items of a module: itself, then what stands in it. A setter belongs to its property."""
    where = module.path.relative_to(root)
    yield Item(f"{where}:1", module.name, ast.get_docstring(module.tree))

    def inside(node: ast.AST, prefix: str) -> Iterator[Item]:
        for one in definitions(node):
            if one.name.startswith("_") or any(ast.unparse(by).endswith(".setter") for by in one.decorator_list):
                continue
            owner = f"{module.name}.{prefix}".rstrip(".") if isinstance(node, ast.ClassDef) else None
            yield Item(f"{where}:{one.lineno}", f"{prefix}{one.name}", ast.get_docstring(one), owner)
            if isinstance(one, ast.ClassDef):
                yield from inside(one, f"{prefix}{one.name}.")

    yield from inside(module.tree, "")


def inherits_text(item: Item, classes: dict[str, Class]) -> bool:
    """Whether a base of the item's class, however far up, has a documented method of the item's name."""
    if item.owner is None or item.owner not in classes:
        return False
    method = item.name.rpartition(".")[2]
    waiting = list(classes[item.owner].bases)
    while waiting:
        base = classes.get(waiting.pop())
        if base is not None:
            if method in base.documented:
                return True
            waiting.extend(base.bases)
    return False


def says_nothing(item: Item) -> bool:
    """Whether a docstring has no word that is not in the item's name."""
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", item.text or "")}
    name = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", item.name)}
    return words <= name | {"a", "an", "the", "of", "is", "it", "its"}


def undocumented(package: Path) -> list[str]:
    """Every public item without a docstring, or with one that only repeats its name."""
    modules = modules_of(package)
    classes = classes_of(modules)
    items = [item for module in modules for item in items_of(module, package)]
    return [
        f"{item.place} {item.name}"
        for item in items
        if (says_nothing(item) if item.text else not inherits_text(item, classes))
    ]


def test_every_public_item_has_a_docstring() -> None:
    assert len(modules_of(SOURCE)) > 100
    assert undocumented(SOURCE) == []


def test_every_public_item_of_the_compiled_engine_has_a_docstring() -> None:
    # Its stub has only types: its texts are the comments of the Rust source, where `help` finds them.
    items = {name: item for name, item in vars(_engine).items() if not name.startswith("_")}
    members = {
        f"{name}.{member}": value
        for name, item in items.items()
        if inspect.isclass(item)
        for member, value in vars(item).items()
        if not member.startswith("_")
    }
    assert len(members) > len(items) > 20
    assert [name for name, item in {**items, **members}.items() if not inspect.getdoc(item)] == []


BASE = '"""Has text."""\nclass Base:\n    """Has text."""\n    def drawn(self):\n        """Has text."""\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["part.py:1 room.part"]),
        ('"""Text."""\ndef f(): ...', ["part.py:2 f"]),
        ('"""Text."""\nasync def f(): ...', ["part.py:2 f"]),
        ('"""Text."""\ntry:\n    import x\nexcept ImportError:\n    def f(): ...', ["part.py:5 f"]),
        ('"""Text."""\nclass A:\n    def f(self): ...', ["part.py:2 A", "part.py:3 A.f"]),
        ('"""Text."""\nclass A:\n    """Text."""\n    class B: ...', ["part.py:4 A.B"]),
        ('"""Text."""\nclass A:\n    """Text."""\n    @property\n    def f(self): ...', ["part.py:5 A.f"]),
        ('"""Room part."""', ["part.py:1 room.part"]),
        ('"""Text."""\nclass Folder:\n    """A folder."""', ["part.py:2 Folder"]),
        ('"""Room part."""', ["part.py:1 room.part"]),
        ('"""Text."""\nclass Folder:\n    """Holds the cells of a run."""', []),
        ('"""Text."""\ndef _f(): ...\nclass _A:\n    def f(self): ...', []),
        ('"""Text."""\nclass A:\n    """Text."""\n    def __init__(self): ...', []),
        ('"""Text."""\nclass A:\n    """Text."""\n    @f.setter\n    def f(self, value): ...', []),
        ('"""Text."""\ndef f():\n    """Text."""\n    def g(): ...', []),
        # Overrides, by each way to name the base.
        ('"""Text."""\nfrom room.base import Base\nclass A(Base):\n    """Text."""\n    def drawn(self): ...', []),
        ('"""Text."""\nfrom room import Base\nclass A(Base[int]):\n    """Text."""\n    def drawn(self): ...', []),
        ('"""Text."""\nfrom room import base\nclass A(base.Base):\n    """Text."""\n    def drawn(self): ...', []),
        ('"""Text."""\nfrom room.mid import Mid\nclass A(Mid):\n    """Text."""\n    def drawn(self): ...', []),
        (
            '"""Text."""\nfrom room.base import Base\nclass A(Base):\n    """Text."""\n    def other(self): ...',
            ["part.py:5 A.other"],
        ),
        (
            '"""Text."""\nfrom elsewhere import Base\nclass A(Base):\n    """Text."""\n    def drawn(self): ...',
            ["part.py:5 A.drawn"],
        ),
    ],
)
def test_what_needs_a_docstring(tmp_path: Path, text: str, found: list[str]) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "__init__.py").write_text('"""Has text."""\nfrom room.base import Base\n')
    (room / "base.py").write_text(BASE)
    (room / "mid.py").write_text('"""Has text."""\nfrom room.base import Base\nclass Mid(Base):\n    """Has text."""\n')
    (room / "part.py").write_text(text)
    assert undocumented(room) == found
