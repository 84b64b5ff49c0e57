"""Effects of changes on real servers and on their models: `python -m benchmarks.effects [SERVER ...] --dir DIR`.

Results stay in a folder, a cell at a time, so that the table can be made over several nights: what is there is not
measured again, and `--changes` says what is measured next. The page docs/effects.md is made of all that is there, at
any time (`--page-only`). The emulated device with the loaded data stays in DIR, for the next night.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.effects.cells import Outcome, failures, measure, model, outcome_of, outcomes
from benchmarks.effects.judge import effects
from benchmarks.effects.matrix import Change, base, changes
from benchmarks.effects.page import Measured, page
from benchmarks.effects.picture import scatter
from benchmarks.effects.plan import UNCHANGED, Plan, Scale, folder_of
from benchmarks.effects.processors import cpu_times, shared
from benchmarks.effects.storages import NAMES, STORAGES, Storage, find_storage
from benchmarks.options import add_options, read_options, tell
from benchmarks.options import measure as measure_and_write
from benchmarks.servers.cache import cache_folder, locate
from benchmarks.servers.registry import SERVERS, Server, find
from flatwater.errors import UserError
from flatwater.experiment.database.generation import generation_of
from flatwater.fit.workload.counters import LEAST_S, WINDOW_S
from flatwater.report.images import export_figure
from flatwater.results import Result, open_result
from flatwater.what_if.noise import run_noise

_PLAN = "plan.json"
PAGE = Path(__file__).parents[2] / "docs" / "effects.md"
#: From an empty pool the redo log fills first, and then its limit slows the server down. The modelled base loses 15 %
#: of its throughput so in two minutes, and from 90 s on less in a minute than the rule of a steady line allows.
FULL = Scale(5, 90.0, 60.0, 2)
#: Does everything work? As long as what-if needs of the unchanged server; a verdict takes ten intervals of a second.
#: A window more than is needed: on a busy machine one may have a gap.
QUICK = Scale(1, 2.0, LEAST_S + WINDOW_S, 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 measured, also if a goal was missed; 1 a program failed; 2 bad arguments; 130 interrupted."""
    return measure_and_write(_read, _table, list(sys.argv[1:] if arguments is None else arguments))


def _read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.effects", description=__doc__.partition("\n")[0])
    parser.add_argument("servers", nargs="*", metavar="SERVER", help="servers to measure; none: those that are here")
    parser.add_argument("--storage", choices=NAMES, default=NAMES[0], help=f"below the server [{NAMES[0]}]")
    parser.add_argument("--changes", default="", metavar="NAME,NAME", help="only these changes; results are kept [all]")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"[{FULL.rounds}; with --quick {QUICK.rounds}]")
    parser.add_argument("--page-only", action="store_true", help="measure nothing: make the page of what is there")
    parser.add_argument("--results", type=Path, help="where results stay [effects, beside the folder of the servers]")
    add_options(parser, (), "docs/effects.md", "short and once")
    options = read_options(parser, arguments, (), sorted({one.name for one in _every_change()}), PAGE)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be more than 0")
    return options


def _every_change() -> Iterator[Change]:
    for server in SERVERS:
        yield from changes(server, generation_of(*server.name.split("-")))
    for storage in STORAGES:
        yield from storage.changes


def _table(options: argparse.Namespace) -> str:
    asked = [_named(name) for name in options.servers] or [one for one in SERVERS if locate(one) is not None]
    scale = QUICK if options.quick else FULL
    scale = replace(scale, rounds=options.rounds or scale.rounds)
    if options.quick or options.only:
        # A part of the table: it is printed, and not kept.
        with tempfile.TemporaryDirectory(prefix="flatwater-effects-") as name:
            return page([_compared(_measured(one, scale, options, Path(name))) for one in asked])
    kept = options.results or cache_folder().parent / "effects"
    for server in asked if not options.page_only else ():
        _measured(server, scale, options, kept)
    # Those of other nights, too.
    there = [kept / server.name / name for server in SERVERS for name in NAMES]
    compared = [_compared(folder) for folder in there if (folder / _PLAN).exists()]
    compared = [one for one in compared if one.effects or one.failed]
    if not any(one.effects for one in compared):
        return page(compared)
    drawn = export_figure(
        scatter([(one.title, one.effects) for one in compared]), options.out.parent / "pictures", "svg"
    )
    return page(compared, f"pictures/{drawn.name}")


def _named(name: str) -> Server:
    server = find(name)
    if server is None:
        raise UserError(f"there is no server {name}", hint=", ".join(one.name for one in SERVERS))
    return server


def _measured(server: Server, scale: Scale, options: argparse.Namespace, kept: Path) -> Path:
    """Measures what is missing of a server; the folder with its plan and its results."""
    binary = locate(server)
    if binary is None:
        hint = f"python -m benchmarks.servers get {server.name}"
        raise UserError(f"{server.title} is not on this machine", hint=hint)
    storage = find_storage(options.storage)
    generation = generation_of(binary.flavour, ".".join(map(str, binary.version)))
    asked = _asked(server, storage, generation, options)
    folder = kept / server.name / storage.name
    folder.mkdir(parents=True, exist_ok=True)
    unchanged = {**base(server, generation), **storage.unchanged}
    plan = Plan(server.name, server.title, generation, storage.name, scale, unchanged, asked)
    plan = _joined(plan, folder / _PLAN)
    (folder / _PLAN).write_text(plan.to_json())
    database, tables = {"kind": "server", "binary": str(binary.path)}, storage.real(str(options.dir.absolute()))
    for number in range(1, scale.rounds + 1):
        for change in (UNCHANGED, *asked):
            tell(f"{server.title}, {storage.title}, round {number}: {change.name}")
            measure(plan.cell(change, number, database, tables), folder / folder_of(change, number))
    return folder


