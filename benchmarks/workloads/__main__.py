"""`python -m benchmarks.workloads [page]`, or `measure [NAME ...] --dir DIR`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.workloads.measure import measure, names, plan
from benchmarks.workloads.page import PAGE, page
from flatwater.errors import FlatwaterError, UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0; 1 if a server could not be measured; 2 for bad arguments; 130 interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.workloads",
        description="page: writes docs/models/generations.md. measure: writes files of workloads/, and then the page.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="page|measure")
    verbs.add_parser("page", help="what is done without a verb")
    measuring = verbs.add_parser("measure", help="some ten minutes a file: let nothing else run meanwhile")
    measuring.add_argument("names", nargs="*", metavar="NAME", help=f"files [all]: {', '.join(names())}")
    measuring.add_argument("--dir", type=Path, required=True, help="for data and results; what is there is kept")
    options = parser.parse_args(arguments)
    code = 0
    try:
        runs = [plan(name) for name in options.names or names()] if options.verb == "measure" else []
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    try:
        for run in runs:
            measure(run, options.dir.absolute())
    except FlatwaterError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        code = 130
    # Of the files that there are by now.
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE}")
    return code


if __name__ == "__main__":
    sys.exit(main())
