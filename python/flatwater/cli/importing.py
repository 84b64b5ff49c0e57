"""`flatwater import`: converts results of other tools into a result."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.printing import counted, make_console, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flatwater.results import Result
    from flatwater.results.importers import FileReport, ImportedCell, Options

NAME = "import"
EXAMPLES = """
[bold]Examples[/bold]

  flatwater import fio.json                          a cell a job

  flatwater import run1_iops.1.log run1_lat.1.log    one fio run's logs

  flatwater import threads-*.txt --out sweep         a cell a file

  flatwater import FOLDER                            all that lies in it: sysbench, HammerDB, iostat, vmstat, ...

  flatwater import FOLDER --device nvme0n1 --timezone +02:00

  flatwater compare tpcc-2011-result tpcc-result
"""
#: More files than this are not told one by one, except with --json.
FILES_TOLD = 40
#: An interval of samples, seconds.
EVERY_S_MIN, EVERY_S_MAX = 0.01, 86400


def verb(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="What the tools printed: files, or folders of them.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The result folder to make (default: NAME-result).")
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help="auto, fio-json, fio-log, sysbench, tpcc or hammerdb; of files only.")
    ] = "auto",
    name: Annotated[str | None, typer.Option("--name", help="The result's name (default: the first path's).")] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="The disk of the data, as iostat calls it (default: busiest)."),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", metavar="+HH:MM", help="The zone of times that do not tell theirs."),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option("--every", metavar="SECONDS", help="The interval of files without times."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: cells, and what became of each file.")
    ] = False,
) -> None:
    """Make a result of what other tools printed, to report and compare it.

    Benchmarks: fio, sysbench, tpcc_start, HammerDB. Beside them, on one clock: iostat, vmstat, mpstat, dstat, sysstat's
    JSON, mysqladmin ext -i, HammerDB's transaction counter, CSV files of a server's counters.

    What a tool did not report stays unknown: it is never shown as zero.
    """
    from flatwater.analysis import analyse
    from flatwater.errors import UserError
    from flatwater.results.importers import FORMATS, NAMES, keep, read_files, read_folder
    from flatwater.results.importers.texts import stem_of
    from flatwater.spelling import suggest

    # Python compares nan with no number, so it is within any limits or none.
    if every is not None and not EVERY_S_MIN <= every <= EVERY_S_MAX:
        limits = f"a number of seconds from {EVERY_S_MIN:g} to {EVERY_S_MAX:g}"
        raise UserError(f"{every:g} is no interval", where="--every", hint=f"{limits}, such as 1 or 0.5")
    if format_ not in ("auto", *NAMES):
        raise UserError(f"no format {format_!r}", where="--format", hint=suggest(format_, ("auto", *NAMES)))
    reports: list[FileReport] = []
    cells: list[ImportedCell]
    if _is_several(paths, format_):
        found = read_folder(paths, FORMATS, _options(device, timezone, every))
        cells, reports = found.cells, found.reports
        name = name or stem_of(paths[0].resolve())
    else:
        cells = read_files(paths, format_)
        stem = stem_of(paths[0])
        # The logs of one fio run have names like PREFIX_iops.1.log: the prefix is the name of the run.
        name = name or (cells[0].label if stem.startswith(f"{cells[0].label}_") else stem)
    out = out or Path(f"{one_line(name)}-result")
    sources = ", ".join(path.name or path.resolve().name for path in paths[:3]) + (
        f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    )
    result = keep(cells, out, name, f"Imported from {sources}", analyse)
    if as_json:
        print(json.dumps(_as_data(result, reports), indent=1))
        return
    _print_files(reports)
    _print_cells(result, name)


def _is_several(paths: Sequence[Path], format_: str) -> bool:
    """Whether the paths are folders, or a sampler's output is among them. Errors: UserError."""
    from flatwater.errors import UserError
    from flatwater.results.importers import is_sampled

    folders = [path for path in paths if path.is_dir()]
    if folders and format_ != "auto":
        raise UserError("is of files, and this is a folder", where="--format", hint=f"take it out: {folders[0]}")
    return bool(folders) or (format_ == "auto" and any(is_sampled(path) for path in paths))


def _options(device: str | None, timezone: str | None, every: float | None) -> Options:
    from flatwater.errors import UserError
    from flatwater.results.importers import Options
    from flatwater.results.importers.samplers.stamps import zone_offset_s

    zone_s = zone_offset_s(timezone) if timezone is not None else None
    if timezone is not None and zone_s is None:
        raise UserError(f"{timezone!r} is no time zone", where="--timezone", hint="such as +02:00, -0530 or UTC")
    return Options(device, zone_s, every)


def _print_files(reports: Sequence[FileReport]) -> None:
    console = make_console()

    def say(text: str) -> None:
        console.print(one_line(text), soft_wrap=True)

    if len(reports) <= FILES_TOLD:
        for report in reports:
            unknown = f"; not taken: {', '.join(report.unknown)}" if report.unknown else ""
            told = f"{report.tool}: {report.taken}{unknown}" if report.taken else f"left out: {report.left_out}"
            say(f"{report.path.name}: {told}")
        return
    tools = Counter(report.tool for report in reports if report.taken)
    reasons = Counter(report.left_out for report in reports if not report.taken)
    say("taken: " + ", ".join(f"{count} of {tool}" for tool, count in tools.most_common()))
    for reason, count in reasons.most_common(10):
        first = next(report for report in reports if not report.taken and report.left_out == reason)
        say(f"left out: {counted(count, 'file')}, such as {first.path.name}: {reason}")


def _print_cells(result: Result, name: str) -> None:
    console = make_console()
    warned: Counter[str] = Counter()
    for cell in result.cells:
        if cell.summary is None:
            continue
        label = cell.label if len(result.cells) > 1 else name
        if len(result.cells) <= FILES_TOLD:
            console.print(f"{one_line(label)}: {cell.summary.verdict_text}", soft_wrap=True)
        for warning in cell.summary.warnings:
            if len(result.cells) > 1:
                warned[warning.partition(" (")[0]] += 1
            else:
                console.print(f"  warning: {one_line(warning)}", soft_wrap=True)
    for warning, count in warned.most_common(FILES_TOLD):
        console.print(f"  warning of {count} of {len(result.cells)} cells: {one_line(warning)}", soft_wrap=True)
    console.print(str(result.path), soft_wrap=True)


def _as_data(result: Result, reports: Sequence[FileReport]) -> dict[str, object]:
    return {
        "result": str(result.path),
        "cells": [
            cell.summary.model_dump(mode="json", exclude={"histograms"})
            for cell in result.cells
            if cell.summary is not None
        ],
        "files": [
            {
                "path": str(report.path),
                "format": report.tool,
                "taken": report.taken or None,
                "left_out": report.left_out or None,
                "not_taken": list(report.unknown),
            }
            for report in reports
        ],
    }
