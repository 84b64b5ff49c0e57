"""The lines before and behind sysbench's reports: its heading, as fields of an experiment, and its totals."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flatwater.results.schema import FieldValues

#: What is told by name, as its line matched.
Heading = Mapping[str, re.Match[str]]

#: Bounded, because a damaged file may contain a number of any length.
NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,9})?)"
#: Names of the totals of a line -> its pattern, with a group for each. sysbench indents these lines; a program that
#: writes times may take the blanks away.
TOTALS = {
    ("reads_per_s",): re.compile(rf"\s*reads/s:\s+{NUMBER}\s*$"),
    ("writes_per_s",): re.compile(rf"\s*writes/s:\s+{NUMBER}\s*$"),
    ("fsyncs_per_s",): re.compile(rf"\s*(?:fsyncs/s:\s+|fsync:\s+IOPS=){NUMBER}\s*$"),
    ("read_mib_per_s",): re.compile(rf"\s*read, MiB/s:\s+{NUMBER}\s*$"),
    ("written_mib_per_s",): re.compile(rf"\s*written, MiB/s:\s+{NUMBER}\s*$"),
    # fileio of version 1.1 has two of them in a line.
    ("reads_per_s", "read_mib_per_s"): re.compile(rf"\s*read:\s+IOPS={NUMBER} {NUMBER} MiB/s"),
    ("writes_per_s", "written_mib_per_s"): re.compile(rf"\s*write:\s+IOPS={NUMBER} {NUMBER} MiB/s"),
    ("requests_per_s",): re.compile(rf"\s*{NUMBER} Requests/sec executed"),
    ("transactions_per_s",): re.compile(rf"\s*transactions:\s+\d+\s+\({NUMBER} per sec"),
    ("errors",): re.compile(r"\s*ignored errors:\s+(\d{1,15})"),
    ("events",): re.compile(r"\s*total number of events:\s+(\d{1,15})\s*$"),
    ("events_per_s",): re.compile(rf"\s*(?:events per second|events/s \(eps\)):\s+{NUMBER}\s*$"),
    ("total_time_s",): re.compile(rf"\s*(?:total time|time elapsed):\s+{NUMBER}s"),
    ("latency_avg_ms",): re.compile(rf"\s*avg:\s+{NUMBER}(?:ms)?\s*$"),
    ("latency_max_ms",): re.compile(rf"\s*max:\s+{NUMBER}(?:ms)?\s*$"),
    ("latency_p95_ms",): re.compile(rf"\s*(?:approx\.\s+95 percentile|95th percentile):\s+{NUMBER}(?:ms)?\s*$"),
    ("latency_p99_ms",): re.compile(rf"\s*(?:approx\.\s+99 percentile|99th percentile):\s+{NUMBER}(?:ms)?\s*$"),
}  # fmt: skip
HEADING = {
    "threads": re.compile(r"Number of threads: (\d{1,9})"),
    "interval": re.compile(r"Report intermediate results every (\d{1,9}) second"),
    "block": re.compile(r"Block size (\d{1,9}(?:\.\d{1,9})?)\s*([KMG]?)i?[bB]?"),
    "files": re.compile(r"(\d{1,9}) files, "),
    "size": re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([KMGT]?)(?:i?[Bb])? total file size"),
    "mode": re.compile(r"Doing (.+) test"),
}
MODES = {
    "sequential read": "seqrd",
    "sequential write (creation)": "seqwr",
    "sequential rewrite": "seqrewr",
    "random read": "rndrd",
    "random write": "rndwr",
    "random r/w": "rndrw",
}


def threads_of(heading: Heading) -> int | None:
    """The number of threads, if it is told."""
    match = heading.get("threads")
    return int(match[1]) if match else None


def block_bytes(heading: Heading) -> float | None:
    """The size of a block of fileio, if it is told."""
    match = heading.get("block")
    return float(match[1]) * 1024.0 ** " KMG".index(match[2] or " ") if match else None


def settings(heading: Heading, *, fileio: bool, closed_loop: bool) -> FieldValues:
    """The fields of an experiment that are told. `closed_loop`: there are reports, and none of a queue."""
    fields: FieldValues = {"workload.kind": "fileio" if fileio else "oltp"}
    threads = threads_of(heading)
    if threads is not None:
        fields["workload.threads" if fileio else "workload.connections"] = threads
    if closed_loop:
        # With a rate, every report has the queue.
        fields["workload.rate_per_s"] = 0.0
    if not fileio:
        fields["workload.pipeline"] = False
    if block := heading.get("block"):
        fields["workload.block_size"] = f"{block[1]}{block[2]}iB" if block[2] else f"{block[1]}B"
    if files := heading.get("files"):
        fields["workload.files"] = int(files[1])
    if (size := heading.get("size")) and "." not in size[1]:
        # All sizes of sysbench are binary, and the whole size is used.
        fields |= {"storage.size": f"{size[1]}{size[2]}iB" if size[2] else f"{size[1]}B", "storage.fill": 1.0}
    if fileio:
        fields["storage.kind"] = "file"
    if (mode := heading.get("mode")) and mode[1] in MODES:
        fields["workload.mode"] = MODES[mode[1]]
    return fields
