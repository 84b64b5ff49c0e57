"""Jobs: work of a cache that takes long. They continue after a restart of the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, cast

from flatwater.cache.messages import Job, Request, Said, ShownJob
from flatwater.errors import UserError

#: Requests that begin a job.
KINDS = ("flush", "preload", "pin", "unpin", "resize")
#: The number of ended jobs that are kept.
_ENDED_MAX = 20


class Jobs:
    """The jobs of one cache; used by several threads."""

    def __init__(self, unfinished: list[Job]) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[int, Job] = {int(job["job"]): job for job in unfinished}
        self._next = max(self._jobs, default=0) + 1

    def begin(self, request: Request) -> Request:
        """Begins a job for a request; gives the request for the child."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            numbered = Request(do=request["do"], job=number, range=request.get("range"), bytes=request.get("bytes"))
            self._jobs[number] = Job(
                do=numbered["do"],
                job=number,
                range=numbered["range"],
                bytes=numbered["bytes"],
                state="running",
                began_s=time.time(),
                done=0,
                total=None,
            )
            ended = [number for number, job in self._jobs.items() if job["state"] != "running"]
            for number in ended[:-_ENDED_MAX]:
                del self._jobs[number]
            return numbered

    def forget(self, number: int) -> None:
        """Removes a job that could not begin."""
        with self._lock:
            self._jobs.pop(number, None)

    def hear(self, message: Said) -> None:
        """Takes the message of a child that says how a job ended."""
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
        """Takes the progress of running jobs: {number: [done, total]}."""
        with self._lock:
            for number, (done, total) in told.items():
                job = self._jobs.get(int(number))
                if job is not None and job["state"] == "running":
                    # After a restart the child counts only the rest. The progress does not go back.
                    job["total"] = max(total, job["total"] or 0)
                    job["done"] = max(done, job["done"])

    def get(self, number: int) -> ShownJob:
        """The job of a number. Errors: UserError if there is none."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None:
                raise UserError(f"there is no job {number}")
            return self._shown(job)

    def all(self) -> list[ShownJob]:
        """The jobs that run, and the last ones that ended."""
        with self._lock:
            return [self._shown(job) for job in self._jobs.values()]

    def running(self) -> list[Request]:
        """The requests that the next child must get again."""
        return [
            Request(do=job["do"], job=job["job"], range=job["range"], bytes=job["bytes"])
            for job in self.unfinished()
            if job["state"] == "running"
        ]

    def unfinished(self) -> list[Job]:
        """All jobs, for the next process: a client may still ask how an ended one ended."""
        with self._lock:
            return [job.copy() for job in self._jobs.values()]

    @staticmethod
    def _shown(job: Job) -> ShownJob:
        known = {name: value for name, value in job.items() if name != "do" and value is not None}
        return cast("ShownJob", {"kind": job["do"], **known})
