"""HammerDB's transaction counter (hdbtcount.log: transactions a minute), and lines of NOPM that scripts print.

The counter counts commits and rollbacks of the whole server, as a rate a minute. A sample of NOPM is a line with
`NOPM_SAMPLE`, seconds since 1970 and New-Orders a minute: that is how scripts log what the counter does not count.
"""

from __future__ import annotations

import re
from pathlib import Path

from flatwater.printing import counted
from flatwater.results.importers.samplers.sampler import (
    Broken,
    Clock,
    Recording,
    Sample,
    clean_lines,
    in_order,
)
from flatwater.results.importers.samplers.stamps import read_stamp

NAME = "hammerdb-counter"
_NOPM = re.compile(r"NOPM_SAMPLE:?[,\s]*(\d{10}(?:\.\d{1,20})?)([,\s]+)([^\s,;]{1,40})(,\d{3}(?!\d)[\d,]{0,12})?")
_TPM = re.compile(r"(\d[\d,]{0,15}) [A-Za-z0-9_ ]{1,30}? tpm(?: @ (.{1,60}))?")


def recognises(path: Path, head: str) -> bool:
    """Whether a line is a sample of one of both kinds, and the log is not that of the whole run."""
    del path
    if "Vuser 1:" in head and "NOPM_SAMPLE" not in head:
        return False
    return any(_NOPM.search(line) or _TPM.fullmatch(line.strip()) for line in head.splitlines())


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    nopm: list[Sample] = []
    tpm: list[Sample] = []
    clocks: list[Clock] = []
    broken = Broken()
    for number, line in clean_lines(path):
        if match := _NOPM.search(line):
            # Between columns, a comma may divide the thousands of one figure, or two figures.
            text = match[3] + (match[4] or "")
            if ("," in text and "," in match[2]) or (value := broken.whole(text)) is None:
                broken.add_value(number, text)
            else:
                nopm.append(Sample(float(match[1]), {"workload.throughput": value}, number))
        elif match := _TPM.fullmatch(line.strip()):
            if (value := broken.whole(match[1])) is None:
                broken.add_value(number, match[1])
                continue
            stamp = read_stamp(match[2]) if match[2] else None
            clocks.append(stamp[1] if stamp is not None else "none")
            at_s = stamp[0] if stamp is not None else float(len(tpm) + 1)
            tpm.append(Sample(at_s, {"workload.throughput": value}, number))
    notes = broken.notes()
    if nopm:
        return Recording(NAME, "epoch", in_order(nopm, notes), None, unit="NOPM", notes=notes)
    if not tpm:
        raise broken.nothing(path, "no samples of the transaction counter")
    clock: Clock = next((one for one in clocks if one != "none"), "none")
    whole = [sample for sample, one in zip(tpm, clocks, strict=True) if one == clock]
    if len(whole) < len(tpm):
        notes.append(f"{counted(len(tpm) - len(whole), 'sample')} without a time left out")
    return Recording(NAME, clock, in_order(whole, notes), None, unit="tpm", notes=notes)
