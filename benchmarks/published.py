"""Modelled experiments of the library beside what was published: `python -m benchmarks.published`.

Models give the same figures on every machine, so the page it writes, docs/models/published.md, says only which commands
made it. Experiments of your own go by their paths, with `--out`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.tables import table
from flatwater.report.tables import metric_words, published_text
from flatwater.report.units import number, percent
from flatwater.results import CellSummary, Result, open_result

PAGE = Path(__file__).parents[1] / "docs" / "models" / "published.md"
#: Experiments on the modelled database and the modelled cache.
NAMES = ("flashcache-tpcc", "vcache-oltp")
HEAD = ("cell", "ours", "figure", "published", "ours beside it", "error")


def page(results: Sequence[tuple[str, Result]]) -> str:
    """The page of these results, each with the name that it was run by."""
    parts = ["# Modelled caches beside what was published", "Written by `python -m benchmarks.published`; one seed."]
    for name, result in results:
        parts += [f"## {result.manifest.title}", f"`flatwater run {name}`", table(HEAD, _rows(result))]
    return "\n\n".join(parts) + "\n"


def _rows(result: Result) -> Iterator[list[str]]:
    for cell in result.cells:
        summary = cell.summary
        if summary is None or summary.mean is None:
            yield [cell.label, "did not finish", "", "", "", ""]
            continue
        ours = f"{number(summary.mean)} {summary.unit}"
        figures = _figures(summary)
        yield [cell.label, ours, *(figures[0] if figures else [""] * 4)]
        yield from (["", "", *figure] for figure in figures[1:])


def _figures(summary: CellSummary) -> list[list[str]]:
    return [
        [
            metric_words(one.metric),
            published_text(one),
            "" if one.ours is None else number(one.ours),
            "" if one.error is None else percent(one.error, signed=True),
        ]
        for one in ([summary.published] if summary.published else []) + summary.published_others
    ]


def main(arguments: Sequence[str]) -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES, help="experiments in virtual time")
    parser.add_argument("--out", type=Path, default=PAGE, help="where the page goes")
    options = parser.parse_args(arguments)
    results = []
    with tempfile.TemporaryDirectory(prefix="flatwater-published-") as folder:
        for place, name in enumerate(options.names):
            out = Path(folder) / str(place)
            command = [Path(sys.executable).with_name("flatwater"), "run", name, "--out", out]
            if subprocess.run(command, check=False).returncode != 0:
                return 1
            results.append((name, open_result(out)))
        options.out.write_text(page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
