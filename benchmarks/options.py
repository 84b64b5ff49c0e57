"""The common part of the benchmarks' command lines: presets, the path of the page, progress lines."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from flatwater.errors import FlatwaterError, Interrupted, UserError

#: (option, full, with --quick).
Preset = tuple[str, int | float, int | float]


def tell(text: str) -> None:
    """Prints a line of progress to standard error. Standard output is for the page."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def add_options(parser: argparse.ArgumentParser, presets: Sequence[Preset], out: str, quick: str) -> None:
    """Adds --dir, --quick, --only, --out and one option for each preset."""
    parser.add_argument("--dir", type=Path, default=Path(), help="a directory on the storage to use [this one]")
    parser.add_argument("--quick", action="store_true", help=f"does everything work? {quick}; prints the page")
    parser.add_argument("--only", default="", metavar="WORD", help="rows with WORD in their title; prints the page")
    parser.add_argument("--out", type=Path, help=f"where the page goes [{out} when all was measured]")
    for name, full, short in presets:
        words = "--" + name.replace("_", "-")
        parser.add_argument(words, type=type(full), metavar="N", help=f"[{full}; with --quick {short}]")


def read_options(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str],
    presets: Sequence[Preset],
    titles: Sequence[str],
    page: Path,
) -> argparse.Namespace:
    """The options, with presets for those that are absent. `titles` are the names of all rows, for --only.

    Errors: UserError, and argparse's own exit.
    """
    options = parser.parse_args(arguments)
    for name, full, quick in presets:
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else full)
        elif getattr(options, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} must be more than 0")
    if not options.dir.is_dir():
        raise UserError(f"{options.dir} is no directory", where="--dir", hint=f"mkdir -p {options.dir}")
    if not any(options.only in title for title in titles):
        raise UserError(
            f"no row has {options.only!r} in its title", where="--only", hint="there is: " + "; ".join(titles)
        )
    if options.out is None and not (options.quick or options.only):
        options.out = page
    return options


def command_line(module: str, options: argparse.Namespace, presets: Sequence[Preset]) -> str:
    """The command line for the page, without directories of this machine."""
    words = [".venv/bin/python", "-m", module]
    if options.dir != Path():
        words += ["--dir", "DIR"]
    if options.quick:
        words.append("--quick")
    if options.only:
        words += ["--only", options.only]
    for name, full, quick in presets:
        if getattr(options, name) != (quick if options.quick else full):
            words += ["--" + name.replace("_", "-"), str(getattr(options, name))]
    return shlex.join(words)


def measure(
    read: Callable[[list[str]], argparse.Namespace], run: Callable[[argparse.Namespace], str], arguments: list[str]
) -> int:
    """Reads the options, measures, and writes the page.

    Exit code: 0 measured (also if a target was missed), 1 a program failed, 2 bad arguments, 130 interrupted.
    """
    # As Ctrl-C: what was started is ended, too.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        options = read(arguments)
        text = run(options)
    except FlatwaterError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return Interrupted.exit_code
    finally:
        signal.signal(signal.SIGTERM, before)
    if options.out is None:
        print(text, end="")
    else:
        options.out.write_text(text)
        tell(f"written: {options.out}")
    return 0
