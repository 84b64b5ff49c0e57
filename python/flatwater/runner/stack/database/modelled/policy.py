"""A user's own flushing policy: a class in a Python file, called once in each round of a modelled server."""

from __future__ import annotations

import importlib.util
import math
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment.database.innodb_values import Value
from flatwater.experiment.parse import expanded
from flatwater.experiment.problem import quote
from flatwater.spelling import nearest

WHERE = "database.flushing"
#: The shortest and the longest time between two rounds, seconds.
PERIODS_S = (0.001, 3600.0)
_LSN_MAX = 2**64 - 1


@dataclass(frozen=True, slots=True)
class View:
    """The state of the server at the beginning of a round, for a policy. Ages and LSNs are bytes of redo."""

    #: Virtual time since the start of the run, seconds.
    time_s: float
    #: LSN of the newest change, and of the oldest change that is not in a data file (None: no page is dirty).
    lsn: int
    oldest_lsn: int | None
    #: Distance from the last checkpoint.
    checkpoint_age: int
    dirty_pages: int
    #: 100 x dirty / (1 + data + free).
    dirty_pct: float
    #: Pages written since the last round: all of them, those for free pages, and those of this policy's last request.
    flushed: int
    flushed_lru: int
    flushed_own: int
    #: Whether nothing was changed since the last round.
    idle: bool
    #: The limits of the log: its capacity for adaptive flushing, and the asynchronous, synchronous and maximum age.
    log_capacity: int
    async_age: int
    sync_age: int
    max_age: int
    #: The server's settings by their own names. Sizes are in bytes.
    settings: Mapping[str, Value]

    @property
    def age(self) -> int:
        """Distance between the newest change and the oldest change that is not in a data file."""
        return 0 if self.oldest_lsn is None else self.lsn - self.oldest_lsn


class Guard:
    """A policy for the engine to call. It raises each error of the policy as a UserError of one line."""

    def __init__(self, written: str, settings: Mapping[str, Value]) -> None:
        self._path, self._name = split(written)
        self._settings = MappingProxyType(dict(settings))
        try:
            self._policy = _find(self._path, self._name)()
        except (Exception, SystemExit) as error:
            if isinstance(error, UserError):
                raise
            raise self._failed(f"{self._name}() raises", error) from None
        if not callable(getattr(self._policy, "round", None)):
            raise UserError(
                f"{self._name} of {self._path} has no round(view)", where=WHERE, hint="see docs/models/flushing.md"
            )
        period_s = getattr(self._policy, "period_s", 1.0)
        least, most = PERIODS_S
        if isinstance(period_s, bool) or not isinstance(period_s, int | float) or not least <= period_s <= most:
            what = f"period_s of {self._name} must be seconds from {least:g} to {most:g}, not {quote(period_s)}"
            raise UserError(what, where=WHERE)
        #: Time between two rounds.
        self.period_ns = round(period_s * 1e9)

    def __call__(self, state: Mapping[str, Any]) -> tuple[int, int | None]:
        """Runs a round: the pages to write, and the LSN below which their oldest change must be (None: any)."""
        try:
            answer = self._policy.round(View(**state, settings=self._settings))
        except (Exception, SystemExit) as error:  # noqa: BLE001 (any error of the user's code)
            raise self._failed(f"{self._name}.round raises", error) from None
        pages, limit_lsn = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        if isinstance(pages, bool) or not isinstance(pages, int | float) or not math.isfinite(pages) or pages < 0:
            raise self._nonsense("must return a number of pages, 0 or more, or (pages, limit_lsn)", answer)
        if limit_lsn is not None and (
            isinstance(limit_lsn, bool) or not isinstance(limit_lsn, int) or not 0 <= limit_lsn <= _LSN_MAX
        ):
            raise self._nonsense("must return a limit_lsn that is a whole number, 0 or more, or None", answer)
        return min(int(pages), _LSN_MAX), limit_lsn

    def _nonsense(self, what: str, answer: object) -> UserError:
        code = getattr(self._policy.round, "__code__", None)
        place = self._path if code is None else f"{self._path}:{code.co_firstlineno}"
        return UserError(f"{place}: {self._name}.round {what}, not {quote(answer)}", where=WHERE)

    def _failed(self, what: str, error: BaseException) -> UserError:
        return UserError(f"{_place(self._path, error)}: {what} {_words(error)}", where=WHERE)


def split(written: str) -> tuple[str, str]:
    """The path and the class of `path/to/policy.py:ClassName`."""
    path, _, name = written.rpartition(":")
    return path, name


def _find(written: str, name: str) -> Any:
    path = expanded(written)
    if not path.is_file():
        what = f"{written} is not a file" if path.exists() else f"there is no file {written}"
        raise UserError(what, where=WHERE, hint="a path from where flatwater is started, like policy.py:Mine")
    # The module gets a name of its own, so that it replaces no other module, and so that dataclasses find it.
    module_name = f"flatwater_policy_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{written} is no Python file", where=WHERE, hint="its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (any error of the user's code)
        raise UserError(f"{_place(written, error)}: cannot be imported: {_words(error)}", where=WHERE) from None
    policy_class = getattr(module, name, None)
    if policy_class is None:
        classes = [one for one, value in vars(module).items() if isinstance(value, type)]
        close = nearest(name, classes)
        raise UserError(f"{written} has no class {name}", where=WHERE, hint=f"did you mean {close}?" if close else None)
    if not isinstance(policy_class, type):
        raise UserError(f"{name} of {written} is no class", where=WHERE)
    return policy_class


def _place(path: str, error: BaseException) -> str:
    """The file and the line of it where an exception was raised."""
    if isinstance(error, SyntaxError):
        return f"{path}:{error.lineno}"
    own = expanded(path).resolve()
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == own
    ]
    return f"{path}:{lines[-1]}" if lines else path


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
