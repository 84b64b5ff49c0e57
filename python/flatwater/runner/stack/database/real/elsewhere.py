"""Where the parts of a cell's servers are that are not with their data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.experiment import Experiment, FileStorage
from flatwater.server import Parts, Placing, Root, open_parts

#: The folder of a server's parts, in its folder on each storage: a record of its cell is beside it.
_PARTS = "data"


def placing_of(cell: Experiment) -> Placing:
    """What a cell places."""
    said = cell.server.placement
    return Placing({str(item): name for item, name in said.items.items()}, said.placed_tables)


def real_places(cell: Experiment) -> dict[str, Path]:
    """The directories of the storages of files that a cell places something on, by their names."""
    others = cell.server.others.items()
    return {name: Path(one.storage.path or "") for name, one in others if isinstance(one.storage, FileStorage)}


class Elsewhere:
    """The folders of flatwater on the other storages of a cell; none if all parts are with the data."""

    def __init__(self) -> None:
        self.placing = Placing()
        #: The schema of the placed tables.
        self.schema = ""
        #: By the names of the storages.
        self.roots: dict[str, Root] = {}

    def stand_on(self, cell: Experiment, places: Mapping[str, Path]) -> None:
        """Opens and locks the folder on each storage; releases those that the cell does not use. Errors: UserError."""
        self.placing, self.schema = placing_of(cell), cell.schema_name
        for name in [name for name, root in self.roots.items() if root.path.parent != places.get(name)]:
            self.roots.pop(name).close()
        for name, place in places.items():
            if name not in self.roots:
                self.roots[name] = open_parts(place, f"database.storages.{name}.path")

    def parts(self, name: str) -> Parts:
        """The parts of the server whose folder has this name, whether they exist or not."""
        return Parts.below(
            self.placing, {storage: root.run_path(name) / _PARTS for storage, root in self.roots.items()}
        )

    def make(self, name: str) -> Parts:
        """Makes empty folders for the parts of a server, in place of older ones. Errors: FlatwaterError."""
        for root in self.roots.values():
            root.run_folder(name)
        parts = self.parts(name)
        parts.make()
        return parts

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors about a path on one of the storages name the user's field of that storage."""
        try:
            yield
        except FlatwaterError as error:
            of = next((name for name, root in self.roots.items() if str(root.path) in error.what), None)
            if of is None or error.where not in ("storage.path", "database.storages", None):
                raise
            field = f"database.storages.{of}.path"
            hint = error.hint.replace("storage.path", field) if error.hint else error.hint
            raise type(error)(error.what, where=field, hint=hint) from None

    def remove(self, name: str) -> None:
        """Deletes the parts of a server. Errors: UserError if flatwater did not make them; FlatwaterError."""
        for root in self.roots.values():
            root.remove_run(name)

    def release(self) -> None:
        """Unlocks the folders for other runs."""
        roots, self.roots = self.roots, {}
        for root in roots.values():
            root.close()
