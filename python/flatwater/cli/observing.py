"""Observing a server and telling what came of it, for the verbs that do: observe, advise and tune-up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flatwater.cli.cell_lines import CellPrinter
    from flatwater.results import CellSummary

#: How long a server is observed if nobody says. The diagnosis needs some tens of intervals; a server's slow habits
#: (a checkpoint, a purge, a job of every five minutes) need minutes.
DEFAULT_FOR = "10m"

#: How long.
For = Annotated[
    str, typer.Option("--for", metavar="TIME", help="At most so long: 30s, 10m, 24h. Ctrl-C ends it earlier.")
]
#: What counts.
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="tps|qps",
        help="Judge transactions (tps) or statements (qps); chosen from the server's counters if not given.",
    ),
]
#: Whether statements are kept as clients sent them.
Samples = Annotated[
    bool,
    typer.Option(
        "--samples",
        help="Keep some statements as clients sent them, WITH THEIR VALUES, so that the load can be replayed.",
    ),
]
#: Where the result goes.
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="The result folder; a new one under results/ if not given."),
]


@dataclass(frozen=True)
class Asked:
    """What is to be observed."""

    url: str
    length: str = DEFAULT_FOR
    unit: str | None = None
    out: Path | None = None
    samples: bool = False
    #: Where the metrics are served: [HOST]:PORT; None: nowhere.
    metrics: str | None = None


def is_url(written: str) -> bool:
    """Whether an argument is the url of a server."""
    return written.lower().startswith("mysql:")


def observe_server(asked: Asked, printer: CellPrinter) -> Path:
    """Observes a server into a result folder, and returns the folder.

    Errors: UserError, FlatwaterError; Interrupted if nothing was observed.
    """
    from flatwater.cli.cell_lines import metrics_at
    from flatwater.cli.stores import result_place
    from flatwater.errors import FlatwaterError, Interrupted, UserError
    from flatwater.experiment.units import parse_duration
    from flatwater.runner.observation import observe, plan_observation
    from flatwater.runner.sweep import default_folder

    if not is_url(asked.url):
        hint = "mysql://USER@HOST:3306 or mysql:///PATH/TO.sock?user=USER"
        raise UserError("is no url of a server", where=asked.url, hint=hint)
    try:
        length_s = parse_duration(asked.length)
    except ValueError as error:
        raise UserError(str(error), where="--for", hint="30s, 10m, 24h") from None
    experiment = plan_observation(asked.url, length_s, asked.unit, samples=asked.samples)
    with result_place(asked.out, resume=False) as place:
        folder = place.folder or default_folder(experiment)
        with metrics_at(asked.metrics, folder, printer):
            outcome = observe(experiment, folder, printer.reporter, printer.print)
        if outcome.status == "interrupted":
            raise Interrupted("interrupted before anything was observed")
        if outcome.status == "failed":
            raise FlatwaterError(f"the observing failed, what was seen is in {folder}: {outcome.error}")
    if place.address is not None:
        printer.note(f"uploaded to {place.address}")
    return folder


def cost_line(summary: CellSummary) -> str:
    """What the observing itself cost."""
    ours = summary.metrics.get("workload.observer_cpu_pct")
    servers = summary.metrics.get("workload.observer_server_cpu_pct")
    client = f"{ours.mean:.2f} % of a core here" if ours is not None and ours.mean is not None else "not measured here"
    server = (
        f"{servers.mean:.2f} % in the server"
        if servers is not None and servers.mean is not None
        else "what it cost the server cannot be seen"
    )
    return f"observing cost {client}, {server}"
