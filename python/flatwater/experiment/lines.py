"""The line of each field in a TOML text, for errors that are found after parsing."""

from __future__ import annotations

import re
import tomllib

from flatwater.experiment.database.settings import spell_field

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
#: A bare or quoted key, with or without dots, before its `=`.
_KEY = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'))*)\s*=(.*)"""
)
#: The tokens of a value: brackets and commas in strings and comments do not count.
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*|[\[\]{},]|[^\s,\[\]{}"\'#]+')


class _Open:
    """A list or an inline table whose end was not reached yet: which entry of a list comes next."""

    def __init__(self, name: str | None) -> None:
        #: The field of a list; None for an inline table, whose entries stand on its line.
        self.name = name
        self.entry = 0


class LineIndex:
    """Line numbers of the keys, the headers and the entries of lists of a valid TOML text."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, int] = {}
        self._arrays: dict[str, int] = {}
        self._table = ""
        self._open: list[_Open] = []
        self._quotes = ""
        for number, line in enumerate(text.split("\n"), start=1):
            self._read(line, number)

    def __contains__(self, field: str) -> bool:
        """Whether the field itself is written."""
        return field in self._lines

    def line_of(self, field: str) -> int | None:
        """The line of a dotted field (entries of arrays by number: `published.0.set`), or of the table around it."""
        while field:
            if field in self._lines:
                return self._lines[field]
            field = field.rpartition(".")[0]
        return None

    def _read(self, line: str, number: int) -> None:
        if self._open or self._quotes:
            self._skip(line, number, "")
        elif header := _HEADER.match(line):
            self._enter(header[1] == "[[", header[2], number)
        elif key := _KEY.match(line):
            name = _dotted(key[1])
            self._note(name, number)
            self._skip(key[2], number, name)

    def _enter(self, is_array: bool, name: str, number: int) -> None:
        parts = _dotted(name).split(".")
        path = ""
        for position, part in enumerate(parts, start=1):
            path = f"{path}.{part}" if path else part
            if is_array and position == len(parts):
                self._lines.setdefault(path, number)
                self._arrays[path] = self._arrays.get(path, -1) + 1
            if path in self._arrays:
                path = f"{path}.{self._arrays[path]}"
        self._table = ""
        self._note(path, number)
        self._table = path

    def _note(self, name: str, number: int) -> None:
        self._lines.setdefault(spell_field(f"{self._table}.{name}" if self._table else name), number)

    def _skip(self, text: str, number: int, name: str) -> None:
        """Follows the value of a key over several lines, until its brackets and long strings are closed."""
        position = 0
        while position < len(text):
            if self._quotes:
                end = text.find(self._quotes, position)
                if end < 0:
                    return
                position, self._quotes = end + 3, ""
                continue
            token = _TOKEN.search(text, position)
            if token is None or token[0].startswith("#"):
                return
            position = token.end()
            if token[0] in "]}":
                self._open.pop()
            elif token[0] == ",":
                self._open[-1].entry += 1
            else:
                self._begin(token[0], number, name)

    def _begin(self, sign: str, number: int, name: str) -> None:
        """A value, or the bracket that opens one, of a key or of an entry of a list."""
        around = self._open[-1] if self._open else _Open(None)
        own = f"{around.name}.{around.entry}" if around.name is not None else None if self._open else name
        if around.name is not None and own is not None:
            self._note(own, number)
        if sign in ('"""', "'''"):
            self._quotes = sign
        elif sign in "[{":
            self._open.append(_Open(own if sign == "[" else None))


def _dotted(key: str) -> str:
    """`"workload.threads"`, `workload . threads` and `workload.threads` are the same field."""
    try:
        table = tomllib.loads(f"{key} = 0")
    except (tomllib.TOMLDecodeError, RecursionError):
        return key
    parts = []
    while isinstance(table, dict):
        ((part, table),) = table.items()
        parts.append(part)
    return ".".join(parts)
