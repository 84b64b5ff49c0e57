"""RAID controllers of Broadcom and its makes (PERC, ServeRAID) through storcli or perccli: `/call show all J`.

Field names: recorded outputs in public (netdata's tests of its collector, issue 27 of node-exporter's scripts). The
number `BBU Status` is documented nowhere, and is not read: the state has a word.
"""

from __future__ import annotations

from flatwater.health.controller import Battery, Controller, Task
from flatwater.health.machine import Machine
from flatwater.health.untrusted import UnreadableError, Untrusted, parse_json

NAME = "storcli"
PROGRAMS = ("storcli", "storcli64", "perccli", "perccli64")
_TASKS = {"Patrol Read": "patrol read", "Consistency check": "consistency check"}
_NEVER = ("", "na", "n/a", "none", "disabled", "-", "not scheduled")


def read_storcli(machine: Machine) -> tuple[list[Controller], str]:
    """The controllers, and why there are none."""
    program = machine.program(*PROGRAMS)
    if program is None:
        return [], ""
    said = machine.ask(program, "/call", "show", "all", "J", "nolog")
    if said.trouble:
        return [], said.trouble
    try:
        return read_output(parse_json(said.output)), ""
    except UnreadableError as error:
        return [], f"{NAME}: {error}"


def read_output(told: Untrusted) -> list[Controller]:
    """The controllers of the JSON."""
    found = []
    for number, entry in enumerate(told.at("Controllers").items()):
        data = entry.at("Response Data")
        if entry.at("Command Status", "Status").text.lower() == "failure" or not data.entries():
            continue
        index = data.at("Basics", "Controller").whole
        found.append(
            Controller(
                name=f"controller {number if index is None else index}",
                model=data.at("Basics", "Model").text,
                battery=_battery(data),
                tasks=tuple(_tasks(data.at("Scheduled Tasks"))),
            )
        )
    return found


def _battery(data: Untrusted) -> Battery | None:
    """The battery or capacitor; missing where the controller has a place for it, and nothing in it."""
    for table in ("BBU_Info", "Cachevault_Info"):
        line = data.at(table, 0)
        if line.entries():
            state = line.at("State").text
            return Battery(
                model=line.at("Model").text,
                state=state,
                learning="learn" in state.lower() if state else None,
                replace=any(word in state.lower() for word in ("fail", "replace")) if state else None,
                next_learn=_when(line.at("Next Learn").text),
            )
    told = data.at("HwCfg", "BBU").text.lower()
    return Battery(present=False) if told in ("absent", "no", "not present") else None


def _tasks(table: Untrusted) -> list[Task]:
    found = []
    entries = {key.lower(): value.text for key, value in table.entries()}
    for field, name in _TASKS.items():
        next_run = entries.get(f"next {field} launch".lower())
        if next_run is not None or f"{field} reoccurrence".lower() in entries:
            told = _when(next_run or "")
            found.append(Task(name, bool(told), told))
    return found


def _when(text: str) -> str:
    return "" if text.strip().lower() in _NEVER else text
