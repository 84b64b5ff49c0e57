"""RAID controllers of Broadcom and its makes (PERC, ServeRAID) through storcli or perccli: `/call show all J`.

Field names: recorded outputs in public (netdata's tests of its collector, issue 27 of node-exporter's scripts; the
volumes' `Cache` as node-exporter's storcli.py reads it; `PR Current State` and `CC Current State` as the Puppet module
megaraid reads them). The number `BBU Status` is documented nowhere, and is not read: the state has a word.
"""

from __future__ import annotations

import re
from dataclasses import replace

from flatwater.health.controller import Battery, Controller, Policy, Task
from flatwater.health.machine import Machine
from flatwater.health.untrusted import UnreadableError, Untrusted, parse_json

NAME = "storcli"
PROGRAMS = ("storcli", "storcli64", "perccli", "perccli64")
_TASKS = {"Patrol Read": "patrol read", "Consistency check": "consistency check"}
#: What tells whether a task is under way, and the field that does.
_STATES = {"patrol read": ("patrolread", "PR Current State"), "consistency check": ("cc", "CC Current State")}
#: Domain, bus, device and function, in hexadecimal.
_PCI = re.compile(r"([0-9a-f]{2}):([0-9a-f]{2}):([0-9a-f]{2}):([0-9a-f]{2})", re.IGNORECASE)
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
        found = read_output(parse_json(said.output))
    except UnreadableError as error:
        return [], f"{NAME}: {error}"
    for task, (word, field) in _STATES.items() if found else ():
        said = machine.ask(program, "/call", "show", word, "J", "nolog")
        try:
            running = {} if said.trouble else read_states(parse_json(said.output), field)
        except UnreadableError:
            running = {}  # what it does now is not told; the rest is
        found = [_with_state(one, task, running.get(one.name)) for one in found]
    return found, ""


def read_states(told: Untrusted, field: str) -> dict[str, bool]:
    """Whether each controller does something now, in the JSON of `show patrolread` and `show cc`."""
    found = {}
    for number, entry in enumerate(told.at("Controllers").items()):
        index = entry.at("Command Status", "Controller").whole
        for line in entry.at("Response Data", "Controller Properties").items():
            state = line.at("Value").text.lower()
            if line.at("Ctrl_Prop").text == field and state:
                found[_name(index, number)] = state.startswith("active")
    return found


def _with_state(controller: Controller, name: str, running: bool | None) -> Controller:
    if running is None:
        return controller
    others = tuple(task for task in controller.tasks if task.name != name)
    one = next((task for task in controller.tasks if task.name == name), Task(name, None))
    return replace(controller, tasks=(*others, replace(one, running=running)))


def _name(index: int | None, number: int) -> str:
    return f"controller {number if index is None else index}"


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
                name=_name(index, number),
                model=data.at("Basics", "Model").text,
                battery=_battery(data),
                tasks=tuple(_tasks(data.at("Scheduled Tasks"))),
                pci=_pci(data.at("Basics", "PCI Address").text),
                policies=tuple(_policies(data.at("VD LIST"))),
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


def _pci(text: str) -> str:
    """`00:06:00:00` as sysfs writes it."""
    match = _PCI.fullmatch(text.strip())
    return f"00{match[1]}:{match[2]}:{match[3]}.{int(match[4], 16):x}".lower() if match else ""


def _policies(volumes: Untrusted) -> list[Policy]:
    """The write policies in words such as `NRWBD` and `RWTD`: AWB and FWB write back without a battery too."""
    found: list[Policy] = []
    for volume in volumes.items():
        word = volume.at("Cache").text.upper()
        if "AWB" in word or "FWB" in word:
            found.append("always write-back")
        elif "WB" in word or "WT" in word:
            found.append("write-back" if "WB" in word else "write-through")
    return found


def _when(text: str) -> str:
    return "" if text.strip().lower() in _NEVER else text
