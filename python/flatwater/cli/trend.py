"""`flatwater trend`: did repeated runs of an experiment get better or worse, when, and what else changed then?"""

from __future__ import annotations

import dataclasses
import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import Json, read_day_option
from flatwater.cli.stores import Wanted
from flatwater.printing import make_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from flatwater.analysis.trend import Line, Run, Shift, Trends

NAME = "trend"
READS = {"folders": Wanted.ALL_SMALL}
EXAMPLES = """
[bold]Examples[/bold]

  flatwater trend results/nightly                     mean throughput, p99, the client's CPU time per operation

  flatwater trend results/nightly --metric p99 --metric database.checkpoint_age_bytes

  flatwater trend results/nightly --since 2026-10-01 --last 100

  flatwater trend results/nightly --fail-on-regression    for a CI job: exit code 1 if the newest runs are worse

  flatwater trend results/nightly --json | jq '.trends[].lines[] | select(.shifts != [])'
"""
#: Short names of figures.
ALIASES = {
    "throughput": "mean",
    **{name: f"latency_us.{name}" for name in ("p50", "p95", "p99", "p999", "max")},
    "cpu": "client_cpu_us_per_op",
}
#: A change counts as one of the newest runs if it lies among so many. Changes of a few per cent take ten runs and more
#: to be seen: with fewer, the job would be green again before it was ever red.
NEWEST_RUNS = 20


def verb(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR|S3", help="Result folders, or folders that have some below them; or s3://BUCKET/PREFIX."
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="A figure of the summary (mean, p99, cpu, cv_pct, database.dirty_pct, ...). Repeatable.",
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="YYYY-MM-DD", help="Only runs that began on this day or later.")
    ] = None,
    last: Annotated[
        int | None, typer.Option("--last", metavar="N", min=1, help="Only the newest N runs of each experiment.")
    ] = None,
    p_max: Annotated[
        float | None,
        typer.Option("--p-max", metavar="P", help="Tell changes that noise looks like so often at most; 0.001."),
    ] = None,
    fail_on_regression: Annotated[
        bool,
        typer.Option("--fail-on-regression", help="Exit code 1 if the last change of a figure made it worse."),
    ] = False,
    newest: Annotated[
        int,
        typer.Option("--newest", metavar="N", min=1, help="... and lies among the newest N runs."),
    ] = NEWEST_RUNS,
    as_json: Json = False,
) -> None:
    """Find where the figures of repeated runs changed their level, by how much, and what else changed then.

    Only runs of the same experiment on the same machine are compared; one line says why others are not. Of 1,000
    series without a change, one at most is told to have one. docs/regressions.md says which changes are found.
    """
    from flatwater.analysis.change_points import P_MAX
    from flatwater.analysis.trend import find_trends
    from flatwater.analysis.trend.words import METRICS
    from flatwater.errors import UserError

    day = None if since is None else read_day_option(since, "--since")
    if p_max is not None and not 0 < p_max < 1:
        raise UserError(f"must be above 0 and below 1, not {p_max:g}", where="--p-max", hint="--p-max 0.005")
    metrics = list(dict.fromkeys(ALIASES.get(one, one) for one in metric)) if metric else list(METRICS)
    runs, left_out = _read_runs(folders, metrics)
    if not runs:
        where = ", ".join(str(path) for path in folders)
        told = next((f"; {path}: {why}" for path, why in left_out.items()), "")
        raise UserError(
            f"there is no complete run of an experiment in it{told}", where=where, hint="give a folder of results"
        )
    _require_known(metrics, runs)
    if day is not None:
        runs = [run for run in runs if run.at.date() >= day]
        if not runs:
            raise UserError(f"no run began on {day} or later", where="--since", hint="give an earlier day")
    trends = dataclasses.replace(find_trends(runs, metrics, last=last, p_max=p_max or P_MAX), left_out=left_out)
    if as_json:
        typer.echo(json.dumps(_as_data(trends), indent=1, default=_plain))
    else:
        _print(trends)
    if fail_on_regression:
        _require_no_regression(trends, newest)


