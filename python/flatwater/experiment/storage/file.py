"""Files and block devices of this machine."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from flatwater.experiment.layer import Layer
from flatwater.experiment.parse import expanded
from flatwater.experiment.problem import Table
from flatwater.experiment.units import Seconds, Size


def local_path(value: Any) -> Any:
    """The path as it is used; what is no text stays."""
    # In `--set storage.path=~/x` the shell does not expand the ~, and a file has no shell.
    if isinstance(value, str) and (value == "~" or value.startswith("~/")):
        return str(expanded(value))
    return value


#: A path on this machine. A leading `~` is expanded.
LocalPath = Annotated[str, BeforeValidator(local_path), Field(min_length=1)]


class Fault(Table):
    """A fault that is injected on purpose, to see the reaction of the layers above."""

    kind: Literal["error", "full", "stall", "lost-write", "misplaced-write", "corrupt-read"]
    #: Requests without a fault before it.
    after_ops: int = Field(default=0, ge=0)
    #: Duration of a stall; 0 = until the end.
    duration_s: Seconds = 0.0


class FileStorage(Layer):
    """Files in a directory, one file, or a block device of this machine."""

    LAYER: ClassVar[str] = "storage"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "real"

    kind: Literal["file"] = "file"
    #: Directory, file or block device. A template may leave it out; a run needs it.
    path: LocalPath | None = None
    #: Bytes of all files together. Default: the size of the block device.
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
        """Bytes that a workload uses; None for a block device whose size the experiment does not give."""
        return None if self.size is None else int(self.size * self.fill)
