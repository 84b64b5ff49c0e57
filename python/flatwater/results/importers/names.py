"""Which run of a folder a sampled file belongs to, by the names of the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

#: Words for kinds of files, which tell nothing of a run.
_ANY = frozenset(
    (
        *("txt", "csv", "json", "log", "out", "output", "raw", "res", "result", "results", "summary"),
        *("gz", "bz2", "xz"),
        *("bench", "benchmark", "stats", "metrics"),
    )
)
#: What of a machine was sampled.
_MACHINE = frozenset(("cpu", "disk", "io"))
#: Format -> the words by which its files are called. A word of one format may tell the runs of another apart.
_OF_FORMAT: dict[str, tuple[str, ...]] = {
    "sysbench": ("sysbench",),
    "tpcc": ("tpcc",),
    "hammerdb": ("hammerdb",),
    "fio-json": ("fio",),
    "fio-log": ("fio",),
    "iostat": ("iostat",),
    "mpstat": ("mpstat",),
    "vmstat": ("vmstat",),
    "sysstat-json": ("sysstat", "iostat", "mpstat"),
    "dstat": ("dstat", "dool"),
    "dstat-text": ("dstat", "dool"),
    "mysqladmin": ("mysqladmin", "ext", "extended", "status"),
    "hammerdb-counter": ("hammerdb", "hdbtcount", "tcount", "nopm", "samples"),
    "counters": ("counters", "status", "samples", "nopm", "qps", "tps"),
}
_OF_ANY_FORMAT = _MACHINE | {word for words in _OF_FORMAT.values() for word in words}
#: Words for a server: two runs may differ in them, and a file of what a server counted may have one besides.
_SERVERS = frozenset(("mysql", "mariadb"))
_SPLIT = re.compile(r"[._\s-]+")


def key_of(path: Path, tool: str) -> tuple[str, ...]:
    """The words of a file's name, without those for kinds of files, its own format, and what it samples."""
    return _without(_words(path), _MACHINE | {*_OF_FORMAT.get(tool, ())})


def runs_of(path: Path, tool: str, runs: Sequence[tuple[Path, str]]) -> list[int]:
    """The places of the runs whose names are nearest to a sampled file's; each run is given by its file and format.

    Several where nothing tells them apart; none where no name is the same, apart from words for programs and servers.
    """
    for key in (_without(_words(path), _OF_FORMAT.get(tool, ())), key_of(path, tool)):
        for same in _SAME:
            own = [same(key, _words(run), _OF_FORMAT.get(form, ())) for run, form in runs]
            if any(own):
                return [place for place, is_own in enumerate(own) if is_own]
    return []


#: Ways in which the key of a file and the words of a run are the same, the closest first. The third argument has the
#: words for the run's format.
_SAME: tuple[Callable[[tuple[str, ...], tuple[str, ...], Sequence[str]], bool], ...] = (
    lambda key, run, own: key == run,
    lambda key, run, own: key == _without(run, own),
    lambda key, run, own: _without(key, own) == _without(run, own),
    lambda key, run, own: key == _without(run, _OF_ANY_FORMAT),
    lambda key, run, own: key == _without(run, _OF_ANY_FORMAT | _SERVERS),
    lambda key, run, own: not _SERVERS & {*run} and _without(key, (*own, *_SERVERS)) == _without(run, own),
)


def _words(path: Path) -> tuple[str, ...]:
    return tuple(word for word in _SPLIT.split(path.name.lower()) if word and word not in _ANY)


def _without(words: Sequence[str], left_out: Sequence[str] | frozenset[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in left_out)
