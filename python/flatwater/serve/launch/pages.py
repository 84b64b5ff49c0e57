"""The addresses of `--allow-run`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from flatwater.errors import UserError
from flatwater.experiment import written_text
from flatwater.experiment.library import library_files
from flatwater.runner.check import Checked
from flatwater.serve.answers import message, page
from flatwater.serve.catalogue import Catalogue
from flatwater.serve.launch.child import Child
from flatwater.serve.launch.launcher import Busy, Launcher
from flatwater.serve.launch.resumption import PlacesMissing, Problems, only_places, resumption
from flatwater.serve.launch.shelf import Entry, Shelf
from flatwater.serve.launch.wish import LINES_MAX, Wish, checked, problem_texts, read_wish
from flatwater.serve.listed import Listed
from flatwater.serve.writers import Writers

#: The most bytes of a form.
FORM_BYTES_MAX = 256 * 1024
NO_FORM = "This is no form of flatwater's, or too long."
_NO_SUCH = "There is no such experiment."
#: Seconds after which the page of a run that begins looks again.
LOOK_AGAIN_S = 1


class LaunchPages:
    """The answers."""

    def __init__(self, launcher: Launcher, catalogue: Catalogue) -> None:
        self._launcher = launcher
        self._catalogue = catalogue
        self._shelf = Shelf()

    def routes(self) -> list[Route]:
        """The addresses: what changes something takes POST only."""
        return [
            Route("/experiments", self.experiments),
            Route("/experiments/{name}", self.experiment),
            Route("/experiments/{name}/check", self.check, methods=["POST"]),
            Route("/experiments/{name}/start", self.start, methods=["POST"]),
            Route("/started/{key}", self.started),
            Route("/run/{key}/stop", self.stop, methods=["POST"]),
            Route("/run/{key}/resume", self.resume, methods=["POST"]),
        ]

    async def experiments(self, request: Request) -> Response:
        """The library, and what was started from it."""
        entries = await run_in_threadpool(self._shelf.entries)
        return page("experiments.html", entries=entries, started=self._launcher.started())

    async def experiment(self, request: Request) -> Response:
        """An experiment, and the form that starts it."""
        entry = await run_in_threadpool(self._shelf.find, request.path_params["name"])
        if entry is None:
            return message(404, _NO_SUCH)
        # What must be given stands there, and only the value is missing.
        return _form(entry, "\n".join(f"{field}=" for field in entry.fields))

    async def check(self, request: Request) -> Response:
        """What is known of the run that a form asks for, or what is wrong with it."""
        return await self._answer(request, self._checked)

    async def start(self, request: Request) -> Response:
        """Starts what a form asks for."""
        return await self._answer(request, self._start)

    async def _answer(self, request: Request, answer: Callable[[Entry, Wish], Response]) -> Response:
        entry = await run_in_threadpool(self._shelf.find, request.path_params["name"])
        if entry is None:
            return message(404, _NO_SUCH)
        lines = await read_form(request)
        if lines is None:
            return message(400, NO_FORM)
        try:
            return await run_in_threadpool(answer, entry, read_wish(entry.path, lines))
        except UserError as error:
            return _form(entry, lines[: LINES_MAX * 100], problems=[error], status=400)

    @staticmethod
    def _checked(entry: Entry, wish: Wish) -> Response:
        found, problems = checked(wish)
        return _form(entry, wish.text, found=found, problems=problems, status=400 if problems else 200)

    def _start(self, entry: Entry, wish: Wish) -> Response:
        found, problems = checked(wish)
        if found is None:
            return _form(entry, wish.text, problems=problems, status=400)
        try:
            child = self._launcher.start(wish, found, self._under_way)
        except Busy as error:
            return _form(entry, wish.text, problems=[error], status=409)
        # What the browser loads again is the page of the run, and never the request that started it.
        return RedirectResponse(f"/started/{child.key}", 303)

    def _under_way(self) -> Iterator[Path]:
        """The results of the served folders that are being written."""
        return Writers.results_below(self._catalogue.roots)

    async def started(self, request: Request) -> Response:
        """A run from its start until it has a result, or from then on what it said."""
        child = self._launcher.find(request.path_params["key"])
        if child is None:
            return message(404, "No such run was started here.")
        # The list looks through its folders every two seconds: before that, it has no page of the run.
        listed = await run_in_threadpool(self._catalogue.find, child.key)
        if listed is not None and listed.status == "running" and child.alive:
            return RedirectResponse(f"/run/{child.key}/live", 303)
        again_s = LOOK_AGAIN_S if child.alive else None
        said = await run_in_threadpool(child.said)
        unfinished = listed is not None and listed.status != "complete" and not child.alive
        return page(
            "started.html",
            child=child,
            there=listed is not None,
            said=said,
            again_s=again_s,
            may_resume=unfinished and may_resume(self._launcher, listed),
        )

    async def stop(self, request: Request) -> Response:
        """Asks a run that was started here to end."""
        key = request.path_params["key"]
        if not await run_in_threadpool(self._launcher.stop, key):
            return message(404, "No such run was started here, and no other one is stopped.")
        return RedirectResponse(f"/started/{key}", 303)

    async def resume(self, request: Request) -> Response:
        """Goes on with a run that was stopped or died, or says why not."""
        listed = await run_in_threadpool(self._catalogue.find, request.path_params["key"])
        if listed is None:
            return message(404, "There is no such result.")
        lines = await read_form(request)
        if lines is None:
            return message(400, NO_FORM)
        return await run_in_threadpool(self._resume, listed, lines)

    def _resume(self, listed: Listed, text: str) -> Response:
        folder = listed.place.path
        try:
            given = only_places(read_wish(folder, text).lines)
            known = [*given, *self._launcher.given(folder)]
            found = resumption(folder, self._launcher.root, self._shelf, known)
            child = self._launcher.resume(found, self._under_way)
        except PlacesMissing as error:
            written = text or "\n".join(dict.fromkeys(f"{field}=" for field, _ in error.places))
            return _not_resumed(listed, 400, [error], written)
        except Problems as error:
            return _not_resumed(listed, 409, error.problems)
        except UserError as error:
            child_there = own(self._launcher, listed.place.key)
            if child_there is None:
                return _not_resumed(listed, 409, [error])
            # Pressed twice, or by two at once: a browser shows the last answer only, and the run does go on.
            child = child_there
        return RedirectResponse(f"/started/{child.key}", 303)


def _not_resumed(listed: Listed, status: int, problems: Sequence[UserError], written: str | None = None) -> Response:
    """Why a run does not go on; `written`: what there is to write so that it does."""
    return page("resume.html", status=status, listed=listed, problems=problem_texts(problems), written=written)


def _form(
    entry: Entry,
    text: str,
    *,
    found: Checked | None = None,
    problems: Sequence[UserError] = (),
    status: int = 200,
) -> Response:
    experiment = found.experiment if found is not None else None
    thresholds = experiment.thresholds if experiment is not None else None
    return page(
        "experiment.html",
        status=status,
        entry=entry,
        file=entry.path.read_text("utf-8"),
        text=text,
        rows=max(3, text.count("\n") + 2),
        found=found,
        written=written_text(experiment) if experiment is not None else None,
        limits=thresholds.told if thresholds is not None else [],
        problems=problem_texts(problems),
    )


async def read_form(request: Request) -> str | None:
    """The lines of a form; None for what is no form of ours, or too long."""
    body = bytearray()
    # Read to its end, whatever it is: a browser shows no answer to what it could not send.
    async for piece in request.stream():
        body += piece[: FORM_BYTES_MAX + 1 - len(body)]
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded" or len(body) > FORM_BYTES_MAX:
        return None
    found = parse_qsl(body.decode("ascii", errors="replace"), keep_blank_values=True, errors="replace")
    return next((value for name, value in found if name == "lines"), "")


def may_resume(launcher: Launcher | None, listed: Listed | None) -> bool:
    """Whether the pages of a result offer to go on with its run. Whether it can, is told by who is asked for it."""
    if launcher is None or listed is None:
        return False
    return launcher.root in listed.place.path.parents and listed.name in library_files()


def own(launcher: Launcher | None, key: str) -> Child | None:
    """The run of a key that was started here and has not ended: the page may stop it."""
    child = launcher.find(key) if launcher is not None else None
    return child if child is not None and child.alive else None
