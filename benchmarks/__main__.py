"""`make bench`: `python -m benchmarks [--dir DIR] [--quick] [--only WORD] ...`."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.job import Outcome, Setting, run_child
from benchmarks.noise import NoiseMeter
from benchmarks.opening import SECONDS, Opening, measure_opening
from benchmarks.options import Preset, add_options, command_line, measure, read_options, tell
from benchmarks.page import Circumstances, Measured, page
from benchmarks.pairs import alternating, ratio
from benchmarks.programs import FLATWATER, PROGRAMS, Program
from benchmarks.recording import CASES, measure_cost
from benchmarks.rows import ROWS, Row
from flatwater.probe import describe_machine, describe_storage

README = Path(__file__).with_name("README.md")
#: Names for `--only` that are not a comparison with another program.
RECORDING_NAME, OPENING_NAME = "recording", "report"


def run(options: argparse.Namespace) -> str:
    """Runs everything in order; returns the page with the outcome."""
    versions = [program.version() for program in PROGRAMS]
    with tempfile.TemporaryDirectory(prefix="flatwater-bench-", dir=options.dir) as name:
        setting = Setting(Path(name), options.size_mib * 2**20, options.seconds)
        rows = [row for row in ROWS if options.only in row.job.title]
        cases = [case for case in CASES if options.only in f"{RECORDING_NAME}, {case.title}"]
        if rows or cases:
            prepare(setting)
        noise = NoiseMeter()
        measured = [one for row in rows for one in compare(row, setting, options.rounds)]
        costs = [
            measure_cost(case, setting, options.recording_rounds, options.recording_interval_s, tell) for case in cases
        ]
        found = noise.read()
        opening: Opening | None = None
        if options.only in OPENING_NAME:
            opening = measure_opening(setting.folder, options.report_seconds, tell)
        storage = describe_storage(setting.folder)
    where = Circumstances(
        command=command_line("benchmarks", options, PRESETS),
        date=time.strftime("%Y-%m-%d %H:%M %Z"),
        machine=describe_machine(),
        storage=storage,
        versions=list(dict.fromkeys(versions)),
        noise=found,
        setting=setting,
        rounds=options.rounds,
        recording_rounds=options.recording_rounds,
    )
    return page(where, measured, costs, opening, PROGRAMS)


def prepare(setting: Setting) -> None:
    """Writes the file that all programs use. flatwater writes it, so that it knows the file as its own."""
    tell(f"preparing {setting.size_bytes / 2**20:.0f} MiB in {setting.folder}")
    short = Setting(setting.folder, setting.size_bytes, 1)
    run_child(FLATWATER.command(ROWS[0].job, short, 0), setting.folder)


def compare(row: Row, setting: Setting, rounds: int) -> list[Measured]:
    """Runs flatwater and the other programs of a row in turns."""
    programs: tuple[Program, ...] = (FLATWATER, row.peer, *row.shown)
    found: dict[str, list[Outcome]] = {program.name: [] for program in programs}
    for number, program in alternating(programs, rounds):
        finished = run_child(program.command(row.job, setting, number + 1), setting.folder)
        found[program.name].append(program.outcome(finished))
    measured = [_measured(row, peer, found[FLATWATER.name], found[peer.name]) for peer in (row.peer, *row.shown)]
    for one in measured:
        tell(
            f"{one.job.title} against {one.peer}: "
            f"IOPS {one.iops[0]:,.0f} / {one.iops[1]:,.0f} = {one.iops_ratio.median:.3f}, "
            f"CPU {one.cpu_us[0]:.2f} / {one.cpu_us[1]:.2f} us = {one.cpu_ratio.median:.3f}"
        )
    return measured


def _measured(row: Row, peer: Program, ours: list[Outcome], theirs: list[Outcome]) -> Measured:
    def medians(name: str) -> tuple[float, float]:
        first, second = (statistics.median(getattr(one, name) for one in side) for side in (ours, theirs))
        return first, second

    return Measured(
        job=row.job,
        peer=peer.name,
        iops=medians("iops"),
        cpu_us=medians("cpu_us"),
        whole_cpu_us=medians("whole_cpu_us"),
        iops_ratio=ratio([one.iops for one in ours], [one.iops for one in theirs]),
        cpu_ratio=ratio([one.cpu_us for one in ours], [one.cpu_us for one in theirs]),
        cpu_target=row.cpu if peer is row.peer else None,
    )


#: (option, full, quick). Full takes 13 minutes, quick a little over one. With six rounds, the lowest and the highest
#: ratio enclose the median with 95 % confidence. Nine are needed to drop an outlier.
PRESETS: tuple[Preset, ...] = (
    ("rounds", 6, 1),
    ("seconds", 3, 1),
    ("recording_rounds", 9, 2),
    ("recording_interval_s", 1.0, 0.25),
    ("size_mib", 1024, 256),
    ("report_seconds", SECONDS, SECONDS),
)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="flatwater beside fio and sysbench, on one file in one run. Writes benchmarks/README.md.",
        epilog="Numbers need a quiet machine and the storage that you care about: --dir.",
    )
    add_options(parser, PRESETS, "benchmarks/README.md", "Under 90 s")
    titles = [row.job.title for row in ROWS] + [f"{RECORDING_NAME}, {case.title}" for case in CASES] + [OPENING_NAME]
    return read_options(parser, arguments, PRESETS, titles, README)


if __name__ == "__main__":
    sys.exit(measure(_options, run, sys.argv[1:]))
