"""What is said of a server that its user named by a url alone, as to `flatwater observe`: in the words of a url.

The engine and this package name fields of an experiment: `database.ssl_mode = "REQUIRED"`. Who has no experiment can
write none of them. The url takes the same words after its ?, as `ssl-mode=REQUIRED`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from flatwater.errors import FlatwaterError
from flatwater.experiment.database.tls import PARAMETERS

#: What the user wrote, as the commands call it.
_ARGUMENT = "URL"
#: Not the user's words, though they may be called so: a server's own variables, and files.
_OTHERS = r"\(its [^)]*\)|/[^\s:]*"
_VALUE = r' = "(?P<value>[^"]*)"(?:, or "(?P<other>[^"]*)")?'
_WORD = re.compile(
    rf"{_OTHERS}|\b(?P<url>database\.url)\b|\b(?:database\.)?(?P<field>{'|'.join(PARAMETERS)})\b(?:{_VALUE})?"
)


def in_url(text: str) -> str:
    """A line about fields of `[database]`, in the words of a url. What may be written into it is said to be there."""
    written = False

    def word(found: re.Match[str]) -> str:
        nonlocal written
        if found["url"]:
            return f"the {_ARGUMENT}"
        if not found["field"]:
            return found[0]
        name = found["field"].replace("_", "-")
        if found["value"] is None:
            return name
        where, written = "" if written else f" in the {_ARGUMENT}", True
        other = f", or {name}={found['other']}" if found["other"] is not None else ""
        return f"{name}={found['value']}{where}{other}"

    return _WORD.sub(word, text)


@contextmanager
def named_by_url() -> Iterator[None]:
    """Errors that name fields of `[database]` name the url and what can be in it instead."""
    try:
        yield
    except FlatwaterError as error:
        what, where, hint = error.what, error.where, error.hint
        layer, _, field = (where or "").partition(".")
        if layer == "database" and field:
            what, where = what if field == "url" else f"{field}: {what}", _ARGUMENT
        # Changed as it is: each kind of error is made in its own way.
        error.what, error.where, error.hint = in_url(what), where, in_url(hint) if hint is not None else None
        raise
