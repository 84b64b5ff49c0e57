"""Opening a result folder for reading."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.results.agreement import Agreement
from flatwater.results.facts import MachineFacts, facts_of
from flatwater.results.result import Cell, Result
from flatwater.results.schema import SCHEMA_VERSION, CellSummary, Manifest
from flatwater.results.stored import SUMMARY_BYTES_MAX, exists, read_file, read_json, validate
from flatwater.spelling import guessed_path


def open_result(path: Path | str) -> Result:
    """Opens a result folder for reading.

    Errors: UserError when it is not a result folder, is damaged, or was written by a newer flatwater.
    """
    path = Path(path)
    require_result(path)
    manifest = read_manifest(path)
    experiment, machine = _read_experiment(path), read_machine(path)
    # For a running or killed run, `summary.json` has the state before that run. Only the folders of the cells show
    # which cells are complete now.
    over = manifest.status != "running"
    summaries: dict[int, CellSummary] = {}
    agreement: Agreement | None = None
    if exists(path / "summary.json"):
        summaries, agreement = read_summaries(path / "summary.json")
    result = Result(path, manifest, experiment, machine, [], agreement if over else None)
    for plan in sorted(manifest.cells, key=lambda plan: plan.index):
        cell = Cell(result, plan, summaries.get(plan.index) if over else None)
        if exists(cell.folder / "summary.json"):
            cell.summary = cell.stored_summary()
        result.cells.append(cell)
    return result


def require_result(path: Path) -> None:
    """Errors: UserError for a path that is not a result folder, with the reason."""
    if exists(path / "flatwater.json"):
        return
    hint = "give the folder that `flatwater run` or `flatwater import` printed"
    found = exists(path)
    _require_enterable(path)
    if found:
        raise UserError("not a flatwater result (no flatwater.json in it)", where=str(path), hint=hint)
    raise UserError("no such folder", where=str(path), hint=guessed_path(path) or hint)


def _require_enterable(path: Path) -> None:
    """Errors: UserError for a folder that exists, or may exist, and cannot be read."""
    try:
        (path / "flatwater.json").stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot be read: {why}", where=str(path)) from None


def require_known_version(raw: Any, folder: Path) -> None:
    """Refuses a file that a newer flatwater wrote. Errors: UserError at the folder."""
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        what = f"schema version {version} is newer than this flatwater's {SCHEMA_VERSION}"
        raise UserError(what, where=str(folder), hint="upgrade flatwater")


def read_manifest(path: Path) -> Manifest:
    """What a result folder says of itself. Errors: UserError: damaged, or of a newer flatwater."""
    raw = read_json(path / "flatwater.json")
    require_known_version(raw, path)
    return validate(Manifest, raw, path / "flatwater.json")


def _read_experiment(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_file(path / "experiment.toml").decode(errors="replace"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UserError(f"cannot read experiment.toml: {error}", where=str(path)) from None


def read_machine(path: Path) -> MachineFacts:
    """The machine of a result folder; empty if it tells none. Errors: UserError."""
    machine = read_json(path / "machine.json") if exists(path / "machine.json") else {}
    if not isinstance(machine, dict):
        raise UserError("machine.json is not an object", where=str(path))
    return facts_of(machine)


def read_summaries(path: Path) -> tuple[dict[int, CellSummary], Agreement | None]:
    """The cells of a `summary.json` by their numbers, and the agreement with what was published. Errors: UserError."""
    whole = read_json(path, SUMMARY_BYTES_MAX)
    cells = whole.get("cells") if isinstance(whole, dict) else None
    if not isinstance(cells, list):
        raise UserError("there is no list of cells in it", where=str(path))
    raw = whole.get("agreement")
    agreement = validate(Agreement, raw, path) if raw is not None else None
    return {summary.cell: summary for summary in (validate(CellSummary, item, path) for item in cells)}, agreement
