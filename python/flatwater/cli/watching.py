"""Watching a run: which one, until when, and what is told of it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from flatwater.cli.cell_lines import CELLS_PRINTED, bound_line, cell_line
from flatwater.cli.watch_views import View, make_view
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.results import Result, open_result
from flatwater.results.opening import require_result
from flatwater.results.started import resume_command, shell_word
from flatwater.results.stored import exists
from flatwater.serve.alive import runs_under_way
from flatwater.serve.followed import Followed
from flatwater.serve.writers import Writers
from flatwater.terminal import SERIES

#: Where `flatwater run` puts its results.
RESULTS = Path("results")
#: Seconds between two looks at the journal: runs write a line an interval, which is a second.
LOOK_S = 1.0


def find_run(given: Path | None) -> Path:
    """The run that is meant: the given one, or the newest one under way in a folder. Without one, it is looked for in
    `results/`, in this folder, and then anywhere on this machine. Errors: UserError.
    """
    if given is not None and (exists(given / "flatwater.json") or not given.is_dir()):
        require_result(given)
        return given
    writers = Writers()
    mine = list(Writers.results_of_user()) if given is None else []
    for folder in [given] if given is not None else [RESULTS, Path()]:
        # A folder may be a whole disk: what this user runs below it is known without looking through it.
        here = [one for one in mine if one.is_relative_to(folder.resolve())]
        if (found := _newest(here, writers) or _newest([folder], writers)) is not None:
            return found
    if (found := _newest(mine, writers)) is not None:
        print(f"watching {found}", file=sys.stderr, flush=True)
        return found
    raise UserError(
        "no run of yours is under way on this machine" if given is None else "no run is under way in it",
        where=str(given) if given is not None else None,
        hint="flatwater watch RESULT, with the folder that was given to --out; flatwater ls lists the runs",
    )


def _newest(folders: Iterable[Path], writers: Writers) -> Path | None:
    """The run in or below some folders that began last, of those under way."""
    return next((place.path for place in runs_under_way(folders, writers)), None)


def watch(path: Path, *, as_json: bool) -> None:
    """Follows a run to its end, and tells its verdicts. Errors: UserError, FlatwaterError, Interrupted."""
    followed = Followed(path, Writers(), SERIES)
    status = followed.result.manifest.status
    if status != "running":
        resume = status in ("interrupted", "failed") and followed.result.manifest.source == "run"
        hint = f"to go on: {resume_command(path)}" if resume else f"flatwater report {shell_word(str(path))}"
        raise UserError(f"the run is over: {status}", where=str(path), hint=hint)
    # Not at once, so that the terminal is left as it was.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    view: View | None = None
    try:
        view = make_view(followed, as_json=as_json)
        _follow(followed, view, path)
    except KeyboardInterrupt:
        raise Interrupted("the watching was ended, and the run goes on") from None
    finally:
        if view is not None:
            view.close()
        followed.close()
        signal.signal(signal.SIGTERM, before)
    _tell_end(path, view)


def _follow(followed: Followed, view: View, path: Path) -> None:
    """Shows what is new, until the run is over."""
    while True:
        began = followed.advance()
        state = followed.state()
        if state.word == "stopped":
            raise FlatwaterError(
                f"the run died: {state.why}; what was recorded is kept",
                where=str(path),
                hint=f"to go on: {resume_command(path)}",
            )
        view.show(began=began)
        if state.word == "ended":
            return
        time.sleep(LOOK_S)


def _tell_end(path: Path, view: View) -> None:
    """Tells the verdicts. Errors: FlatwaterError unless the run completed."""
    result = open_result(path)
    status = result.manifest.status
    places = [f"result: {path}", f"report: flatwater report {shell_word(str(path))}"]
    view.end(status, [*verdict_lines(result), *places])
    if status == "complete":
        return
    failed = [cell.summary.error for cell in result.cells if cell.summary is not None and cell.summary.error]
    why = f": {failed[0]}" if failed else ""
    told = f"the run failed{why}" if status == "failed" else "the run was interrupted; what was measured is kept"
    raise FlatwaterError(told, where=str(path), hint=f"to go on: {resume_command(path)}")


def verdict_lines(result: Result) -> Iterator[str]:
    """Each cell that is over, as the run told it."""
    total = len(result.cells)
    for cell in result.cells:
        summary = cell.summary
        if summary is None or (total > CELLS_PRINTED and summary.status != "failed"):
            continue
        label = cell.label if total > 1 else ""
        yield cell_line(summary, cell.index + 1, total, label)
        if (bound := bound_line(summary, label)) is not None:
            yield bound
