"""One setting as a line of a server's option file (my.cnf), so that the server reads exactly this value.

How servers read a line (mysys/my_default.c of MySQL 5.1 to 9 and of MariaDB): at most 4,094 bytes at once, and what
is left of a longer line is a line of its own. A # outside of quotes begins a comment; a quote in a value opens or
closes such quotes, unless a backslash is before it. Blanks at the ends are cut, and so is a byte A0: Latin-1 takes it
for a blank, and UTF-8 has it in letters (`à`). At last a pair of quotes around the value is taken off, and each
backslash is resolved with what follows it.
"""

from __future__ import annotations

import re

#: The most bytes of a line with its end: some fewer than the 4,094 that every server reads at once.
LINE_BYTES_MAX = 4000
_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
#: A value that every reader takes as it is. Any other is quoted.
_PLAIN = re.compile(r"[\w.:/,+@%-]+", re.ASCII)


def option_line(name: str, value: str) -> bytes:
    """The line with its end; `value` is "" for a name alone. `line_fault` must have nothing against it."""
    if not value:
        text = name
    elif _PLAIN.fullmatch(value):
        text = f"{name} = {value}"
    else:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        text = f'{name} = "{escaped}"'
    # The path of a directory may be no UTF-8: its bytes stay.
    return f"{text}\n".encode(errors="surrogateescape")


def line_fault(name: str, value: str) -> str | None:
    """Why no line says that this setting has this value; None when there is one."""
    if not _NAME.fullmatch(name):
        return "is not the name of a setting"
    if any(ord(character) < 32 for character in value):
        return "a setting's value is one line of text"
    try:
        length = len(option_line(name, value))
    except UnicodeEncodeError:
        return "a setting's value is UTF-8 text"
    if length > LINE_BYTES_MAX:
        return f"its line in my.cnf would have {length:,} bytes; {LINE_BYTES_MAX:,} bytes are the most"
    return None


def value_of_line(line: str) -> str:
    """The value that `option_line` wrote in this line; "" if there is none."""
    _, _, text = line.strip("\n").partition(" = ")
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text
