"""Work of a cache that lasts: begun, asked after, ended; taken up again when its process was restarted."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, cast

from flatwater.cache.messages import Job, Request, Said, ShownJob
from flatwater.errors import UserError

#: What lasts.
KINDS = ("flush", "preload", "pin", "unpin", "resize")
#: So many are remembered that have ended.
_ENDED_MAX = 20


class Jobs:
    """The jobs of one cache; used by several threads."""

    def __init__(self, unfinished: list[Job]) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[int, Job] = {int(one["job"]): one for one in unfinished}
        self._next = max(self._jobs, default=0) + 1

    def begin(self, request: Request) -> Request:
        """A new job of what was asked for; gives what the child is told."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            asked = Request(do=request["do"], job=number, range=request.get("range"), bytes=request.get("bytes"))
            self._jobs[number] = Job(
                do=asked["do"],
                job=number,
                range=asked["range"],
                bytes=asked["bytes"],
                state="running",
                began_s=time.time(),
                done=0,
                total=None,
            )
            ended = [number for number, one in self._jobs.items() if one["state"] != "running"]
            for number in ended[:-_ENDED_MAX]:
                del self._jobs[number]
            return asked

    def forget(self, number: int) -> None:
        """One that could not be begun."""
        with self._lock:
            self._jobs.pop(number, None)

    def hear(self, message: Said) -> None:
        """A child tells how one ended."""
        with self._lock:
            job = self._jobs.get(message["job"])
            if job is not None:
                job["state"] = message["state"]
                job["error"], job["hint"] = message.get("error"), message.get("hint")
                if "user" in message:
                    job["user"] = message["user"]
                job["ended_s"] = time.time()
                if job["state"] == "done" and job["total"] is not None:
                    job["done"] = job["total"]

    def progress(self, told: Mapping[Any, tuple[int, int]]) -> None:
        """How far running ones are: {number: [done, total]}."""
        with self._lock:
            for number, (done, total) in told.items():
                job = self._jobs.get(int(number))
                if job is not None and job["state"] == "running":
                    # After a restart what is left is counted anew; what was done stays done.
                    job["total"] = max(total, job["total"] or 0)
                    job["done"] = max(done, job["done"])

    def get(self, number: int) -> ShownJob:
        """One. Errors: UserError."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None:
                raise UserError(f"there is no job {number}")
            return self._shown(job)

    def all(self) -> list[ShownJob]:
        """Those that run, and the last that ended."""
        with self._lock:
            return [self._shown(job) for job in self._jobs.values()]

    def running(self) -> list[Request]:
        """What the next child must be told."""
        return [
            Request(do=job["do"], job=job["job"], range=job["range"], bytes=job["bytes"])
            for job in self.unfinished()
            if job["state"] == "running"
        ]

    def unfinished(self) -> list[Job]:
        """All, as they are handed over: whoever waits for one may still ask how it ended."""
        with self._lock:
            return [job.copy() for job in self._jobs.values()]

    @staticmethod
    def _shown(job: Job) -> ShownJob:
        told = {name: value for name, value in job.items() if name != "do" and value is not None}
        return cast("ShownJob", {"kind": job["do"], **told})
