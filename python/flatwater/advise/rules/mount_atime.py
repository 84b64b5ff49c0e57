"""A file system that writes the time of each read."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import mount_options
from flatwater.advise.rule import Case, Rule


class MountAtime(Rule):
    """A mount with neither noatime nor relatime."""

    name = "mount-atime"
    about = "a file system that writes the time of each access (strictatime)"
    source = "mount(8), noatime, relatime (the kernel's default since 2.6.30) and strictatime"
    elsewhere = "nobody is known to have published a database with both, whose files stay open"

    def advise(self, case: Case) -> Advice | None:
        """The option noatime; relatime writes once a day at most, which is not worth a word."""
        options = mount_options(case)
        if not options or options & {"noatime", "relatime", "ro"} or case.is_served:
            return None
        return self.advice(
            "The file system writes the time of each access to a file.",
            Change("host", "Mount it with noatime.", ("mount -o remount,noatime MOUNTPOINT",)),
            "neither noatime nor relatime is among the mount options",
            confidence="high",
        )
