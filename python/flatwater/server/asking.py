"""Questions to servers. Each is asked on a thread, so that one that is not answered keeps Ctrl-C waiting nowhere.

The engine waits for a server outside of Python, and Python hears a signal only in its own code. So the thread that
hears signals, the main one, never asks a server itself: it waits here and looks up.
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

#: How often a question that waits for its answer is looked up from, seconds.
LOOK_S = 0.1
#: Once the user asked to stop, a server may take this long for an answer: one that lives needs milliseconds.
GRACE_S = 1.0


def never() -> bool:
    """Nobody asks to stop."""
    return False


def ask(question: Callable[[], T], stop: Stop = never, *, grace_s: float = 0.0) -> T:
    """The answer to a question, or what it raised; Interrupted `grace_s` after `stop()` became true.

    A question that was given up goes on in its thread until the server answers or is gone; nobody hears the answer.
    """
    answer: Future[T] = Future()
    threading.Thread(target=_answer, args=(question, answer), name="question", daemon=True).start()
    give_up_at: float | None = None
    while not wait([answer], timeout=LOOK_S).done:
        if not stop():
            continue
        give_up_at = time.monotonic() + grace_s if give_up_at is None else give_up_at
        if time.monotonic() >= give_up_at:
            raise Interrupted("interrupted while a server did not answer")
    return answer.result()


def _answer(question: Callable[[], T], answer: Future[T]) -> None:
    try:
        answer.set_result(question())
    except BaseException as error:  # noqa: BLE001 (raised again where it was asked)
        answer.set_exception(error)
