"""The descriptors of a cache that outlive its serving process: the mount, the sockets, both devices."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

from flatwater.cache.control import short_path
from flatwater.cache.messages import SocketIdentity
from flatwater.cache.mounting import mount, unmount
from flatwater.cache.open_places import leads_to
from flatwater.cache.state import SOCKET, CacheState, read_socket, running_folder, socket_identity, write_whole
from flatwater.errors import FlatwaterError


class Endpoints:
    """Where a cache is reached, and what it stands on.

    `fds` has the descriptors by name: `fast` and `backing` from the start; `control`, `nbd` and `fuse` once `open` was
    called, by this process or by one before it. `protocol` and `nbd_file` come from that process, too.
    """

    def __init__(
        self,
        state: CacheState,
        fds: dict[str, int],
        *,
        protocol: str | None = None,
        nbd_file: SocketIdentity | None = None,
    ) -> None:
        self._name = state.name
        self._mount = Path(state.mount) if state.mount is not None else None
        self._nbd = Path(state.nbd) if state.nbd is not None else None
        self._places = {"fast": state.fast, "backing": state.backing}
        self._fds = dict(fds)
        self._protocol = protocol
        self._nbd_file = nbd_file

    def open(self) -> None:
        """Opens the control socket, and the NBD socket and the mount if the cache has them. Errors: FlatwaterError."""
        running = running_folder(self._name)
        running.mkdir(parents=True, exist_ok=True, mode=0o700)
        (running / "control").unlink(missing_ok=True)
        self._fds["control"] = _listen(running / "control")
        if self._nbd is not None:
            if read_socket(self._name) == socket_identity(self._nbd):
                # A process of this cache that was killed left the socket.
                self._nbd.unlink(missing_ok=True)
            # The supervisor listens: clients that connect while there is no serving process wait for the next one.
            self._fds["nbd"] = _listen(self._nbd)
            self._nbd_file = socket_identity(self._nbd)
            write_whole(running / SOCKET, {"identity": self._nbd_file})
        if self._mount is not None:
            self._fds["fuse"], self._protocol = mount(self._mount, self._name)

    @property
    def fds(self) -> dict[str, int]:
        """The descriptors by name, for the next process."""
        return dict(self._fds)

    @property
    def protocol(self) -> str | None:
        """What was agreed with the kernel, as the engine's JSON; None without a mount."""
        return self._protocol

    @property
    def nbd_file(self) -> SocketIdentity | None:
        """Which file the NBD socket is; None without one."""
        return self._nbd_file

    @property
    def fuse(self) -> int | None:
        """The descriptor of the mount."""
        return self._fds.get("fuse")

    @property
    def nbd(self) -> int | None:
        """The descriptor of the NBD socket."""
        return self._fds.get("nbd")

    @property
    def fast(self) -> int:
        """The descriptor of the cache device."""
        return self._fds["fast"]

    def listener(self) -> socket.socket:
        """The control socket."""
        return socket.socket(fileno=os.dup(self._fds["control"]))

    def was_removed(self, role: str) -> bool:
        """Whether the path of a device (`fast`, `backing`) leads somewhere else by now."""
        descriptor = self._fds.get(role)
        return descriptor is not None and not leads_to(self._places[role], descriptor)

    def unmount(self, *, lazily: bool) -> bool:
        """Ends the mount, if there is one; False when it is in use. Errors: FlatwaterError."""
        return self._mount is None or unmount(self._mount, lazily=lazily)

    def unmount_after_failure(self) -> None:
        """Ends the mount if this cache made one, without errors: the first process did not come to serve it."""
        if self.fuse is not None:
            with suppress(FlatwaterError):
                self.unmount(lazily=True)

    def close_nbd(self) -> None:
        """Removes the NBD socket, and closes the connections that nobody has accepted yet."""
        listener = self._fds.pop("nbd", None)
        if listener is None or self._nbd is None:
            return
        with suppress(OSError), socket.socket(fileno=listener) as closing:
            closing.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            # Another program may have made a file of that name since.
            if socket_identity(self._nbd) == self._nbd_file:
                self._nbd.unlink()
                (running_folder(self._name) / SOCKET).unlink(missing_ok=True)


def _listen(path: Path) -> int:
    """A listening socket that only this user may connect to. Errors: FlatwaterError."""
    try:
        before = os.umask(0o177)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, short_path(path) as address:
                listener.bind(address)
                listener.listen(64)
                return os.dup(listener.fileno())
        finally:
            os.umask(before)
    except OSError as error:
        raise FlatwaterError(f"cannot listen at {path}: {error.strerror or error}") from None
