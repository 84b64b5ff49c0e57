"""Calls the program with outputs of every kind. A new process for each would take half a second: this one forks.

As a program it reads a call a line, as JSON, and writes what became of it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

#: What an output may be. `broken`: a pipe whose reader is gone.
OUTPUTS = ("kept", "full", "closed", "broken")
#: Longer than any call here; what takes longer hangs.
PATIENCE_S = 60


@dataclass(frozen=True)
class Called:
    """What became of a call."""

    code: int
    stdout: str
    stderr: str


class Caller:
    """A process that calls the program."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Caller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def call(
        self, arguments: list[str], folder: Path, *, stdout: str = "kept", stderr: str = "kept", columns: int = 80
    ) -> Called:
        """Calls the program in a folder."""
        assert self._process.stdin is not None and self._process.stdout is not None
        call = {"arguments": arguments, "folder": str(folder), "outputs": [stdout, stderr], "columns": columns}
        print(json.dumps(call), file=self._process.stdin, flush=True)
        return Called(**json.loads(self._process.stdout.readline()))


def _serve() -> None:
    import flatwater
    from flatwater import cli

    cli.make_app()
    # What a verb imports is imported once, and not in each child.
    for module in pkgutil.walk_packages(flatwater.__path__, "flatwater."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        call = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                _become(call, [out.fileno(), err.fileno()])
                cli.main()
            _, status = os.waitpid(child, 0)
            kept = []
            for file in (out, err):
                file.seek(0)
                kept.append(file.read().decode(errors="surrogateescape"))
        print(json.dumps(asdict(Called(os.waitstatus_to_exitcode(status), *kept))), flush=True)


def _become(call: dict[str, object], kept: list[int]) -> None:
    """In the child: its outputs are those of the call, as Python would find them when it starts."""
    import signal

    signal.alarm(PATIENCE_S)
    os.chdir(str(call["folder"]))
    os.environ["COLUMNS"] = str(call["columns"])
    sys.argv = ["flatwater", *call["arguments"]]  # type: ignore[misc]
    for descriptor, kind, file in zip((1, 2), call["outputs"], kept, strict=True):  # type: ignore[call-overload]
        stream = None
        if kind == "closed":
            os.close(descriptor)
        else:
            os.dup2({"kept": lambda file=file: file, "full": _full, "broken": _broken}[kind](), descriptor)
            stream = os.fdopen(descriptor, "w", buffering=1 if descriptor == 2 else -1, closefd=False)
        name = {1: "stdout", 2: "stderr"}[descriptor]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _full() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def _broken() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


if __name__ == "__main__":
    _serve()
