"""`flatwater serve`: results, and runs while they are made, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flatwater.serve import Served

NAME = "serve"
TAKES = ("folders",)
EXAMPLES = """\
[bold]Examples[/bold]

flatwater serve                        the results in ./results, at http://127.0.0.1:8765/

flatwater serve results /mnt/old --port 0     any free port

ssh -L 8765:localhost:8765 db1 flatwater serve results     of another machine

flatwater serve s3://bucket/results    what a bucket has

flatwater serve --grafana > flatwater.json     a dashboard for Grafana

flatwater serve --host 0.0.0.0         others may look, with the token of the printed address

flatwater serve --allow-run            experiments of the library can be started from a page
"""

#: Where `flatwater run` puts its results.
DEFAULT_FOLDER = Path("results")
DEFAULT_PORT = 8765


def verb(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR", help="Folders with results, results, or s3://BUCKET/PREFIX. [dim]Default: results[/dim]"
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="Where to listen; 0 takes any free port.")
    ] = DEFAULT_PORT,
    host: Annotated[
        str, typer.Option(help="Whom to listen for. Other than this machine's own address, it takes a token.")
    ] = "127.0.0.1",
    grafana: Annotated[
        bool, typer.Option("--grafana", help="Print a dashboard of /metrics to import into Grafana, and end.")
    ] = False,
    allow_run: Annotated[
        bool,
        typer.Option(
            "--allow-run",
            help="A page starts experiments of the library, into the first DIR, stops and resumes them. It takes "
            "a token.",
        ),
    ] = False,
) -> None:
    """Show results, and runs while they are made, in a browser.

    The list of runs with their verdicts, the report of each, several side by side, and every second of a run under
    way in these folders, whichever flatwater of this machine makes it, here or on a dask cluster. /metrics has the
    runs under way for Prometheus.

    It only reads: nothing is written into a result, and nothing else of the folders is shown. Ctrl-C ends it.

    With --allow-run, a page starts experiments of the library as `flatwater run` does, stops what it started, and goes
    on with a run that was stopped or died. The address has a token then, which is worth a login as you. Runs under way
    are interrupted when the server ends, and can be resumed.
    """
    if grafana:
        import json

        from flatwater.serve.grafana import dashboard

        typer.echo(json.dumps(dashboard(), indent=2))
        return
    from flatwater.serve import serve

    if allow_run and not folders:
        _make_default_folder()
    serve(folders or [DEFAULT_FOLDER], host, port, _tell, allow_run=allow_run)


def _make_default_folder() -> None:
    """The folder that the first run would make, too. Errors: UserError."""
    from flatwater.errors import UserError

    try:
        DEFAULT_FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        what = f"cannot be made: {error.strerror}"
        raise UserError(what, where=str(DEFAULT_FOLDER), hint="flatwater serve DIR --allow-run") from None


def _tell(served: Served) -> None:
    places = ", ".join(served.places)
    typer.echo(f"serving {places} at {served.url}")
    if served.reachable:
        typer.echo(
            "warning: other machines reach it, over a connection that is not encrypted; "
            "the token in the address lets whoever has it look" + (" and start runs" if served.allow_run else ""),
            err=True,
        )
    elif served.allow_run:
        typer.echo("Who has the token of the address can start runs as you: do not pass it on.")
    typer.echo("Ctrl-C ends it.")
