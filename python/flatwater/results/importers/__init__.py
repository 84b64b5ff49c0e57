"""Imports results of other tools, so that they can be compared with ours: one file for each format.

`samplers/` has the programs that sample a machine or a server meanwhile; `folder.py`, `names.py`, `assemble.py` and
`clocks.py` make one result of all that lie in a folder.

To add a format: write `importers/FORMAT.py` with NAME, `recognises` and `read` (see `imported.Importer`), add it to
FORMATS, and test it in `tests/results/test_import_FORMAT.py`.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.importers import fio_json, fio_log, hammerdb, sysbench, tpcc
from flatwater.results.importers.assemble import Options
from flatwater.results.importers.folder import TWICE, FileReport, Found, is_sampled, read_folder
from flatwater.results.importers.imported import ImportedCell, Importer
from flatwater.results.importers.keeping import Analyse, keep
from flatwater.results.importers.prefixes import prefix_of
from flatwater.results.importers.settling import parts_of, read_part, tell_rejected
from flatwater.results.importers.texts import read_head

FORMATS: tuple[Importer, ...] = (fio_json, fio_log, sysbench, tpcc, hammerdb)
NAMES = [importer.NAME for importer in FORMATS]


def find_importer(path: Path) -> Importer:
    """The importer that recognises a file. Errors: UserError if there is none."""
    head = read_head(path)
    for importer in FORMATS:
        if importer.recognises(path, head):
            return importer
    prefix = prefix_of(head, [importer.recognises for importer in FORMATS], path)
    first = next(line for line in head.splitlines() if line.strip())
    raise UserError(
        f"no benchmark output that we know: it begins with {first.strip()[:40]!r}",
        where=f"{path}:1",
        hint=prefix or f"formats are {', '.join(NAMES)}; name one with --format",
    )


def read_files(paths: list[Path], name: str = "auto") -> list[ImportedCell]:
    """The cells in files of one format, or of any recognised format (`auto`)."""
    groups: dict[str, list[Path]] = {}
    once = {os.path.realpath(path): path for path in paths}
    for path in once.values():
        if name == "auto":
            groups.setdefault(find_importer(path).NAME, []).append(path)
        else:
            read_head(path)
            groups.setdefault(name, []).append(path)
    cells: list[ImportedCell] = []
    for importer in FORMATS:
        # A log that a JSON file names belongs to that run, and is no run of its own.
        used = {path.resolve() for cell in cells for path in cell.used}
        group = [path for path in groups.get(importer.NAME, []) if path.resolve() not in used]
        read = [cell for part in parts_of(importer, group) for cell in read_part(importer, part)]
        tell_rejected(cells, group, read)
        cells += read
    if len(once) < len(paths):
        names = sorted(name for name, count in Counter(map(os.path.realpath, paths)).items() if count > 1)
        cells[0].warnings.append(f"{', '.join(Path(name).name for name in names)}: {TWICE}")
    return cells


__all__ = [
    "FORMATS",
    "NAMES",
    "Analyse",
    "FileReport",
    "Found",
    "ImportedCell",
    "Importer",
    "Options",
    "find_importer",
    "is_sampled",
    "keep",
    "read_files",
    "read_folder",
]
