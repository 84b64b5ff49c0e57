"""Errors (EIO) for clients that wait while no process can serve, after the time of the setting `outage_s`.

The supervisor holds the mount's descriptor and the listening socket, so that a process that died can be replaced
without an error. If no replacement comes, clients would wait for ever.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import threading
from contextlib import suppress

#: Of linux/fuse.h: a request begins with its length, its opcode and its number; an answer with its length, the error
#: and that number. FORGET, BATCH_FORGET and INTERRUPT get no answer.
_REQUEST, _ANSWER = struct.Struct("=IIQ"), struct.Struct("=IiQ")
_FORGET, _INTERRUPT, _DESTROY, _BATCH_FORGET = 2, 36, 38, 42
#: FUSE_NOTIFY_RESEND: the kernel sends requests again that a process had read when it died (Linux 6.9).
_NOTIFY_RESEND = 7
#: More than the longest request (crates/serve/src/cache/mount.rs).
_READ_BYTES = 2**20 + 2**16


class Outage:
    """A thread that refuses all requests, from `begin` to `end`."""

    def __init__(self, fuse: int | None, nbd: int | None) -> None:
        self._fuse, self._nbd = fuse, nbd
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None

    @property
    def is_on(self) -> bool:
        """Whether requests are refused."""
        return self._thread is not None

    def begin(self) -> None:
        """Refuses the requests that wait, and all that follow."""
        with self._lock:
            if self._thread is None:
                self._wake = os.pipe2(os.O_CLOEXEC)
                self._thread = threading.Thread(target=self._refuse, args=(self._wake[0],), daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Refuses no more requests: a process serves again."""
        with self._lock:
            if self._thread is None or self._wake is None:
                return
            os.write(self._wake[1], b"x")
            self._thread.join()
            for number in self._wake:
                os.close(number)
            self._thread = self._wake = None

    def _refuse(self, wake: int) -> None:
        if self._fuse is not None:
            with suppress(OSError):
                os.write(self._fuse, _ANSWER.pack(_ANSWER.size, _NOTIFY_RESEND, 0))
        poll = select.poll()
        for number in (wake, self._fuse, self._nbd):
            if number is not None:
                poll.register(number, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if wake in ready:
                return
            if self._fuse in ready and not self._refuse_request(self._fuse):
                poll.unregister(self._fuse)
            if self._nbd in ready:
                self._refuse_client(self._nbd)

    @staticmethod
    def _refuse_request(fuse: int) -> bool:
        """Refuses one request; False if the mount is gone."""
        try:
            request = os.read(fuse, _READ_BYTES)
        except OSError as error:
            return error.errno != errno.ENODEV
        _, opcode, number = _REQUEST.unpack_from(request)
        if opcode not in (_FORGET, _INTERRUPT, _BATCH_FORGET):
            with suppress(OSError):
                os.write(fuse, _ANSWER.pack(_ANSWER.size, 0 if opcode == _DESTROY else -errno.EIO, number))
        return True

    @staticmethod
    def _refuse_client(listening: int) -> None:
        with suppress(OSError), socket.socket(fileno=os.dup(listening)) as listener:
            listener.settimeout(0.0)
            listener.accept()[0].close()
