"""`flatwater check`: checks an experiment file."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flatwater.cli.arguments import ExperimentFile, Overrides
from flatwater.cli.precautions import written_text
from flatwater.errors import UserError

NAME = "check"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater check my.toml

flatwater check fill-level --set storage.path=/mnt/flash --set storage.size=100GiB

flatwater check my.toml --json
"""


def verb(
    file: ExperimentFile,
    set_: Overrides = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check an experiment file without running it; say how long it takes, and whether a verdict can come of it."""
    from flatwater.experiment import (
        InvalidExperimentError,
        count_cells,
        device_text,
        load,
        longest_s,
        print_duration,
        require_runnable,
    )
    from flatwater.runner.trial import real_seconds
    from flatwater.runner.verdicts import find_shortfall

    try:
        experiment = load(file, set_ or [])
        if experiment.storage.path is not None or getattr(experiment.storage, "device", None) is not None:
            require_runnable(experiment)
        shortfall = find_shortfall(experiment)
    except UserError as error:
        problems = error.problems if isinstance(error, InvalidExperimentError) else [error]
        if as_json:
            errors = [{"where": p.where, "what": p.what, "hint": p.hint} for p in problems]
            typer.echo(json.dumps({"file": file, "ok": False, "errors": errors}))
        else:
            for problem in problems:
                typer.echo(f"error: {problem}", err=True)
        raise typer.Exit(error.exit_code) from None
    cells, seconds = count_cells(experiment), longest_s(experiment)
    limits = experiment.thresholds.told if experiment.thresholds is not None else []
    device = device_text(experiment)
    layers = experiment.layers | ({"device": device} if device else {})
    if as_json:
        about: dict[str, object] = {"name": experiment.name, "cells": cells, "longest_s": seconds, "layers": layers}
        about["verdicts"] = cells - (shortfall.cells if shortfall else 0)
        about["warnings"] = [shortfall.text] if shortfall else []
        about["thresholds"] = limits
        # The time to compute it. A real cell takes at least its own length.
        about["real_s"] = real_seconds(experiment) if experiment.in_virtual_time else seconds
        typer.echo(json.dumps({"file": file, "ok": True, **about}))
    else:
        limit = "at most" if experiment.workload.steady_state == "snia" else "about"
        time = f"{limit} {print_duration(seconds)}" if seconds else "to the end of the log"
        if experiment.in_virtual_time:
            real_s = real_seconds(experiment)
            virtual = "computed, not waited for"
            if real_s is not None:
                virtual = f"computed in about {print_duration(max(1.0, round(real_s)))} here"
            time = f"{time} of virtual time ({virtual})"
        typer.echo(f"{file}: ok, {cells:,} cell{'' if cells == 1 else 's'}, {time}")
        modelled = [layer for layer, what in experiment.layers.items() if what == "modelled"]
        if modelled:
            typer.echo(f"modelled: {', '.join(modelled)}{f'; {device}' if device else ''}")
        if (written := written_text(experiment)) is not None:
            typer.echo(written)
        if limits:
            typer.echo(f"thresholds: each cell must pass {len(limits)}")
            for limit in limits:
                typer.echo(f"  {limit}")
        if shortfall is not None:
            typer.echo(f"warning: {shortfall.text}", err=True)
