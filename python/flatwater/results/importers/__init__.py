"""Results of other tools in our form, so that old ones can be compared: one file per format, met here.

To add a format: write `importers/FORMAT.py` with NAME, `recognises` and `read` (see `imported.Importer`), add it to
FORMATS, mirror it in `tests/results/test_import_FORMAT.py`.
"""

from __future__ import annotations

from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.importers import fio_json, fio_log, sysbench, tpcc
from flatwater.results.importers.imported import ImportedCell, Importer, read_head
from flatwater.results.importers.keeping import Analyse, keep

FORMATS: tuple[Importer, ...] = (fio_json, fio_log, sysbench, tpcc)
NAMES = [importer.NAME for importer in FORMATS]


def find_importer(path: Path) -> Importer:
    """The importer that recognises a file; UserError when none does."""
    head = read_head(path)
    for importer in FORMATS:
        if importer.recognises(path, head):
            return importer
    first = next(line for line in head.splitlines() if line.strip())
    raise UserError(
        f"no benchmark output that we know: it begins with {first.strip()[:40]!r}",
        where=f"{path}:1",
        hint=f"formats are {', '.join(NAMES)}; name one with --format",
    )


def read_files(paths: list[Path], name: str = "auto") -> list[ImportedCell]:
    """The cells in files of one format, or of any that is recognised (`auto`)."""
    groups: dict[str, list[Path]] = {}
    for path in paths:
        if name == "auto":
            groups.setdefault(find_importer(path).NAME, []).append(path)
        else:
            read_head(path)
            groups.setdefault(name, []).append(path)
    cells: list[ImportedCell] = []
    for importer in FORMATS:
        # A log that a JSON file speaks of is that run's line, and no run of its own.
        used = {path.resolve() for cell in cells for path in cell.used}
        group = [path for path in groups.get(importer.NAME, []) if path.resolve() not in used]
        cells += importer.read(group) if group else []
    return cells


__all__ = ["FORMATS", "NAMES", "Analyse", "ImportedCell", "Importer", "find_importer", "keep", "read_files"]
