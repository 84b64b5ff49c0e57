"""What a supervisor and its child are told: JSON in a descriptor that they inherit."""

from __future__ import annotations

import json
import os
import sys

from flatwater.cache.messages import Task


def write_task(task: Task) -> int:
    """A task in a descriptor that can be inherited."""
    handle = os.memfd_create("flatwater-cache-task")
    os.write(handle, json.dumps(task).encode())
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def read_task(handle: int) -> Task:
    """What `write_task` wrote."""
    with os.fdopen(handle, "rb") as source:
        task: Task = json.load(source)
    return task


def supervisor_command(handle: int) -> list[str]:
    """The command line of a supervisor with a task."""
    return [sys.executable, "-m", "flatwater.cache.supervisor", str(handle)]


def become_supervisor(task: Task, fds: dict[str, int]) -> None:
    """Turns this process into a supervisor that goes on with a task; does not return."""
    handle = write_task({**task, "fds": fds})
    for number in (handle, *fds.values()):
        os.set_inheritable(number, True)
    os.execv(sys.executable, supervisor_command(handle))  # noqa: S606 - our own program
