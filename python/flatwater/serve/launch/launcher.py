"""All runs that this server started: how many there may be at once, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.results.lock import require_not_run
from flatwater.runner.check import Checked
from flatwater.runner.sweep import default_folder
from flatwater.serve.launch.child import Child, open_files, start
from flatwater.serve.launch.resumption import Resumption
from flatwater.serve.launch.theirs import require_nothing_leads_elsewhere
from flatwater.serve.launch.wish import Wish

#: Modelled runs at once. Each takes every core; a real run is alone.
RUNS_MAX = 2
#: Runs that are over and still told of, with what they said.
OVER_MAX = 20


class Launcher:
    """The runs. All methods may be called from any thread.

    It is made before the server stands back (`nice`): its runs have the priority that the server was started with.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._limit = open_files()
        self._lock = threading.Lock()
        self._children: list[Child] = []
        self._ending = False
        self._interrupted: list[Child] = []
        # Priorities are of threads (setpriority(2), "C library/kernel differences"), and a process has that of the
        # thread that starts it.
        self._starter = ThreadPoolExecutor(1, "launcher")
        self._starter.submit(lambda: None).result()

    @property
    def root(self) -> Path:
        """Where results of runs are."""
        return self._root

    def start(self, wish: Wish, checked: Checked, under_way: Callable[[], Iterable[Path]]) -> Child:
        """Starts a run. `under_way` tells of the results that are being written: these, and those of others.

        Errors: Busy if it would disturb a measurement or there are too many; FlatwaterError if it cannot be started.
        """
        with self._lock:
            return self._start(wish, checked, under_way, self._root / default_folder(checked.experiment).name)

    def resume(self, resumption: Resumption, under_way: Callable[[], Iterable[Path]]) -> Child:
        """Goes on with a run in its folder. Errors: as of `start`; UserError if it is run already."""
        folder = resumption.folder
        with self._lock:
            # It may have begun since it was looked at, and says so in its folder only a moment later.
            if (child := self._newest(folder)) is not None and child.alive:
                raise UserError(f"process {child.process.pid} runs it already", where=str(folder))
            require_not_run(folder)
            require_nothing_leads_elsewhere(folder, self._root)
            return self._start(resumption.wish, resumption.checked, under_way, folder, resume=True)

    def given(self, folder: Path) -> Sequence[str]:
        """The lines with which the last run into a folder was started here; none if none was."""
        with self._lock:
            child = self._newest(folder)
        return child.lines if child is not None else ()

    def _newest(self, folder: Path) -> Child | None:
        return next((child for child in self._children[::-1] if child.folder == folder), None)

    def _start(
        self,
        wish: Wish,
        checked: Checked,
        under_way: Callable[[], Iterable[Path]],
        folder: Path,
        *,
        resume: bool = False,
    ) -> Child:
        experiment = checked.experiment
        real = not experiment.in_virtual_time
        self._require_quiet(under_way(), real=real)
        title = experiment.title or experiment.name

        def begin() -> Child:
            return start(wish.file, wish.lines, folder, title=title, real=real, limit=self._limit, resume=resume)

        try:
            child = self._starter.submit(begin).result()
        except OSError as error:
            raise FlatwaterError(f"cannot start a run: {error.strerror}") from None
        self._children.append(child)
        self._forget()
        return child

    def _require_quiet(self, under_way: Iterable[Path], *, real: bool) -> None:
        if self._ending:
            raise Busy("this server is ending")
        alive = [child for child in self._children if child.alive]
        measured = next((child for child in alive if child.real), None)
        if measured is not None:
            raise Busy(f"{measured.title!r} is being measured, and any other run would disturb it")
        # Not those that are over: whatever writes there now was started elsewhere.
        own = {child.folder.resolve() for child in alive}
        other = next((path for path in under_way if path not in own), None)
        if other is not None:
            raise Busy(f"{other.name!r} is under way, started elsewhere, and another run would disturb it")
        if real and alive:
            raise Busy(f"{alive[0].title!r} is being computed, and would disturb what this run measures")
        if len(alive) >= RUNS_MAX:
            raise Busy(f"{len(alive)} runs are being computed, on all processors")

    def _forget(self) -> None:
        over = [child for child in self._children if not child.alive]
        for child in over[:-OVER_MAX]:
            self._children.remove(child)
            child.close()

    def started(self) -> list[Child]:
        """The runs that were started, the newest first; of those that are over, the last ones."""
        with self._lock:
            return self._children[::-1]

    def find(self, key: str) -> Child | None:
        """The run whose result has this key, if it was started here."""
        return next((child for child in self.started() if child.key == key), None)

    def stop(self, key: str) -> bool:
        """Asks a run to end, as Ctrl-C does, unless it was asked before. False: it was not started here."""
        child = self.find(key)
        if child is None:
            return False
        with self._lock:
            if child.alive and not child.stopping:
                child.interrupt()
        return True

    def interrupt(self) -> list[Child]:
        """Ctrl-C to all that run, because the server ends: no other one is started. Gives those that were running."""
        with self._lock:
            self._ending = True
            alive = [child for child in self._children if child.alive]
            self._interrupted += [child for child in alive if child not in self._interrupted]
            for child in alive:
                child.interrupt()
        return alive

    def end(self) -> list[Child]:
        """Ends: interrupts the runs unless `interrupt` did, waits for all, and gives those that were interrupted."""
        if not self._ending:
            self.interrupt()
        for child in self._interrupted:
            child.wait()
        for child in self.started():
            child.close()
        self._starter.shutdown()
        return self._interrupted


class Busy(UserError):
    """Something is under way that another run would disturb."""

    def __init__(self, what: str) -> None:
        super().__init__(what, hint="wait for its end, or stop it")
