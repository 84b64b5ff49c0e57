"""`flatwater cache status`: the state of all caches, running or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import complete_name
from flatwater.printing import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from flatwater.cache.messages import Report, ShownJob

NAME = "status"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache status

flatwater cache status db      also its settings' effects, jobs, and what happened

flatwater cache status --json | jq '.caches[] | {name, safe_to_unplug, dirty_blocks}'

DIR/stats of a mounted cache tells the same numbers to `cat`.
"""


def verb(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this one, in detail.", autocompletion=complete_name)
    ] = None,
    as_json: Json = False,
) -> None:
    """Show caches: hits, what is dirty and how old, flushes under way, whether the cache device may be unplugged."""
    import json

    from flatwater.cache.report import report_of
    from flatwater.cache.state import list_names, load_state
    from flatwater.cli.cache.arguments import find

    states = [find(name)] if name is not None else [load_state(one) for one in list_names()]
    reports = [report_of(state) for state in states if state is not None]
    if as_json:
        typer.echo(json.dumps({"caches": reports}))
        return
    console = make_console()
    if not reports:
        console.print("no cache is known here: flatwater cache create --help")
        return
    _print_table(console, reports)
    for one in reports:
        for line in _sentences(one, detail=name is not None):
            console.print(line, soft_wrap=True)


def _print_table(console: Console, reports: list[Report]) -> None:
    from rich import box
    from rich.table import Table

    from flatwater.experiment.units import print_size

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for heading in ("cache", "state", "mode"):
        table.add_column(heading, no_wrap=True)
    for heading in ("hits", "dirty", "oldest dirty", "write-back"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in reports:
        rate = one["write_back_bytes_per_s"]
        table.add_row(
            one["name"],
            one["state"],
            one["mode"],
            _percent(one["hit_ratio"]),
            _percent(one["dirty_pct"] / 100 if one["dirty_pct"] is not None else None),
            _age(one["oldest_dirty_s"]) if one["dirty_blocks"] else "",
            f"{print_size(rate)}/s" if rate is not None else "",
        )
    console.print(table)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _age(seconds: float | None) -> str:
    from flatwater.experiment.units import print_duration

    return "" if seconds is None else print_duration(seconds)


def _sentences(one: Report, *, detail: bool) -> list[str]:
    from flatwater.cache.mounting import DEVICE_FILE
    from flatwater.experiment.units import print_size

    name = one["name"]
    dirty = one["dirty_blocks"]
    if dirty is None:
        safe = f"not known ({one['problem']})" if one["problem"] else "not known"
    elif one["safe_to_unplug"]:
        safe = "yes"
    else:
        safe = f"no, {dirty:,} dirty blocks ({print_size(dirty * one['block_bytes'])})"
        safe += "" if dirty or not one["running"] else "; it is being used"
    lines = [f"{name}: safe to unplug the cache device: {safe}"]
    lines += [f"{name}: {_job(job)}" for job in one["jobs"]]
    if one["problem"] and dirty is not None:
        lines.append(f"{name}: {one['problem']}")
    if not detail:
        return lines
    lines.append(
        f"{name}: {print_size(one['in_use_bytes'])} of {one['fast']} cache {print_size(one['slow_bytes'])} of "
        f"{one['backing']}, blocks of {print_size(one['block_bytes'])}, UUID {one['uuid']}"
    )
    if one["running"]:
        places = [f"as {one['mount']}/{DEVICE_FILE}"] if one["mount"] else []
        places += [f"over NBD at {one['nbd']} ({one['nbd_clients'] or 0} clients)"] if one["nbd"] else []
        lines.append(
            f"{name}: served {' and '.join(places)} by process {one['serving_process']} (supervisor "
            f"{one['process']}) for {_age(one['running_s'])}, {one['restarts']} restarts"
        )
    if one["record"]:
        lines.append(f"{name}: requests are recorded to {one['record']}")
    lines.append(f"{name}: log {one['log']}")
    lines += [f"{name}: {_moment(at_s)} {text}" for at_s, text in one["told"]]
    return lines


def _moment(at_s: float) -> str:
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_s))


def _job(job: ShownJob) -> str:
    what = f"{job['kind']} {job['job']}"
    if job["state"] == "running":
        total = job.get("total") or 0
        share = f" {100 * job['done'] / total:.0f} %" if total else ""
        return f"{what} is under way:{share} {job['done']:,} of {total:,} blocks"
    if job["state"] == "done":
        took_s = job["ended_s"] - job["began_s"]
        return f"{what} ended {_moment(job['ended_s'])}, after {took_s:.1f} s: done"
    why = job.get("error")
    return f"{what} {job['state']} {_moment(job['ended_s'])}{f': {why}' if why else ''}"
