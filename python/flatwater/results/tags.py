"""Tags and a note of the user's about a result: a file of its own in the folder. What was measured is never touched."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from flatwater.errors import UserError
from flatwater.owned import FOLDER_FLAGS, write_atomic
from flatwater.results.opening import read_manifest, require_known_version, require_result
from flatwater.results.schema import SCHEMA_VERSION
from flatwater.results.stored import exists, read_json, validate

#: The file in the result folder.
TAGS = "tags.json"
#: The most characters of a tag's name, of its value and of the note; and the most tags of a result.
NAME_CHARACTERS_MAX, VALUE_CHARACTERS_MAX, NOTE_CHARACTERS_MAX, TAGS_MAX = 64, 1000, 10_000, 200
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Tags(BaseModel):
    """The tags of a result by their names, and its note."""

    model_config = ConfigDict(extra="forbid")

    schema_version: int = SCHEMA_VERSION
    tags: dict[str, str] = Field(default_factory=dict, max_length=TAGS_MAX)
    note: str = Field(default="", max_length=NOTE_CHARACTERS_MAX)

    @field_validator("tags")
    @classmethod
    def _fit(cls, tags: dict[str, str]) -> dict[str, str]:
        for name, value in tags.items():
            if wrong := _wrong_name(name) or _wrong_value(name, value):
                raise ValueError(wrong)
        return tags


def read_tags(folder: Path) -> Tags:
    """The tags of a result; none if it has no file of them. Errors: UserError: damaged, or of a newer flatwater."""
    file = folder / TAGS
    if not exists(file):
        return Tags()
    raw = read_json(file)
    require_known_version(raw, folder)
    return validate(Tags, raw, file)


def parse_tag(text: str, where: str) -> tuple[str, str]:
    """`key=value` as the two. Errors: UserError at `where`."""
    name, given, value = text.partition("=")
    if not given:
        raise UserError(f"{text!r} is no tag", where=where, hint="key=value, such as kernel=6.12")
    if wrong := _wrong_name(name):
        raise UserError(wrong, where=where, hint="letters, digits and _ . - as in kernel=6.12")
    if wrong := _wrong_value(name, value):
        raise UserError(wrong, where=where, hint="--note takes longer texts")
    return name, value


def change_tags(folder: Path, given: Mapping[str, str], removed: Sequence[str] = (), note: str | None = None) -> Tags:
    """Changes the tags of a result, all at once or not at all, and returns those that it has then.

    `note` replaces the note; None keeps it. Two who change tags at the same time wait for each other.

    Errors: UserError for a folder that is no result, for a tag to remove that is not there, for too much text, and
    where the folder cannot be written.
    """
    require_result(folder)
    read_manifest(folder)
    try:
        with _alone(folder):
            before = read_tags(folder)
            after = changed_tags(before, given, removed, note)
            if after != before:
                write_atomic(folder / TAGS, tags_text(after))
            return after
    except OSError as error:
        raise UserError(f"cannot write the tags: {error.strerror}", where=str(folder / TAGS)) from None


def changed_tags(before: Tags, given: Mapping[str, str], removed: Sequence[str] = (), note: str | None = None) -> Tags:
    """Tags with a change, as of `change_tags`. Errors: UserError."""
    if missing := [name for name in removed if name not in before.tags]:
        there = ", ".join(before.tags) or "none"
        raise UserError(f"there is no tag {missing[0]!r}", where=f"--remove {missing[0]}", hint=f"tags: {there}")
    kept = {name: value for name, value in before.tags.items() if name not in removed}
    return Tags(tags=_few(kept | dict(given)), note=before.note if note is None else _short(note))


def tags_text(tags: Tags) -> str:
    """What the file of them has."""
    return tags.model_dump_json(indent=1)


def _few(tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > TAGS_MAX:
        raise UserError(f"{len(tags)} tags, and a result may have {TAGS_MAX}", where="key=value", hint="--remove some")
    return tags


def _short(note: str) -> str:
    if not _is_utf8(note):
        raise UserError("is not UTF-8 text", where="--note", hint="write it in the terminal's own encoding")
    if len(note) > NOTE_CHARACTERS_MAX:
        what = f"{len(note):,} characters, and a note may have {NOTE_CHARACTERS_MAX:,}"
        raise UserError(what, where="--note", hint="keep the text in a file, and name the file in the note")
    return note


def _wrong_name(name: str) -> str | None:
    """What is wrong with the name of a tag."""
    if _NAME.fullmatch(name) is None:
        return f"{name!r} is no name of a tag"
    if len(name) > NAME_CHARACTERS_MAX:
        return f"the name of a tag is longer than {NAME_CHARACTERS_MAX} characters"
    return None


def _wrong_value(name: str, value: str) -> str | None:
    """What is wrong with the value of a tag: it stands in one line of a table."""
    if len(value) > VALUE_CHARACTERS_MAX:
        return f"the value of {name} is longer than {VALUE_CHARACTERS_MAX:,} characters"
    return None if value.isprintable() and _is_utf8(value) else f"the value of {name} is not one line of plain text"


def _is_utf8(text: str) -> bool:
    """Whether a text can be stored: an argument may hold bytes that are no character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else changes the tags of the folder meanwhile. The lock ends with the process. Errors: OSError."""
    descriptor = os.open(folder, FOLDER_FLAGS)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
