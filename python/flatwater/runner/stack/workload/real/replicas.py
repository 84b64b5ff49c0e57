"""When the replication of an observed server stops, and when it goes on: events."""

from __future__ import annotations

from collections.abc import Iterable

from flatwater.probe.server import Channel
from flatwater.results import Event
from flatwater.runner.stack.database.real.outages import News

_STOPPED, _GOES_ON = " does not run", " runs again"


class Replicas:
    """Looks at the channels of each answer."""

    def __init__(self) -> None:
        self._before: dict[str, Channel] | None = None

    def see(self, at_s: float, channels: tuple[Channel, ...]) -> list[News]:
        """The news since the last answer. What stands still from the beginning is told once."""
        before, self._before = self._before, {one.name: one for one in channels}
        found = []
        for now in channels:
            then = before.get(now.name) if before is not None else None
            of = f" of {now.name}" if now.name else ""
            parts = (
                ("applier", now.applies, then is None or then.applies, now.applier_error),
                ("receiver", now.receives, then is None or then.receives, now.receiver_error),
            )
            for part, runs, ran, error in parts:
                if ran and not runs:
                    why = f": {error}" if error else ""
                    found.append(News(at_s, "fault", f"replication: the {part}{of}{_STOPPED}{why}"))
                elif runs and not ran:
                    found.append(News(at_s, "recovered", f"replication: the {part}{of}{_GOES_ON}"))
        return found


def left_stopped(events: Iterable[Event]) -> list[str]:
    """Warnings about what of the replication had stopped and did not go on."""
    stopped: dict[str, Event] = {}
    for event in events:
        if event.text.startswith("replication: "):
            stopped.pop(event.text.removesuffix(_GOES_ON), None)
            if _STOPPED in event.text:
                stopped[event.text.partition(_STOPPED)[0]] = event
    return [f"from {one.time_s:,.0f} s on, {one.text}" for one in stopped.values()]
