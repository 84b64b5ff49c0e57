"""Who watches which run: one reader a run, shared by all who watch it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.serve.watch import Watch, failure
from flatwater.serve.writers import Writers

#: How often a journal is looked at. Runs write a line an interval, which is a second.
POLL_S = 0.5
#: Messages that wait for a viewer who does not read; who has more waiting is sent away.
WAITING_MAX = 16
#: A silent connection is used after this time, so that one whose viewer is gone is noticed.
BEAT_S = 15.0
#: What was read of a run is kept for this long after the last viewer left: a reload needs no second reading.
KEPT_S = 60.0
#: Viewers of all runs together, and runs that are watched.
VIEWERS_MAX = 2000
WATCHES_MAX = 32


class TooMany(FlatwaterError):
    """There is no place for one more who watches."""


class Viewer:
    """One who watches: the messages that were not sent to them yet."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING_MAX)
        self.dropped = False

    def give(self, message: bytes | None) -> bool:
        """Puts a message into the queue; None is the end. False if the viewer does not keep up, and is dropped."""
        try:
            self._waiting.put_nowait(message)
        except asyncio.QueueFull:
            self.drop()
            return False
        return True

    def drop(self) -> None:
        """Forgets what waits, and ends."""
        self.dropped = True
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put_nowait(None)

    async def messages(self) -> AsyncIterator[bytes]:
        """What to send, until the end."""
        while True:
            try:
                message = await asyncio.wait_for(self._waiting.get(), BEAT_S)
            except TimeoutError:
                message = b":\n\n"  # a comment, as the standard of server-sent events suggests
            if message is None:
                return
            yield message


class Stream:
    """A run and its viewers."""

    def __init__(self, path: Path, writers: Writers) -> None:
        self._path = path
        self._writers = writers
        self._watch: Watch | None = None
        self._lock = asyncio.Lock()
        self._whole: bytes | None = None
        self.viewers: set[Viewer] = set()
        self._task: asyncio.Task[None] | None = None
        self.ended = False

    async def join(self) -> Viewer:
        """A new viewer, who gets all that was recorded first. Errors: FlatwaterError."""
        viewer = Viewer()
        async with self._lock:
            if self._watch is None:
                watch = self._watch = await asyncio.to_thread(Watch, self._path, self._writers)
                await asyncio.to_thread(watch.step)
                self._task = asyncio.create_task(self._follow(watch))
            if self._whole is None:
                self._whole = await asyncio.to_thread(self._watch.whole)
            viewer.give(self._whole)
            if self.ended:
                viewer.give(None)
            else:
                self.viewers.add(viewer)
        return viewer

    async def span(self, cell: int, start_s: float, end_s: float) -> bytes | None:
        """The lines of a part of the time of the cell that is watched; None of another. Errors: FlatwaterError."""
        async with self._lock:
            if self._watch is None:
                return None
            return await asyncio.to_thread(self._watch.span, cell, start_s, end_s)

    async def _follow(self, watch: Watch) -> None:
        idle_s = 0.0
        try:
            while idle_s < KEPT_S and not watch.over:
                await asyncio.sleep(POLL_S)
                idle_s = 0.0 if self.viewers else idle_s + POLL_S
                async with self._lock:
                    self._spread(await asyncio.to_thread(watch.step))
            async with self._lock:
                self._spread(None)
        except FlatwaterError as error:
            self._spread(failure(error))
        finally:
            watch.close()
            self.end()

    def _spread(self, message: bytes | None) -> None:
        if message is None:
            return
        self._whole = None
        self.viewers = {viewer for viewer in self.viewers if viewer.give(message)}

    def end(self) -> None:
        """Ends the watching."""
        self.ended = True
        for viewer in self.viewers:
            viewer.give(None)
        self.viewers = set()

    async def cancel(self) -> None:
        """Ends the watching, and the task behind it."""
        self.end()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


class Hub:
    """All runs that are watched. It lives in one event loop."""

    def __init__(self, writers: Writers, room: int = VIEWERS_MAX) -> None:
        self.writers = writers
        self._room = min(room, VIEWERS_MAX)
        self._streams: dict[str, Stream] = {}

    @property
    def viewers(self) -> int:
        """How many watch."""
        return sum(len(stream.viewers) for stream in self._streams.values())

    async def messages(self, key: str, path: Path) -> AsyncIterator[bytes]:
        """What a new viewer of a run is sent, until the run or the viewer is gone.

        Errors: FlatwaterError for a run that cannot be read; TooMany if too many watch already.
        """
        viewer, stream = await self._join(key, path)
        return self._until_gone(viewer, stream)

    async def span(self, key: str, cell: int, start_s: float, end_s: float) -> bytes | None:
        """The lines of a part of a cell's time, as JSON; None if nobody watches it. Errors: FlatwaterError."""
        stream = self._streams.get(key)
        return None if stream is None or stream.ended else await stream.span(cell, start_s, end_s)

    async def _join(self, key: str, path: Path) -> tuple[Viewer, Stream]:
        self._streams = {name: one for name, one in self._streams.items() if not one.ended}
        if self.viewers >= self._room:
            raise TooMany(f"{self._room} viewers watch already", hint="close some of the pages")
        if key not in self._streams:
            if len(self._streams) >= WATCHES_MAX:
                raise TooMany(f"{WATCHES_MAX} runs are watched already", hint="close some of the pages")
            self._streams[key] = Stream(path, self.writers)
        stream = self._streams[key]
        try:
            return await stream.join(), stream
        except FlatwaterError:
            self._streams.pop(key, None)
            raise

    @staticmethod
    async def _until_gone(viewer: Viewer, stream: Stream) -> AsyncIterator[bytes]:
        try:
            async for message in viewer.messages():
                yield message
        finally:
            stream.viewers.discard(viewer)

    async def end(self) -> None:
        """Ends all watching: nothing of it is left."""
        for stream in list(self._streams.values()):
            await stream.cancel()
        self._streams = {}