def _asked(server: Server, storage: Storage, generation: str, options: argparse.Namespace) -> tuple[Change, ...]:
    """The changes to measure now, in the order of the matrix. Errors: UserError."""
    there = (*changes(server, generation), *storage.changes)
    if options.changes:
        names = [name.strip() for name in options.changes.split(",")]
        unknown = [name for name in names if name not in {one.name for one in there}]
        if unknown:
            hint = "there is: " + "; ".join(one.name for one in there)
            raise UserError(f"no change of {server.name} is named {unknown[0]!r}", where="--changes", hint=hint)
        there = tuple(one for one in there if one.name in names)
    asked = tuple(one for one in there if options.only in one.name)
    if not asked:
        raise UserError(f"no change of {server.name} has {options.only!r} in its name", where="--only")
    return asked


def _joined(plan: Plan, file: Path) -> Plan:
    """A plan with the changes and the rounds of the nights before, if they had the same base. Errors: UserError."""
    if not file.exists():
        return plan
    before = Plan.from_json(file.read_text())
    names = {one.name for one in plan.changes}
    changes = (*plan.changes, *(one for one in before.changes if one.name not in names))
    rounds = max(plan.scale.rounds, before.scale.rounds)
    joined = replace(plan, changes=changes, scale=replace(plan.scale, rounds=rounds))
    if replace(before, changes=changes, scale=replace(before.scale, rounds=rounds)) != joined:
        what = f"{file.parent} has results of another base or of another length"
        raise UserError(what, where="--results", hint="move it away, or give another folder with --results")
    return joined


def _compared(folder: Path) -> Measured:
    """The effects that are measured of one server on one storage, beside those of the model of today."""
    plan = Plan.from_json((folder / _PLAN).read_text())
    storage, numbers = find_storage(plan.storage), range(1, plan.scale.rounds + 1)
    there = {change.name: _results(folder, change, numbers) for change in (UNCHANGED, *plan.changes)}
    # Only cells that ended well have an outcome.
    ended = {
        name: [result for result in results if result is not None and outcome_of(result) is not None]
        for name, results in there.items()
    }
    measured = [one for one in plan.changes if ended[one.name]]
    found = [result for results in there.values() for result in results if result is not None]
    title, failed = f"{plan.title}, {storage.title}", [line for result in found for line in failures(result)]
    if not measured or not ended[UNCHANGED.name]:
        return Measured(title, _facts(plan, storage, found), (), failed)
    real = [[outcome_of(result) for result in there[one.name]] for one in (UNCHANGED, *measured)]
    cores = int(found[0].machine.get("cores") or 1)
    ([alone], _) = _modelled(plan, storage, (), {"cores": cores, "cpu": {"times": 1.0}})
    used = shared(ended[UNCHANGED.name], cpu_times(real[0], alone))
    predicted, not_well = _modelled(plan, storage, measured, {"cores": cores, "cpu": used.table(plan.generation)})
    failed += [f"model, {line}" for line in not_well]
    noises = [run_noise([result.cells[0] for result in ended[one.name]]) for one in (UNCHANGED, *measured)]
    found_effects = effects([one.name for one in measured], real, noises, predicted)
    return Measured(title, [*_facts(plan, storage, found), *used.facts()], found_effects, failed)


def _modelled(
    plan: Plan, storage: Storage, asked: Sequence[Change], processors: Mapping[str, object]
) -> tuple[list[list[Outcome | None]], list[str]]:
    """For the base and each change, one outcome a seed; and what did not end well. `processors` are fields of the
    modelled database.
    """
    database = {"kind": "innodb-model", "generation": plan.generation, "warm": False, **processors}
    with tempfile.TemporaryDirectory(prefix="flatwater-effects-") as name:
        result = model(plan.sweep(asked, database, storage.modelled), Path(name))
        return outcomes(result, 1 + len(asked)), failures(result)


def _results(folder: Path, change: Change, numbers: range) -> list[Result | None]:
    """The results of a change, a round each; None for a cell that was not measured yet."""
    cells = [folder / folder_of(change, number) for number in numbers]
    return [open_result(cell) if (cell / "flatwater.json").exists() else None for cell in cells]


def _facts(plan: Plan, storage: Storage, found: Sequence[Result]) -> list[tuple[str, str]]:
    scale = plan.scale
    machine = found[0].machine if found else {}
    summaries = [cell.summary for result in found for cell in result.cells if cell.summary is not None]
    days = sorted({summary.started_at[:10] for summary in summaries})
    late = sum(any("could not keep up" in text for text in summary.warnings) for summary in summaries)
    modelled = [f"{name} {table['device']}" for name, table in _devices(storage)]
    return [
        ("measured", " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""),
        ("machine", f"{machine.get('cpu', '')}, {machine.get('cores', '')} cores"),
        ("model", plan.generation),
        ("device" if storage.is_emulated else "device of the model", ", ".join(modelled)),
        ("work", f"TPC-C, {scale.warehouses} warehouses"),
        ("seconds", f"{scale.warmup_s:g} of warm-up, {scale.duration_s:g} measured; rounds: {scale.rounds}"),
        ("base", ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in plan.unchanged.items())),
        ("emulator behind its clock", f"in {late} of {len(summaries)} cells"),
    ]


def _devices(storage: Storage) -> Iterator[tuple[str, dict[str, object]]]:
    for name, table in storage.modelled.items():
        device = dict(table["storage"] if name == "cache" else table)
        yield name, device | {"device": f"{device['device']}, {100 * device['capacity_scale']:g} % of it"}


if __name__ == "__main__":
    sys.exit(main())
