"""Loads the data of an experiment as `flatwater run` does with `database.load = true`, and does nothing else.

`python fill.py EXPERIMENT FIELD=VALUE...`; the password is in FLATWATER_PASSWORD.
"""

from __future__ import annotations

import sys

from flatwater.errors import FlatwaterError
from flatwater.experiment import load
from flatwater.runner.interrupt import watch_signals
from flatwater.runner.progress import start_reporter
from flatwater.runner.stack.database.real.dataset import load_dataset


def main(arguments: list[str]) -> int:
    """Exit codes as of `flatwater`."""
    try:
        experiment = load(arguments[0], arguments[1:], None)
        with watch_signals() as interrupt:
            load_dataset(experiment, experiment.server.login(), start_reporter(), interrupt)
    except FlatwaterError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
