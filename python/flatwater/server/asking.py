"""Requests to servers. Each runs in a thread of its own, so that Ctrl-C never waits for a server that does not answer.

While the engine waits for a server, that thread runs no Python code, and Python handles signals only in Python code. So
the main thread, which handles the signals, sends no request itself: it waits here, and polls.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from flatwater.errors import Interrupted

T = TypeVar("T")
Stop = Callable[[], bool]

#: How often a request that has no answer yet is polled, seconds.
POLL_S = 0.1
#: After the user has asked to stop, a server may take this long for an answer. A healthy one needs milliseconds.
GRACE_S = 1.0


def never() -> bool:
    """The `stop` of a caller that never stops."""
    return False


def ask(question: Callable[[], T], stop: Stop = never, *, grace_s: float = 0.0) -> T:
    """The result of `question`, or its exception; Interrupted `grace_s` after `stop()` has become true.

    A question that was given up stays in its thread until the server answers or is gone. Its result is dropped.
    """
    answer: Future[T] = Future()
    threading.Thread(target=_answer, args=(question, answer), name="question", daemon=True).start()
    give_up_at: float | None = None
    while not wait([answer], timeout=POLL_S).done:
        if not stop():
            continue
        give_up_at = time.monotonic() + grace_s if give_up_at is None else give_up_at
        if time.monotonic() >= give_up_at:
            raise Interrupted("interrupted while a server did not answer")
    return answer.result()


def _answer(question: Callable[[], T], answer: Future[T]) -> None:
    try:
        answer.set_result(question())
    except BaseException as error:  # noqa: BLE001 (raised again in the thread of `ask`)
        answer.set_exception(error)
