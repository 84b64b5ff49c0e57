"""fio's options as fields of an experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import JsonValue

from flatwater.results.schema import FieldValues

#: fio's names of options and values -> those of an experiment.
MODES = {
    "read": "seqrd", "write": "seqwr", "rw": "seqrw", "readwrite": "seqrw",
    "randread": "rndrd", "randwrite": "rndwr", "randrw": "rndrw",
}  # fmt: skip
OPTIONS = {
    "bs": "workload.block_size",
    "blocksize": "workload.block_size",
    "iodepth": "workload.queue_depth",
    "numjobs": "workload.threads",
    "ioengine": "workload.engine",
    "direct": "workload.direct",
    "rate_iops": "workload.rate_per_s",
    "filename": "storage.path",
    "size": "storage.size",
    "filesize": "storage.size",
}


def settings(options: Mapping[str, JsonValue]) -> FieldValues:
    """The options of a job as fields of an experiment, without options that have no such field."""
    found: FieldValues = {"workload.kind": "fileio", "storage.kind": "file"}
    for name, value in options.items():
        text = str(value).strip()
        if name in ("rw", "readwrite"):
            mode = MODES.get(text.split(":")[0])
            if mode:
                found["workload.mode"] = mode
        elif name in OPTIONS:
            found[OPTIONS[name]] = _value(OPTIONS[name], text)
    if "storage.size" in found:
        found["storage.fill"] = 1.0
    return found


def _value(name: str, text: str) -> JsonValue:
    if name in ("workload.block_size", "storage.size") and (
        match := re.fullmatch(r"(\d+)([kmgt])(?:i?b)?", text.lower())
    ):
        return f"{match[1]}{match[2].upper()}iB"
    if name == "workload.direct":
        return text != "0"
    return int(text) if text.isdecimal() and len(text) < 19 else text
