"""The experiments that can be started from a page, and what each needs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flatwater.experiment import Experiment, Server, count_cells, find_missing, load, longest_s, print_duration
from flatwater.experiment.library import library_files


@dataclass(frozen=True)
class Entry:
    """An experiment of the library."""

    name: str
    #: Its file: a name alone could also be that of a file in the folder where the server was started.
    path: Path
    title: str
    about: str
    source: str
    cells: int
    #: How long its cells take, in words.
    time: str
    #: Layer -> `real` or `modelled`; those that are not there are left out.
    layers: dict[str, str]
    #: Whether something of this machine is measured.
    real: bool
    #: A program of a server is needed.
    server: bool
    #: The fields that the file leaves to the user.
    fields: tuple[str, ...]

    @property
    def layers_text(self) -> str:
        """`modelled`, or each layer where they differ, as `flatwater list` has it."""
        if len(set(self.layers.values())) == 1:
            return next(iter(self.layers.values()))
        return ", ".join(f"{layer} {what}" for layer, what in self.layers.items())

    @property
    def needs(self) -> list[str]:
        """What must be there before it can run."""
        program = ["a program of MariaDB, MySQL or Percona Server on this machine"] if self.server else []
        return [*self.fields, *program]


class Shelf:
    """The library, read once: it does not change while the server runs. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}

    def entries(self) -> Sequence[Entry]:
        """All experiments, by their names."""
        with self._lock:
            if not self._entries:
                self._entries = {name: _entry(name, path) for name, path in library_files().items()}
            return list(self._entries.values())

    def find(self, name: str) -> Entry | None:
        """The experiment of a name. No other text becomes a path."""
        self.entries()
        return self._entries.get(name)


def _entry(name: str, path: Path) -> Entry:
    experiment = load(path)
    longest = print_duration(longest_s(experiment))
    return Entry(
        name=name,
        path=path,
        title=experiment.title or name,
        about=experiment.about,
        source=experiment.source,
        cells=count_cells(experiment),
        time=longest + (" of virtual time" if experiment.in_virtual_time else ""),
        layers={layer: what for layer, what in experiment.layers.items() if what != "none"},
        real=not experiment.in_virtual_time,
        server=_starts_a_server(experiment),
        fields=tuple(dict.fromkeys(one.field for one in find_missing(experiment))),
    )


def _starts_a_server(experiment: Experiment) -> bool:
    return isinstance(experiment.database, Server) and not experiment.database.attached
