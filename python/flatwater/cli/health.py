"""`flatwater health`: what drives say of themselves, how long they last, and what is worth a warning."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import DocumentFile, Force

if TYPE_CHECKING:
    from flatwater.health import Warranty

NAME = "health"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater health

flatwater health /dev/nvme0n1 --json

flatwater health /var/lib/mysql --dwpd 1 --warranty-years 5

flatwater health /dev/sda --device-type megaraid,4

flatwater health --out drives.html

flatwater health --openmetrics > /var/lib/node_exporter/flatwater.prom

[bold]Exit codes[/bold], as monitoring expects them: 0 well, 1 warning, 2 critical (and bad arguments), 3 unknown.
"""


def verb(
    devices: Annotated[
        list[str] | None,
        typer.Argument(metavar="DEVICE", help="A disk, or a file or folder on one; all disks if none is given."),
    ] = None,
    device_type: Annotated[
        str,
        typer.Option(
            "--device-type", metavar="TYPE", help="How smartctl reaches the drive: megaraid,4. See smartctl(8)."
        ),
    ] = "",
    dwpd: Annotated[
        float | None,
        typer.Option("--dwpd", metavar="N", help="Drive writes a day that the maker's warranty allows."),
    ] = None,
    warranty_years: Annotated[
        float, typer.Option("--warranty-years", metavar="N", help="Years of that warranty.")
    ] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    as_openmetrics: Annotated[
        bool, typer.Option("--openmetrics", help="Print OpenMetrics text for Prometheus.")
    ] = False,
    out: DocumentFile = None,
    force: Force = False,
    no_history: Annotated[
        bool,
        typer.Option(
            "--no-history",
            help="Do not keep what was read (in ~/.local/state/flatwater/health; root: /var/lib/flatwater/health).",
        ),
    ] = False,
) -> None:
    """Read drives: wear, errors, temperature, how long they last.

    It reads only. Exit code 0: all is well; 1: a warning; 2: critical; 3: unknown, because a drive cannot be seen.
    """
    from flatwater.health import Machine, look_over
    from flatwater.health.as_json import checkup_json
    from flatwater.health.openmetrics import openmetrics
    from flatwater.health.text import checkup_lines
    from flatwater.health.warnings import EXIT_CODES

    _require_sense(devices or [], device_type, both=as_json and as_openmetrics)
    if out is not None:
        from flatwater.health.page import require_place

        require_place(out, force=force)
    warranty = _warranty(dwpd, warranty_years)
    checkup = look_over(Machine(), devices or [], time.time(), way=device_type, warranty=warranty, kept=not no_history)
    if out is not None:
        from flatwater.health.page import write_out

        write_out(checkup, out, force=force)
    if as_json:
        print(checkup_json(checkup))
    elif as_openmetrics:
        print(openmetrics(checkup), end="")
    else:
        for line in checkup_lines(checkup):
            print(line)
        if out is not None:
            print(f"written: {out}")
    raise typer.Exit(EXIT_CODES[checkup.level])


def _require_sense(devices: list[str], device_type: str, *, both: bool) -> None:
    from flatwater.errors import UserError

    if both:
        raise UserError("are two formats", where="--json --openmetrics", hint="give one of them")
    if device_type and len(devices) != 1:
        raise UserError("is the way to one drive", where="--device-type", hint="name one DEVICE with it")
    if device_type and not devices[0].startswith("/"):
        raise UserError("smartctl takes a path", where=devices[0], hint="such as /dev/sda or /dev/bus/0")
    if device_type.startswith("-"):
        raise UserError("is no type of smartctl's", where="--device-type", hint="such as megaraid,4 or sat")


def _warranty(dwpd: float | None, years: float) -> Warranty | None:
    """What the user says that the maker promises. Errors: UserError."""
    from flatwater.errors import UserError
    from flatwater.health import Warranty

    if dwpd is None:
        return None
    for name, value, most in (("--dwpd", dwpd, 1000.0), ("--warranty-years", years, 50.0)):
        if not 0 < value <= most:
            raise UserError(f"must be over 0 and at most {most:g}, not {value:g}", where=name)
    return Warranty(dwpd, years)
