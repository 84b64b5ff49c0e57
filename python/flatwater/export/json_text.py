"""JSON: one object with the cells as `flatwater run --json` prints them, and the series as columns."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from flatwater.export.content import finished, recorded
from flatwater.results import SCHEMA_VERSION, Result


def pieces(result: Result) -> Iterator[str]:
    """The object, piece by piece. What is not a number is null."""
    head = {
        "schema_version": SCHEMA_VERSION,
        "name": result.name,
        "title": result.manifest.title,
        "status": result.manifest.status,
        "created_at": result.manifest.created_at,
        # A machine.json of others may hold what JSON does not have.
        "machine": json.loads(json.dumps(result.machine), parse_constant=lambda _: None),
    }
    yield json.dumps(head)[:-1]
    yield ', "cells": ['
    for place, summary in enumerate(finished(result)):
        yield ("," if place else "") + "\n" + json.dumps(summary.model_dump(mode="json", exclude={"histograms"}))
    yield '], "series": ['
    for place, one in enumerate(recorded(result)):
        values = [value if np.isfinite(value) else None for value in one.series.value.tolist()]
        told = {"cell": one.cell, "layer": one.layer, "metric": one.metric}
        told |= {"time_s": one.series.time_s.tolist(), "value": values}
        yield ("," if place else "") + "\n" + json.dumps(told, allow_nan=False)
    yield "]}\n"
