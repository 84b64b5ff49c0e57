"""`database.placement`: the parts of a server that are on other storages of the experiment than its data.

`database.storages` names the other storages: each is a table like `[storage]`. A real server and a modelled one read
the same fields. What a server's version can place is in `server/placement/`; what the model can is in `innodb.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import Problem, Table, explain_error, quote, raise_problems, refuse
from flatwater.experiment.storage import KINDS, ModelledStorage, Storage
from flatwater.spelling import nearest, suggest

#: The word for the storage of the data, `[storage]`, so that a sweep can say it.
MAIN = "storage"
#: The name of a storage begins the names of its series: it must not look like another series of a storage.
_NAME = re.compile(r"[a-z][a-z0-9]{0,15}", re.ASCII)
_TAKEN = re.compile(r"storage|none|main|cache|fast|read|write|flush|discard|queue|utilisation|member\d*|instance\d*")
#: The name of a table, as file systems and statements take it without care.
_TABLE = re.compile(r"[0-9a-zA-Z_$]{1,64}", re.ASCII)

#: The parts of a server that can be placed, apart from its tables.
Item = Literal["redo_log", "undo_logs", "doublewrite", "binary_log", "temporary_files", "system_tablespace"]
ITEMS: tuple[Item, ...] = get_args(Item)

#: Fields of a storage without a meaning for the parts of a server: (field, why).
_NOT_OF_PARTS = (
    ("size", "how much is written there follows from the workload"),
    ("fill", "how much is written there follows from the workload"),
    ("overwrite", "flatwater's servers write to directories of their own only"),
    ("purge", "a server's files are made anew for each cell"),
    ("fault", "a server's faults are database.fault"),
    ("keep", "the parts of a server are deleted after each cell"),
    ("exclusive_writes", "it is for the files of a modelled workload"),
)


def _on_main(written: Any) -> Any:
    return None if written == MAIN else written


#: The name of one of `database.storages`; None or the word "storage": with the data.
StorageName = Annotated[Annotated[str, Field(min_length=1)] | None, BeforeValidator(_on_main)]


def _are_tables(tables: dict[str, str | None]) -> dict[str, str | None]:
    for name in tables:
        if not _TABLE.fullmatch(name):
            raise refuse(f"{quote(name)} is no name of a table", "letters, digits, _ and $")
    return tables


class Placement(Table):
    """`[database.placement]`: part of the server -> the storage that it is on. What is absent is with the data."""

    redo_log: StorageName = None
    undo_logs: StorageName = None
    doublewrite: StorageName = None
    binary_log: StorageName = None
    #: Temporary files and the temporary tablespace.
    temporary_files: StorageName = None
    system_tablespace: StorageName = None
    #: Tables of the workload, each with its indexes.
    tables: Annotated[dict[str, StorageName], AfterValidator(_are_tables)] = Field(default_factory=dict)

    @property
    def items(self) -> dict[Item, str]:
        """Part -> the name of its storage; only those that are placed."""
        return {item: name for item in ITEMS if (name := getattr(self, item)) is not None}

    @property
    def placed_tables(self) -> dict[str, str]:
        """Table -> the name of its storage; only those that are placed."""
        return {table: name for table, name in self.tables.items() if name is not None}

    @property
    def said(self) -> dict[str, str]:
        """The same for both, by the names of the fields: `redo_log`, `tables.stock`."""
        items: dict[str, str] = {str(item): name for item, name in self.items.items()}
        return items | {f"tables.{table}": name for table, name in self.placed_tables.items()}


@dataclass(frozen=True)
class Other:
    """A storage beside that of the data, and the parts of a server on it."""

    storage: Storage
    items: tuple[Item, ...]
    tables: tuple[str, ...]

    @property
    def text(self) -> str:
        """The parts in words: `redo log, binary log, table stock`."""
        return ", ".join([*(item.replace("_", " ") for item in self.items), *(f"table {one}" for one in self.tables)])


def read_storages(tables: Any) -> Any:
    """Validates each table as the kind that it names; the default is files. All problems are reported at once."""
    if not isinstance(tables, Mapping):
        return tables
    storages: dict[str, object] = {}
    problems: list[Problem] = []
    for name, table in tables.items():
        fault = _name_fault(name)
        if fault is not None:
            problems.append(Problem(name, *fault, (f"database.storages.{name}",)))
            continue
        if isinstance(table, Layer):
            storages[name] = table
            continue
        kind = table.get("kind", next(iter(KINDS))) if isinstance(table, Mapping) else None
        if not isinstance(kind, str) or kind not in KINDS:
            told = f"there is no storage of the kind {quote(kind)}" if kind is not None else "must be a table"
            hint = suggest(str(kind), list(KINDS)) if kind is not None else None
            problems.append(Problem(name, told, hint, (f"database.storages.{name}",)))
            continue
        try:
            storages[name] = KINDS[kind].model_validate(table)
        except ValidationError as error:
            for details in error.errors(include_url=False):
                field = ".".join([name, *(str(part) for part in details["loc"])])
                problems.append(Problem(field, *explain_error(details), (f"database.storages.{field}",)))
    raise_problems("storages", problems)
    return storages


def _name_fault(name: str) -> tuple[str, str] | None:
    if not _NAME.fullmatch(name):
        return "a storage's name is a letter, then letters and digits, at most 16, all small", "like array or ssd2"
    return ("the name would be confused with others", "like array or ssd2") if _TAKEN.fullmatch(name) else None


class PlacedLayer(Layer):
    """A database with parts on other storages."""

    placement: Placement = Placement()
    #: The other storages, by the names that `placement` uses.
    storages: Annotated[dict[str, Storage], BeforeValidator(read_storages)] = Field(default_factory=dict)

    @property
    def others(self) -> dict[str, Other]:
        """The other storages that something is placed on, by their names."""
        said = self.placement
        used = dict.fromkeys(said.said.values())
        return {
            name: Other(
                self.storages[name],
                tuple(item for item, own in said.items.items() if own == name),
                tuple(table for table, own in said.placed_tables.items() if own == name),
            )
            for name in used
            if name in self.storages
        }

    def placed_conflicts(self) -> Iterator[Problem]:
        """Names of storages that there are not, and storages that no part of a server can be on."""
        for field, name in self.placement.said.items():
            if name not in self.storages:
                close = nearest(name, [*self.storages, MAIN])
                there = ", ".join([*self.storages, f'"{MAIN}" (with the data)'])
                hint = f"did you mean {close}?" if close else f"there is {there}; [database.storages.{name}] makes one"
                about = (f"database.placement.{field}", f"database.storages.{name}")
                yield Problem(f"placement.{field}", f"there is no storage {quote(name)}", hint, about)
        for name, storage in self.storages.items():
            yield from _storage_problems(name, storage)
        yield from _same_place(self.storages)


def _storage_problems(name: str, storage: Storage) -> Iterator[Problem]:
    own = list(storage.conflicts())
    for problem in own:
        field = f"storages.{name}.{problem.field.removeprefix('storage.')}"
        hint = problem.hint.replace("storage.", f"database.storages.{name}.") if problem.hint else problem.hint
        rests = tuple(
            f"database.storages.{name}.{rest.removeprefix('storage.')}" if rest.startswith("storage.") else rest
            for rest in problem.rests_on
        )
        yield Problem(field, problem.what, hint, rests or (f"database.{field}",))
    defaults = type(storage).model_fields
    for field, why in _NOT_OF_PARTS:
        if field == "size" and not (isinstance(storage, ModelledStorage) and not storage.real_time):
            continue  # how large the served device is, or (conflicts/cache.py) the cached file
        if field in defaults and getattr(storage, field) != defaults[field].default:
            place = f"storages.{name}.{field}"
            yield Problem(place, f"has no meaning there: {why}", "take it out", (f"database.{place}",))


def _same_place(storages: Mapping[str, Storage]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name, storage in storages.items():
        if storage.path is None:
            continue
        other = seen.setdefault(storage.path, name)
        if other != name:
            about = (f"database.storages.{name}.path", f"database.storages.{other}.path")
            what = f"is the directory of {other}, too"
            yield Problem(f"storages.{name}.path", what, f'keep one of the two, and name it "{other}"', about)
