"""The Rust sources as the house rules see them: modules, what each uses of others, structs, functions; free of tests.

A reader of tokens, not a compiler: it knows `use`, paths, braces and attributes, and no types. What it cannot resolve
(another crate, a macro's own paths) it leaves out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

#: A comment, a string (raw or not) or a character: nothing in them is code.
_NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | r(\#*)".*?"\1 | b?"(?:\\.|[^"\\])*" | b?'(?:\\(?:u\{\w+\}|x\w\w|.)|[^'\\])'""",
    re.DOTALL | re.VERBOSE,
)
#: Where something may be seen: no use of that place.
_VISIBILITY = re.compile(r"\bpub\s*\(\s*in\s[^)]*\)")
_ITEM = re.compile(
    r"(?:struct|enum|union|trait|fn|const|static|type|mod|macro_rules!)\s+(?:mut\s+)?(\w+)",
)
_FUNCTION = re.compile(r"\bfn\s+(\w+)")
_STRUCT = re.compile(r"\bstruct\s+(\w+)")
_ENDS = {"{": "}", "(": ")", "[": "]"}


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def closing(code: str, opening: int) -> int:
    """Where the bracket that opens at `opening` is closed."""
    opens, closes, depth = code[opening], _ENDS[code[opening]], 0
    for match in re.compile(f"[{re.escape(opens + closes)}]").finditer(code, opening):
        depth += 1 if match[0] == opens else -1
        if not depth:
            return match.start()
    return len(code)


def code_of(text: str) -> str:
    """The same lines without comments, strings, places of `pub(in place)` and whatever is compiled for tests alone."""
    code = _VISIBILITY.sub(_blank, _NO_CODE.sub(_blank, text))
    while match := re.search(r"#\[cfg\((?:test|all\(test\b[^\]]*|any\(test\b[^\]]*)\)\]", code):
        of_field = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?\w+\s*:(?!:)").match(code, match.end())
        end = re.compile("," if of_field else "[;{]").search(code, match.end())
        stop = len(code) if end is None else closing(code, end.start()) if end[0] == "{" else end.start()
        code = code[: match.start()] + re.sub(r"[^\n]", " ", code[match.start() : stop + 1]) + code[stop + 1 :]
    return code


def _split(tree: str) -> list[str]:
    """The parts of a list in braces, which may have lists of their own."""
    parts, depth, begin = [], 0, 0
    for at, sign in enumerate(tree):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and not depth:
            parts.append(tree[begin:at])
            begin = at + 1
    return [part.strip() for part in [*parts, tree[begin:]] if part.strip()]


def leaves(tree: str) -> list[tuple[list[str], str]]:
    """The paths of a `use`, each with the name that it has from then on."""
    tree = tree.strip()
    if "{" in tree:
        before, _, rest = tree.partition("{")
        names = [name for name in before.strip().split("::") if name]
        found = [leaf for part in _split(rest[: rest.rindex("}")]) for leaf in leaves(part)]
        return [
            (names, names[-1] if called == "self" else called) if path == ["self"] else (names + path, called)
            for path, called in found
        ]
    path, _, called = (part.strip() for part in tree.partition(" as "))
    names = [name.strip() for name in path.split("::") if name.strip()]
    return [(names, called or names[-1])] if names else []


@dataclass
class Module:
    """One file of a crate."""

    path: Path
    name: tuple[str, ...]
    children: dict[str, Module] = field(default_factory=dict)

    @cached_property
    def code(self) -> str:
        return code_of(self.path.read_text())

    @cached_property
    def top(self) -> str:
        """The code outside all braces but those of `use`."""
        out, at = [], 0
        while (opening := self.code.find("{", at)) >= 0:
            used = re.search(r"\buse\s[^;{}]*$", self.code[at:opening])
            end = closing(self.code, opening)
            out.append(self.code[at : end + 1] if used else self.code[at:opening] + ";")
            at = end + 1
        return "".join([*out, self.code[at:]])

    @cached_property
    def items(self) -> set[str]:
        return set(_ITEM.findall(self.top))

    @cached_property
    def uses(self) -> list[tuple[bool, list[str], str]]:
        """What it uses: whether it only hands it on, the path, the name."""
        found = re.findall(r"(\bpub(?:\s*\([^)]*\))?\s+)?\buse\s+([^;]+);", self.code)
        return [(bool(public), path, called) for public, tree in found for path, called in leaves(tree)]


def _declared(module: Module) -> list[tuple[str, str]]:
    return re.findall(r"(?:#\[path\s*=\s*([^\]]*)\]\s*)?\bmod\s+(\w+)\s*;", module.code)


