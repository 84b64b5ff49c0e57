"""What every modelled experiment of the library records, and every IO of the cache's crash worlds, as one line each.

A change that is to change no behaviour leaves every line as it was:

    .venv/bin/python scripts/digests.py > before
    .venv/bin/python scripts/digests.py > after; diff before after

Both must be taken with the same versions of Arrow and of Rust's libraries.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow
import pyarrow.parquet

from flatwater.experiment import library

FLATWATER = Path(sys.executable).with_name("flatwater")


def modelled_experiments() -> list[str]:
    """The names of what runs in virtual time from end to end."""
    layers = {entry.name: entry.layers for entry in library()}
    return [name for name, its in layers.items() if its["storage"] == "modelled" and its["workload"] != "real"]


def digest_of_run(name: str, duration_s: float) -> str:
    """The digest of both tables of the run, row by row as they were written."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "result"
        length = ["--set", f"workload.duration_s={duration_s}", "--set", f"workload.warmup_s={duration_s / 2}"]
        command = [str(FLATWATER), "run", name, *length, "--out", str(out), "--json"]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f"error: {name}: {ran.stderr}")
        total = hashlib.sha256()
        for table in ("series", "histograms"):
            for batch in pyarrow.parquet.read_table(out / f"{table}.parquet").combine_chunks().to_batches():
                total.update(batch.schema.serialize())
                total.update(batch.serialize())
        return total.hexdigest()[:16]


def digests_of_worlds(cuts: int) -> list[str]:
    """The lines that the crash worlds of the cache print."""
    command = ["cargo", "test", "--locked", "--release", "-p", "flatwater-core", "--test", "cache_crash", "--"]
    command += ["--nocapture", "--test-threads=1", "durable", "failing"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"FLATWATER_CUTS": str(cuts)})
    # The first stands behind the name of its test.
    lines = [line[line.index("digest ") :] for line in ran.stdout.splitlines() if "digest " in line]
    if ran.returncode or not lines:
        sys.exit("error: the crash worlds failed: run `cargo test -p flatwater-core --test cache_crash`")
    return lines


def main() -> None:
    """Prints a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration-s", type=float, default=20.0, help="measured seconds of each cell (default: 20)")
    parser.add_argument("--cuts", type=int, default=100_000, help="power cuts of the cache's worlds; 0 leaves them out")
    parser.add_argument("name", nargs="*", help="only these experiments (default: all)")
    options = parser.parse_args()
    for name in options.name or modelled_experiments():
        print(name, digest_of_run(name, options.duration_s), flush=True)
    if options.cuts:
        print("\n".join(digests_of_worlds(options.cuts)))


if __name__ == "__main__":
    main()
