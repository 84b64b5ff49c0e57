"""The tasks of a supervisor and its child: JSON in a descriptor that they inherit."""

from __future__ import annotations

import json
import os
import sys

from flatwater.cache.messages import Task


def write_task(task: Task) -> int:
    """Writes a task into a new descriptor, which a process can inherit."""
    handle = os.memfd_create("flatwater-cache-task")
    os.write(handle, json.dumps(task).encode())
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def read_task(handle: int) -> Task:
    """The task that `write_task` wrote."""
    with os.fdopen(handle, "rb") as source:
        task: Task = json.load(source)
    return task


def supervisor_command(handle: int) -> list[str]:
    """The command line of a supervisor with a task."""
    return [sys.executable, "-m", "flatwater.cache.supervisor", str(handle)]


def become_supervisor(task: Task, fds: dict[str, int]) -> None:
    """Replaces this process by a supervisor that continues with a task; does not return."""
    handle = write_task({**task, "fds": fds})
    for number in (handle, *fds.values()):
        os.set_inheritable(number, True)
    os.execv(sys.executable, supervisor_command(handle))  # noqa: S606 - our own program
