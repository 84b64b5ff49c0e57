"""House rules of the Rust sources that no linter knows. Each failure names the file; an exception must be needed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the import mode of pytest does not
from rust_source import Uses, circles, code_of, crate, functions, leaves, structs, undocumented

ROOT = Path(__file__).parents[1]
CRATES = ROOT / "crates"
#: A file longer than this has more than one idea.
LINES_MAX = 400
#: A function longer than this does not fit a screen.
FUNCTION_LINES_MAX = 70
#: A struct with more fields than this has more than one owner of its state.
FIELDS_MAX = 20

#: Rooms whose files still use each other in circles.
CIRCULAR: tuple[str, ...] = ()
#: Rooms and files that are still too long.
LONG: tuple[str, ...] = ()
#: Rooms and functions that are still too long.
LONG_FUNCTIONS: tuple[str, ...] = ()
#: Rooms and structs that still have too many fields.
WIDE = (
    "crates/core/src/cache/journal/recovery/inspect.rs",  # a report for users, not state
    "crates/core/src/cache/statistics.rs",  # a report for users, not state
    "crates/results/src/documents.rs",  # a stored cell, as its schema has it
    "crates/model/src/database/settings.rs",  # the settings that users write, each a variable of the server
)
#: Rooms that still have public items without docs.
UNDOCUMENTED: tuple[str, ...] = ()


def _sources() -> dict[str, str]:
    files = sorted(path for path in CRATES.rglob("*.rs") if "target" not in path.relative_to(CRATES).parts)
    return {str(path.relative_to(ROOT)): path.read_text() for path in files}


SOURCES = _sources()


def _hold(found: dict[str, object], excepted: tuple[str, ...]) -> None:
    """Nothing was found outside the exceptions, and in each of them something."""
    new = {place: what for place, what in found.items() if not place.startswith(excepted)}
    assert not new
    needless = [name for name in excepted if not any(place.startswith(name) for place in found)]
    assert not needless, "these keep the rule now: take them out of the exceptions"


def test_no_file_uses_one_that_uses_it() -> None:
    found: dict[str, object] = {}
    for root in sorted(CRATES.glob("*/src/lib.rs")):
        modules = crate(root)
        uses = Uses(modules)
        for circle in circles({name: uses.of(module) for name, module in modules.items()}):
            files = [str(modules[name].path.relative_to(ROOT)) for name in circle]
            found[files[0]] = files
    _hold(found, CIRCULAR)


def test_files_stay_readable() -> None:
    _hold({name: n for name, text in SOURCES.items() if (n := text.count("\n")) > LINES_MAX}, LONG)


def test_functions_fit_a_screen() -> None:
    found = {
        f"{name}::{function}": lines
        for name, text in SOURCES.items()
        for function, lines in functions(code_of(text))
        if lines > FUNCTION_LINES_MAX
    }
    _hold(dict(found), LONG_FUNCTIONS)


def test_structs_have_few_fields() -> None:
    found = {
        f"{name}::{struct}": fields
        for name, text in SOURCES.items()
        for struct, fields in structs(code_of(text))
        if fields > FIELDS_MAX
    }
    _hold(dict(found), WIDE)


def test_public_items_have_docs() -> None:
    sources = {name: text for name, text in SOURCES.items() if "/src/" in name}
    _hold({name: items for name, text in sources.items() if (items := undocumented(text))}, UNDOCUMENTED)


class TestReader:
    """What reads the sources, tried on sources of which the answer is known."""

    @staticmethod
    def circles_of(folder: Path, **files: str) -> list[list[str]]:
        for name, text in files.items():
            path = folder / f"{name.replace('__', '/')}.rs"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        modules = crate(folder / "lib.rs")
        uses = Uses(modules)
        found = circles({name: uses.of(module) for name, module in modules.items()})
        return [["::".join(name) for name in circle] for circle in found]

    def test_two_files_that_use_each_other(self, tmp_path: Path) -> None:
        found = self.circles_of(
            tmp_path,
            lib="mod a; mod b; mod c;",
            a="use crate::b::{C as D, E}; struct A;",
            b="struct C; fn e(_: super::a::A) {}",
            c="use super::a::A; use super::b::C;",
        )
        assert found == [["a", "b"]]

    def test_a_parent_that_hands_on_a_child_does_not_use_it(self, tmp_path: Path) -> None:
        room = {"lib": "mod room;", "room__own": "use super::Thing; pub struct Own(Thing);"}
        handed = "mod own; mod thing; pub use own::Own; pub use thing::Thing;"
        assert not self.circles_of(tmp_path, room__mod=handed, room__thing="pub struct Thing;", **room)
        used = "mod own; use own::Own; pub struct Thing; struct All(Own);"
        assert self.circles_of(tmp_path, room__mod=used, **room) == [["room", "room::own"]]

    def test_a_path_without_use_and_a_module_by_its_name(self, tmp_path: Path) -> None:
        found = self.circles_of(
            tmp_path, lib="mod a; mod b;", a="use super::b; fn f() { b::g() }", b="pub fn g() { crate::a::f() }"
        )
        assert found == [["a", "b"]]

    def test_who_may_see_something_is_not_used(self, tmp_path: Path) -> None:
        quiet = "pub(in super::super) fn f() {} pub(in crate::a) fn g() {}"
        assert not self.circles_of(tmp_path, lib="mod a;", a="mod b; use b::f;", a__b=quiet)

    def test_tests_comments_and_strings_use_nothing(self, tmp_path: Path) -> None:
        quiet = (
            "#[cfg(test)] mod tests { use super::*; use crate::a::A; }\n// crate::a::A\n" + 'fn s() { "crate::a::A"; }'
        )
        assert not self.circles_of(tmp_path, lib="mod a; mod b;", a="use crate::b::s; struct A;", b=quiet)

    @pytest.mark.parametrize(
        ("tree", "names"),
        [
            ("a::b", ["a::b=b"]),
            ("a::{self, b as c, d::{e, *}}", ["a=a", "a::b=c", "a::d::e=e", "a::d::*=*"]),
        ],
    )
    def test_the_paths_of_a_use(self, tree: str, names: list[str]) -> None:
        assert [f"{'::'.join(path)}={called}" for path, called in leaves(tree)] == names

    def test_the_length_of_functions(self) -> None:
        code = code_of("fn a() {\n    if b { '}' }\n}\ntrait T { fn c(); }\nfn d() { }\n")
        assert functions(code) == [("a", 3), ("d", 1)]

    def test_the_fields_of_structs(self) -> None:
        code = code_of(
            "struct A { pub a: Map<u8, B>, #[serde(default)] b: Box<dyn Fn(x: u8) -> std::io::Error>, c: [u8; 2],\n"
            "#[cfg(test)] pub d: Map<u8, B>,\n}\n"
            "struct B(u8, u8); struct C; struct D<T: Copy> { t: T }\n"
        )
        assert structs(code) == [("A", 3), ("D", 1)]

    def test_public_items_without_docs(self) -> None:
        text = "/// Told.\n#[derive(Clone)]\npub struct A {\n    pub b: u8,\n    /// Told.\n    pub c: u8,\n}\n"
        text += "pub const fn d() {}\npub(crate) fn e() {}\npub use x::y;\n"
        text += "#[cfg(test)]\npub fn f() {}\npub const G: u8 = 1;\n"
        assert undocumented(text) == ["b", "d", "G"]
