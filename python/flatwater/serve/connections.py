"""Connections of a server: a limited number, and none for one who asks for nothing.

Each connection is an open file. Anybody who reaches the port can open one, without a token, and say nothing. The run
whose metrics are asked for, and the results that are shown, need files too.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds in which one who is connected must have asked for something. Whoever is answered and takes nothing is sent
#: away by the kernel (`SILENT_MS` of port.py).
SILENT_S = 20.0


class Connection(H11Protocol):
    """A connection of a limited number. `limited` makes the class that a server uses."""

    #: Connections at once.
    most: int
    #: Those that wait for a request, the one that has waited longest first.
    waiting: dict[Connection, None]

    _silent: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes it, in place of the one that has asked for nothing for longest if there are too many."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.most:
            next(iter(self.waiting))._drop()

    def _wait(self) -> None:
        """Waits for a request: not for ever, and not if the place is needed."""
        self._forget()
        self.waiting[self] = None
        self._silent = self.loop.call_later(SILENT_S, self._close_silent)

    def _close_silent(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self._drop()

    def handle_events(self) -> None:
        """Reads what was sent. Part of a request is no request."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self.waiting.pop(self, None)

    def send_400_response(self, msg: str) -> None:
        """Answers what is no HTTP, once: the request that it came with gets no other answer."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            # An answer is sent already: all that is left to say is that nothing more comes.
            self.transport.close()

    def on_response_complete(self) -> None:
        """Waits for the next request."""
        self._wait()
        super().on_response_complete()

    def connection_lost(self, error: Exception | None) -> None:
        """Forgets it."""
        self._forget()
        super().connection_lost(error)

    def _drop(self) -> None:
        self._forget()
        # Its place is free at once, and not only when the loop comes to tell that it is gone.
        self.connections.discard(self)
        self.transport.abort()

    def _forget(self) -> None:
        self.waiting.pop(self, None)
        if self._silent is not None:
            self._silent.cancel()
            self._silent = None


def limited(most: int) -> type[Connection]:
    """The connections of one server: at most so many at once."""
    return type("Limited", (Connection,), {"most": most, "waiting": {}})
