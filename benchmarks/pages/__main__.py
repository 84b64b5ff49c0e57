"""How fast runs are listed, asked, opened and watched: `python -m benchmarks.pages` writes benchmarks/pages.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.noise import NoiseMeter
from benchmarks.options import Preset, add_options, command_line, measure, read_options
from benchmarks.pages import cells, listing, live, opening, viewers
from benchmarks.pages.figures import Section
from benchmarks.pages.page import Circumstances, page
from flatwater import __version__
from flatwater.probe import describe_machine, describe_storage

MODULE = "benchmarks.pages"
PAGE = Path(__file__).parents[1] / "pages.md"
#: (option, full, quick). Full takes 12 minutes, quick two.
PRESETS: tuple[Preset, ...] = (
    ("cells", 10_000, 100),
    ("runs", 10_000, 300),
    ("tries", 6, 2),
    ("open_tries", 5, 2),
    ("open_seconds", opening.SECONDS, 3_600),
    ("live_seconds", live.SECONDS, 300),
    ("rounds", 9, 1),
    ("turn_s", 6, 3),
    ("size_mib", 1024, 64),
)
MEASURES: Mapping[str, Callable[[Path, argparse.Namespace], Section]] = {
    cells.NAME: lambda folder, asked: cells.measure_cells(folder, asked.cells),
    listing.NAME: lambda folder, asked: listing.measure_listing(folder, asked.runs, asked.tries),
    opening.NAME: lambda folder, asked: opening.measure_opening(folder, asked.open_seconds, asked.open_tries),
    live.NAME: lambda folder, asked: live.measure_live(folder, asked.live_seconds, asked.tries),
}


def run(options: argparse.Namespace) -> str:
    """Runs everything in order; returns the page with the outcome."""
    with tempfile.TemporaryDirectory(prefix="flatwater-bench-", dir=options.dir.absolute()) as name:
        folder, noise = Path(name), NoiseMeter()
        sections = []
        for title, measured in MEASURES.items():
            if options.only in title:
                own = folder / title
                own.mkdir()
                sections.append(measured(own, options))
        size_bytes = options.size_mib * 2**20
        asked = [case for case in viewers.cases() if options.only in _title(case.title)]
        watched = [viewers.measure_viewers(case, folder, size_bytes, options.rounds, options.turn_s) for case in asked]
        where = Circumstances(
            command=command_line(MODULE, options, PRESETS),
            date=time.strftime("%Y-%m-%d %H:%M %Z"),
            versions=[f"flatwater {__version__}"],
            machine=describe_machine(),
            storage=describe_storage(folder),
            noise=noise.read(),
            size_bytes=size_bytes,
            rounds=options.rounds,
            turn_s=options.turn_s,
        )
    return page(where, sections, watched)


def read(arguments: list[str]) -> argparse.Namespace:
    """The options. Errors: UserError, and argparse's own exit."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        description="Many runs, long runs, runs under way: how fast they are shown. Writes benchmarks/pages.md.",
        epilog="Numbers need a quiet machine.",
    )
    add_options(parser, PRESETS, "benchmarks/pages.md", "Two minutes")
    titles = [*MEASURES, *(_title(case.title) for case in viewers.cases())]
    return read_options(parser, arguments, PRESETS, titles, PAGE)


def _title(case: str) -> str:
    return f"{viewers.NAME}, {case}"


if __name__ == "__main__":
    sys.exit(measure(read, run, sys.argv[1:]))
