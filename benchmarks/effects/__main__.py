"""Effects of changes on real servers and on their models: `python -m benchmarks.effects [SERVER ...] --dir DIR`.

Results stay in a folder, so that the table can be made over several nights: what is there is not measured again. The
page docs/effects.md is made of all that is there. The emulated device with the loaded data stays in DIR, for the next
night.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.effects.cells import failures, model, outcomes, real
from benchmarks.effects.judge import effects
from benchmarks.effects.matrix import Fields, base, changes
from benchmarks.effects.page import Measured, page
from benchmarks.effects.picture import scatter
from benchmarks.effects.plan import Plan, Scale
from benchmarks.options import add_options, measure, read_options
from benchmarks.servers.cache import cache_folder, locate
from benchmarks.servers.registry import SERVERS, Server, find
from flatwater.errors import UserError
from flatwater.experiment.database.generation import generation_of
from flatwater.report.images import export_figure
from flatwater.results import Result, open_result

_PLAN = "plan.json"
PAGE = Path(__file__).parents[2] / "docs" / "effects.md"
FULL = Scale(5, 20.0, 60.0, 3, "intel-x25-m", 0.1)
#: Does everything work? Ten intervals of a second are what a verdict takes.
QUICK = Scale(1, 2.0, 10.0, 1, "intel-x25-m", 0.1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 measured, also if a goal was missed; 1 a program failed; 2 bad arguments; 130 interrupted."""
    return measure(_read, _table, list(sys.argv[1:] if arguments is None else arguments))


def _read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.effects", description=__doc__.partition("\n")[0])
    parser.add_argument("servers", nargs="*", metavar="SERVER", help="servers to measure; none: those that are here")
    parser.add_argument("--results", type=Path, help="where results stay [effects, beside the folder of the servers]")
    add_options(parser, (), "docs/effects.md", "short and once")
    every = [change.name for one in SERVERS for change in changes(one, generation_of(*one.name.split("-")))]
    return read_options(parser, arguments, (), every, PAGE)


def _table(options: argparse.Namespace) -> str:
    asked = [_named(name) for name in options.servers] or [one for one in SERVERS if locate(one) is not None]
    scale = QUICK if options.quick else FULL
    if options.quick or options.only:
        # A part of the table: it is printed, and not kept.
        with tempfile.TemporaryDirectory(prefix="flatwater-effects-") as name:
            return page([_compared(_measured(one, scale, options, Path(name))) for one in asked])
    kept = options.results or cache_folder().parent / "effects"
    for server in asked:
        _measured(server, scale, options, kept)
    # Those of other nights, too.
    compared = [_compared(kept / one.name) for one in SERVERS if (kept / one.name / _PLAN).exists()]
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
    """The folder with everything of a server: its plan, and the result of the real one."""
    binary = locate(server)
    if binary is None:
        hint = f"python -m benchmarks.servers get {server.name}"
        raise UserError(f"{server.title} is not on this machine", hint=hint)
    generation = generation_of(binary.flavour, ".".join(map(str, binary.version)))
    asked = tuple(one for one in changes(server, generation) if options.only in one.name)
    if not asked:
        raise UserError(f"no change of {server.name} has {options.only!r} in its name", where="--only")
    unchanged, folder = base(server, generation), kept / server.name
    plan = Plan(server.title, generation, scale, unchanged, asked)
    folder.mkdir(parents=True, exist_ok=True)
    storage: Fields = {"path": str(options.dir.absolute()), "real_time": True, "file_system": "ext4"}
    real(plan.experiment({"kind": "server", "binary": str(binary.path)}, storage), folder)
    (folder / _PLAN).write_text(plan.to_json())
    return folder


def _compared(folder: Path) -> Measured:
    """The effects of one server, beside those of the model of today."""
    plan = Plan.from_json((folder / _PLAN).read_text())
    measured = open_result(folder / "real")
    cores = int(measured.machine.get("cores") or 1)
    with tempfile.TemporaryDirectory(prefix="flatwater-effects-") as name:
        content = plan.experiment({"kind": "innodb-model", "generation": plan.generation, "cores": cores}, {})
        modelled = model(content, Path(name))
        both = [outcomes(one, 1 + len(plan.changes)) for one in (measured, modelled)]
        failed = [*failures(measured), *(f"model, {line}" for line in failures(modelled))]
    names = [one.name for one in plan.changes]
    return Measured(plan.title, _facts(plan, measured), effects(names, *both), failed)


def _facts(plan: Plan, measured: Result) -> list[tuple[str, str]]:
    scale, machine = plan.scale, measured.machine
    summaries = [cell.summary for cell in measured.cells if cell.summary is not None]
    late = sum(any("could not keep up" in text for text in summary.warnings) for summary in summaries)
    return [
        ("measured", summaries[0].started_at[:10] if summaries else ""),
        ("machine", f"{machine.get('cpu', '')}, {machine.get('cores', '')} cores"),
        ("model", plan.generation),
        ("device", f"{scale.device}, {100 * scale.capacity_scale:g} % of it"),
        ("work", f"TPC-C, {scale.warehouses} warehouses"),
        ("seconds", f"{scale.warmup_s:g} of warm-up, {scale.duration_s:g} measured; rounds: {scale.repeats}"),
        ("base", ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in plan.unchanged.items())),
        ("emulator behind its clock", f"in {late} of {len(summaries)} cells"),
    ]


if __name__ == "__main__":
    sys.exit(main())
