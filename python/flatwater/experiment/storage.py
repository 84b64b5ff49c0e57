"""The storage layer: where the bytes go. One class a kind, met in KINDS."""

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
    path: Annotated[str, BeforeValidator(_path), Field(min_length=1)] | None = None
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


#: Every kind of storage that works.
KINDS: dict[str, type[Layer]] = {"file": FileStorage}
#: Kinds of the design that are not built yet.
PLANNED = ("ssd", "hdd", "raid", "memory")
