"""Files and block devices of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import Table
from flatwater.experiment.units import Seconds, Size


def _path(value: Any) -> Any:
    # A shell leaves the ~ of `--set storage.path=~/x` alone, and a file has no shell.
    if isinstance(value, str) and (value == "~" or value.startswith("~/")):
        return str(Path(value).expanduser())
    return value


#: A place of this machine, `~` and all.
LocalPath = Annotated[str, BeforeValidator(_path), Field(min_length=1)]


class Fault(Table):
    """A fault that is injected on purpose, to see what the layers above make of it."""

    kind: Literal["error", "full", "stall", "lost-write", "misplaced-write", "corrupt-read"]
    #: Requests that go well before the fault.
    after_ops: int = Field(default=0, ge=0)
    #: How long a stall lasts; 0 = to the end.
    duration_s: Seconds = 0.0


class FileStorage(Layer):
    """Files in a directory, one file, or a block device of this machine."""

    LAYER: ClassVar[str] = "storage"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "real"

    kind: Literal["file"] = "file"
    #: Directory, file or block device. May be absent in a template; running needs it.
    path: LocalPath | None = None
    #: Bytes of all files together; a block device's own size if absent.
    size: Size | None = None
    #: Share of the size that the workload uses.
    fill: float = Field(default=1.0, gt=0, le=1)
    #: Allow writing to a block device, or to a file that flatwater did not create.
    overwrite: bool = False
    #: Discard the used range first, and nothing beyond it: what the workload uses is then freshly formatted, the rest
    #: of the device is as it was.
    purge: bool = False
    #: Keep the prepared files after the run.
    keep: bool = True
    fault: Fault | None = None

    @property
    def used_bytes(self) -> int | None:
        """Bytes that a workload uses; None where only the block device knows its size."""
        return None if self.size is None else int(self.size * self.fill)
