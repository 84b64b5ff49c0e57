"""`flatwater check`: checks an experiment file."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flatwater.cli.arguments import ExperimentFile, Overrides
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
    from flatwater.experiment import InvalidExperimentError, written_text
    from flatwater.runner.check import check

    try:
        checked = check(file, set_ or [])
    except UserError as error:
        problems = error.problems if isinstance(error, InvalidExperimentError) else [error]
        if as_json:
            errors = [{"where": p.where, "what": p.what, "hint": p.hint} for p in problems]
            typer.echo(json.dumps({"file": file, "ok": False, "errors": errors}))
        else:
            for problem in problems:
                typer.echo(f"error: {problem}", err=True)
        raise typer.Exit(error.exit_code) from None
    experiment, shortfall = checked.experiment, checked.shortfall
    limits = experiment.thresholds.told if experiment.thresholds is not None else []
    if as_json:
        layers = experiment.layers | ({"device": checked.device} if checked.device else {})
        told: dict[str, object] = {"name": experiment.name, "cells": checked.cells, "longest_s": checked.seconds}
        told["layers"] = layers
        told["verdicts"] = checked.cells - (shortfall.cells if shortfall else 0)
        told["warnings"] = checked.warnings
        told["thresholds"] = limits
        told["real_s"] = checked.real_s
        typer.echo(json.dumps({"file": file, "ok": True, **told}))
        return
    typer.echo(f"{file}: ok, {checked.cells_text}")
    if checked.modelled_text:
        typer.echo(checked.modelled_text)
    if (written := written_text(experiment)) is not None:
        typer.echo(written)
    if limits:
        typer.echo(f"thresholds: each cell must pass {len(limits)}")
        for limit in limits:
            typer.echo(f"  {limit}")
    for warning in checked.warnings:
        typer.echo(f"warning: {warning}", err=True)