def crate(root: Path) -> dict[tuple[str, ...], Module]:
    """The modules of the crate whose first file is `root`, by their names."""
    first = Module(root, ())
    found: dict[tuple[str, ...], Module] = {(): first}
    todo = [first]
    while todo:
        module = todo.pop()
        own = module.path.name in {"mod.rs", root.name} and (module is first or module.path.name == "mod.rs")
        folder = module.path.parent if own else module.path.with_suffix("")
        for _, name in _declared(module):
            path = next((p for p in (folder / f"{name}.rs", folder / name / "mod.rs") if p.is_file()), None)
            if path is not None:
                child = module.children[name] = found[(*module.name, name)] = Module(path, (*module.name, name))
                todo.append(child)
    return found


class Uses:
    """Which file of a crate uses which other."""

    def __init__(self, modules: dict[tuple[str, ...], Module]) -> None:
        self.modules = modules

    def _start(self, module: Module, names: list[str]) -> tuple[Module, list[str]] | None:
        """The module that a path begins in, and what is left of it; None for another crate's."""
        head, rest = names[0], names[1:]
        if head == "crate":
            return self.modules[()], rest
        if head == "self":
            return module, rest
        if head == "super":
            at = self.modules[module.name[:-1]]
            while rest and rest[0] == "super":
                at, rest = self.modules[at.name[:-1]], rest[1:]
            return at, rest
        return (module, names) if head in module.children else None

    def target(self, module: Module, names: list[str], seen: frozenset[tuple[str, ...]] = frozenset()) -> Module | None:
        """The file that a path leads to: through what others hand on, to where it is."""
        start = self._start(module, names)
        if start is None:
            return None
        at, rest = start
        while rest and rest[0] in at.children:
            at, rest = at.children[rest[0]], rest[1:]
        key = (*at.name, *rest[:1])
        if rest and rest[0] not in at.items and key not in seen:
            for _, path, called in at.uses:
                if called == rest[0] and (further := self.target(at, path, seen | {key})):
                    return further
                if path[-1] == "*" and (onto := self.target(at, path[:-1], seen | {key})) and rest[0] in onto.items:
                    return onto
        return at

    def of(self, module: Module) -> set[tuple[str, ...]]:
        """The modules whose items it names. What it only hands on (`pub use`), it does not use."""
        paths = [path for public, path, _ in module.uses if not public]
        body = re.sub(r"\buse\s+[^;]+;|\bpub\s*\([^)]*\)", "", module.code)
        paths += [match.split("::") for match in re.findall(r"(?<![\w:])\w+(?:::\w+)+", body)]
        own_names = {called: path for _, path, called in module.uses}
        paths = [[*own_names[path[0]], *path[1:]] if path[0] in own_names else path for path in paths]
        found = {target.name for path in paths if (target := self.target(module, path)) is not None}
        return found - {module.name}


def circles(graph: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[list[tuple[str, ...]]]:
    """The strongly connected components of more than one node (Tarjan, 1972)."""
    order: dict[tuple[str, ...], int] = {}
    low: dict[tuple[str, ...], int] = {}
    stack: list[tuple[str, ...]] = []
    found: list[list[tuple[str, ...]]] = []

    def visit(node: tuple[str, ...]) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def functions(code: str) -> list[tuple[str, int]]:
    """The functions of code without comments, each with its length in lines."""
    found = []
    for match in _FUNCTION.finditer(code):
        opening = re.compile(r"[;{]").search(code, match.end())
        if opening is not None and opening[0] == "{":
            found.append((match[1], code.count("\n", match.start(), closing(code, opening.start())) + 1))
    return found


def structs(code: str) -> list[tuple[str, int]]:
    """The structs with named fields, each with how many it has."""
    found = []
    for match in _STRUCT.finditer(code):
        opening = re.compile(r"[;({]").search(code, match.end())
        if opening is None or opening[0] != "{":
            continue
        body = code[opening.start() + 1 : closing(code, opening.start())]
        body = re.sub(r"#\[[^\]]*\]", "", body)
        while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]", "", re.sub("->", "", body))) != body:
            body = shorter
        found.append((match[1], len(re.findall(r"\w+\s*:(?!:)", re.sub(r"::\s*\w+", "", body)))))
    return found


#: A public item or field, in code without comments. What is public within a crate or a room only is its own affair.
_PUBLIC = re.compile(
    r"\s*pub (?:(?:const |async |unsafe )*(?:fn|struct|enum|union|trait|static|type) |const |)"
    r"(\w+)(?=\s*[:<({;=]| for\b)"
)


def undocumented(text: str) -> list[str]:
    """The public items and fields that no doc comment stands before."""
    lines, found = text.split("\n"), []
    for number, line in enumerate(code_of(text).split("\n")):
        public = _PUBLIC.match(line)
        if public is None or re.match(r"\s*pub (?:mod|use)\b", line):
            continue
        above = number - 1
        while above >= 0 and re.search(r"^\s*#\[|\)\]$", lines[above]):
            above -= 1
        if above < 0 or not lines[above].lstrip().startswith("///"):
            found.append(public[1])
    return found
