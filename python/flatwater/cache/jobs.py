"""Work of a cache that lasts: begun, asked after, ended; taken up again when its process was restarted."""

from __future__ import annotations

import threading
import time
from typing import Any

from flatwater.errors import UserError

#: What lasts.
KINDS = ("flush", "preload", "pin", "unpin", "resize")
#: So many are remembered that have ended.
_ENDED_MAX = 20


class Jobs:
    """The jobs of one cache; used by several threads."""

    def __init__(self, unfinished: list[dict[str, Any]]) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[int, dict[str, Any]] = {int(one["job"]): one for one in unfinished}
        self._next = max(self._jobs, default=0) + 1

    def begin(self, request: dict[str, Any]) -> dict[str, Any]:
        """A new job of what was asked for; gives what the child is told."""
        with self._lock:
            job = {"do": request["do"], "job": self._next, "range": request.get("range"), "bytes": request.get("bytes")}
            self._jobs[self._next] = job | {"state": "running", "began_s": time.time(), "done": 0, "total": None}
            self._next += 1
            ended = [number for number, one in self._jobs.items() if one["state"] != "running"]
            for number in ended[:-_ENDED_MAX]:
                del self._jobs[number]
            return job

    def forget(self, number: int) -> None:
        """One that could not be begun."""
        with self._lock:
            self._jobs.pop(number, None)

    def hear(self, message: dict[str, Any]) -> None:
        """A child tells how one ended."""
        with self._lock:
            job = self._jobs.get(message["job"])
            if job is not None:
                job |= {name: message[name] for name in ("state", "error", "hint", "user") if name in message}
                job["ended_s"] = time.time()
                if job["state"] == "done" and job["total"] is not None:
                    job["done"] = job["total"]

    def progress(self, told: dict[str, Any]) -> None:
        """How far running ones are: {number: [done, total]}."""
        with self._lock:
            for number, (done, total) in told.items():
                job = self._jobs.get(int(number))
                if job is not None and job["state"] == "running":
                    # After a restart what is left is counted anew; what was done stays done.
                    job["total"] = max(total, job["total"] or 0)
                    job["done"] = max(done, job["done"])

    def get(self, number: int) -> dict[str, Any]:
        """One. Errors: UserError."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None:
                raise UserError(f"there is no job {number}")
            return self._shown(job)

    def all(self) -> list[dict[str, Any]]:
        """Those that run, and the last that ended."""
        with self._lock:
            return [self._shown(job) for job in self._jobs.values()]

    def running(self) -> list[dict[str, Any]]:
        """What the next child must be told."""
        return [
            {name: job[name] for name in ("do", "job", "range", "bytes")}
            for job in self.unfinished()
            if job["state"] == "running"
        ]

    def unfinished(self) -> list[dict[str, Any]]:
        """All, as they are handed over: whoever waits for one may still ask how it ended."""
        with self._lock:
            return [dict(job) for job in self._jobs.values()]

    @staticmethod
    def _shown(job: dict[str, Any]) -> dict[str, Any]:
        return {"kind": job["do"], **{name: value for name, value in job.items() if name != "do" and value is not None}}
