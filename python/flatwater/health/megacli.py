"""RAID controllers of LSI through MegaCli, which storcli replaced: `-AdpBbuCmd` and `-AdpPR -Info`, as text.

Field names: recorded outputs in public (netdata's tests of its collector; issue 9409 of netdata).
"""

from __future__ import annotations

import re

from flatwater.health.controller import Battery, Controller, Task
from flatwater.health.machine import Machine
from flatwater.health.untrusted import one_line

NAME = "MegaCli"
PROGRAMS = ("megacli", "MegaCli", "MegaCli64", "megacli64")
_ADAPTER = re.compile(r"BBU status for Adapter: (\d{1,3})")
_PATROL = re.compile(r"Adapter (\d{1,3}): Patrol Read Information")
_LINE = re.compile(r"^\s*([^:]{1,80}?)\s*[:=]\s*(.*?)\s*$")
_YES = ("yes", "true")


def read_megacli(machine: Machine) -> tuple[list[Controller], str]:
    """The controllers, and why there are none."""
    program = machine.program(*PROGRAMS)
    if program is None:
        return [], ""
    battery = machine.ask(program, "-AdpBbuCmd", "-aALL", "-NoLog")
    if battery.trouble:
        return [], battery.trouble
    patrol = machine.ask(program, "-AdpPR", "-Info", "-aALL", "-NoLog")
    tasks = {
        f"controller {number}": read_patrol("\n".join(lines))
        for number, lines in _sections(patrol.output.decode(errors="replace"), _PATROL)
    }
    found = read_batteries(battery.output.decode(errors="replace"))
    return [Controller(one.name, one.model, one.battery, tasks.get(one.name, ())) for one in found], ""


def read_batteries(text: str) -> list[Controller]:
    """The controllers and their batteries in the output of `-AdpBbuCmd`."""
    found: list[Controller] = []
    for number, lines in _sections(text, _ADAPTER):
        told = {match[1].lower(): match[2] for line in lines if (match := _LINE.match(line))}
        missing = told.get("battery pack missing", "").lower() in _YES
        model = one_line(told.get("batterytype", ""))
        learning = told.get("learn cycle active")
        replace = [told[name] for name in told if "replacement required" in name or "about to fail" in name]
        battery = Battery(
            model=model,
            present=not missing and model.lower() not in ("no battery", "none"),
            state=one_line(told.get("battery state", "")),
            learning=None if learning is None else learning.lower() in _YES,
            replace=any(word.lower() in _YES for word in replace) if replace else None,
            next_learn=one_line(told.get("next learn time", "")),
        )
        found.append(Controller(f"controller {number}", battery=battery))
    # "The required hardware component is not present": a controller without a battery says that, with its number.
    without = re.finditer(r"Adapter (\d{1,3}): .{0,80}(?:hardware component|not present)", text)
    return [*found, *(Controller(f"controller {match[1]}", battery=Battery(present=False)) for match in without)]


def _sections(text: str, heading: re.Pattern[str]) -> list[tuple[str, list[str]]]:
    """The lines below each adapter's heading, with its number."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines()[:10_000]:
        begins = heading.search(line)
        if begins is not None:
            found.append((begins[1], []))
        elif found:
            found[-1][1].append(line[:400])
    return found


def read_patrol(text: str) -> tuple[Task, ...]:
    """Whether patrol reads are planned, and whether one runs, in the output of `-AdpPR -Info` of one adapter."""
    told = {match[1].lower(): match[2] for line in text.splitlines()[:1000] if (match := _LINE.match(line[:400]))}
    mode = told.get("patrol read mode")
    if mode is None:
        return ()
    state = told.get("current state")
    running = None if state is None else state.lower().startswith("active")
    return (Task("patrol read", "disable" not in mode.lower(), one_line(told.get("next start time", "")), running),)
