"""Checks of arrays that the machine plans by itself: units of systemd that are enabled, files of cron.

Whether a plan is there can be seen by everybody; when it runs next, systemd is not asked.
"""

from __future__ import annotations

from pathlib import Path

from flatwater.health.controller import Task
from flatwater.health.machine import Machine

#: By the kind of array: names of timers, and of cron files, that distributions ship for it.
#: md: mdadm's own units; `raid-check` of Fedora and RHEL; Debian's cron file.
#: ZFS: OpenZFS's timers; Debian's cron file. btrfs: the units of btrfsmaintenance and btrfs-progs.
_TIMERS = {
    "md": ("mdcheck_start.timer", "raid-check.timer"),
    "zfs": ("zfs-scrub-monthly@*.timer", "zfs-scrub-weekly@*.timer", "zfs-scrub@*.timer"),
    "btrfs": ("btrfs-scrub.timer", "btrfs-scrub@*.timer"),
}
_CRON = {
    "md": ("cron.d/mdadm", "cron.d/raid-check"),
    "zfs": ("cron.d/zfsutils-linux",),
    "btrfs": ("cron.monthly/btrfs-scrub", "cron.weekly/btrfs-scrub"),
}
_UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def find_check(machine: Machine, kind: str) -> Task | None:
    """The check of arrays of this kind; None where nobody plans checks for that kind."""
    if kind not in _TIMERS:
        return None
    name = "check" if kind == "md" else "scrub"
    for pattern in _TIMERS[kind]:
        for folder in _UNITS:
            for path in machine.path(folder).glob(f"*.wants/{pattern}"):
                return Task(name, True, path.name)
    for file in _CRON[kind]:
        path = machine.path("/etc") / file
        if path.exists() and _has_line(machine, path):
            return Task(name, True, f"/etc/{file}")
    return Task(name, False)


def _has_line(machine: Machine, path: Path) -> bool:
    """Whether anything in a file is no comment."""
    text = machine.read(path) or ""
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())
