"""Patrol reads and consistency checks: none planned is a risk, and one that runs now spoils a measurement."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.evidence import Evidence
from flatwater.health.warnings.finding import Finding

NAME = "checks"


def warn(evidence: Evidence) -> Iterator[Finding]:
    """What checks each array and each controller's drives, when, and whether it does now."""
    for array in evidence.arrays:
        if array.missing:
            text = f"{array.missing} member{'' if array.missing == 1 else 's'} missing or failed"
            yield Finding("critical", NAME, array.name, text, "replace what failed: the next failure may lose data")
        if array.activity:
            text = f"it is busy with itself: {array.activity}"
            yield Finding("warning", NAME, array.name, text, "measure later: requests wait for that")
        task = dict(evidence.checks).get(array.kind)
        if task is None or not array.redundant:
            continue
        if task.scheduled:
            yield Finding("ok", NAME, array.name, f"a {task.name} is planned by {task.next_run}")
        else:
            text = f"no {task.name} is planned: sectors that went bad are found when a member fails"
            yield Finding("warning", NAME, array.name, text, f"plan a {task.name} for quiet hours, once a month")
    for controller in evidence.controllers:
        for task in controller.tasks:
            if task.running:
                text = f"a {task.name} is under way"
                yield Finding("warning", NAME, controller.name, text, "measure later: requests wait for that")
            if task.scheduled is False:
                text = f"no {task.name} is planned: sectors that went bad are found when a member fails"
                yield Finding("warning", NAME, controller.name, text, f"plan a {task.name} for quiet hours")
            elif task.next_run:
                yield Finding("ok", NAME, controller.name, f"the next {task.name} begins {task.next_run}")