def _read_runs(folders: Sequence[Path], metrics: Sequence[str]) -> tuple[list[Run], dict[str, str]]:
    """The runs below the folders, and what is left out, with the reasons. Errors: UserError."""
    from flatwater.analysis.trend import read_run
    from flatwater.catalogue.find import find_results
    from flatwater.errors import UserError
    from flatwater.results import open_result
    from flatwater.stores import shown

    places = find_results(folders)
    left_out = {shown: why for place in places for shown, why in place.left_out.items()}
    runs = []
    for path in (place.path / run for place in places for run in place.found):
        try:
            runs.append(read_run(open_result(path), metrics))
        except UserError as error:
            where = f"{error.where}: " if error.where not in (None, str(path)) else ""
            left_out[shown(path)] = f"{where}{error.what}"
    return runs, left_out


def _require_known(metrics: Sequence[str], runs: Sequence[Run]) -> None:
    """Errors: UserError for a figure that no run has; ours may be absent."""
    from flatwater.analysis.trend.words import METRICS
    from flatwater.errors import UserError
    from flatwater.spelling import guessed

    having = {name for run in runs for cell in run.cells.values() for name in cell.figures}
    for name in metrics:
        if name not in having and name not in METRICS:
            names = frozenset().union(*(run.names for run in runs))
            hint = guessed(name, [*names, *ALIASES]) or "the names are those of summary.json, as mean or latency_us.p95"
            raise UserError(f"no run has a figure {name!r}", where="--metric", hint=hint)


def _as_data(trends: Trends) -> dict[str, object]:
    return {"schema_version": 1, **dataclasses.asdict(trends)}


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime.datetime) else str(value)


def _print(trends: Trends) -> None:
    from flatwater.analysis.trend.words import changes_of, circumstances, trend_text, unchanged

    console = make_console()

    def say(text: str) -> None:
        # Text for a script must not be wrapped to the width of a terminal.
        console.print(text, soft_wrap=not console.is_terminal)

    for number, trend in enumerate(trends.trends):
        if number:
            say("")
        say(trend_text(trend))
        changed = changes_of(trend)
        if changed:
            console.print(_table(changed))
            for text in circumstances(changed):
                say(text)
        for text in unchanged(trend):
            say(text)
    if trends.apart or trends.left_out:
        say("")
    for text in trends.apart:
        say(f"apart: {text}")
    for path, why in trends.left_out.items():
        say(f"left out: {path}: {why}")


def _table(changed: Sequence[tuple[Line, Shift]]) -> Table:
    """A row for each change, in the order of time."""
    from rich import box
    from rich.table import Table

    from flatwater.analysis.trend.words import HEADINGS, NUMBERS, change_rows

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for place, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if place in NUMBERS else "left", overflow="fold")
    for row in change_rows(changed):
        table.add_row(*row)
    return table


def _require_no_regression(trends: Trends, newest: int) -> None:
    """Errors: RegressionFound, with the first of the figures that got worse."""
    from flatwater.analysis.trend import newest_regressions
    from flatwater.analysis.trend.words import line_title
    from flatwater.errors import RegressionFound

    found = newest_regressions(trends, newest)
    if not found:
        return
    trend, line = found[0]
    shift = line.shifts[-1]
    by = f" by {shift.change_pct:+.1f} %" if shift.change_pct is not None else ""
    many = f"{len(found)} figures got worse" if len(found) > 1 else "1 figure got worse"
    raise RegressionFound(
        f"{many} within the newest {newest} runs: {trend.name}, {line_title(line)}{by} since {shift.at:%Y-%m-%d}",
        where=shift.run,
        hint="`flatwater trend` without --fail-on-regression shows all; `flatwater compare` the run and the one before",
    )
