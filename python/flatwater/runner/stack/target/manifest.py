"""The manifest: the files that flatwater made for a workload, and their content."""

from __future__ import annotations

import errno
import os
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from flatwater.errors import UserError
from flatwater.owned import Witness


class PreparedFile(BaseModel):
    """A file of a workload, with its witness, which identifies it."""

    # A file of an older flatwater has no witness: it does not count as flatwater's.
    model_config = ConfigDict(extra="ignore")
    name: str
    witness: Witness | None = None
    #: The file existed before, and the user allowed to overwrite it. It is used, and never deleted.
    adopted: bool = False
    #: Time of flatwater's last write, ns since 1970; None while a run may write to it.
    settled_ns: int | None = None


class Prepared(BaseModel):
    """The manifest: the prepared files, and how far they were written."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["flatwater-prepared"] = "flatwater-prepared"
    set_id: int
    files: list[PreparedFile]
    file_bytes: int
    #: Bytes written without a gap, over all files in their order.
    done_bytes: int = 0
    #: The boot in which they were written. Before a sync, the data are only in that boot's page cache.
    boot_id: str
    complete: bool = False
    compressible_pct: float
    #: Size of the blocks with verification headers; 0 for none.
    stamp_bytes: int = 0
    #: Verified runs on these files so far. Each uses larger generations than the runs before it.
    runs: int = 0

    def entry(self, name: str) -> PreparedFile | None:
        """The entry of a file."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, PreparedFile]:
        # Each of thousands of files is looked up several times. If a name is there twice, the first entry counts.
        return {known.name: known for known in reversed(self.files)}


def read_manifest(path: Path) -> Prepared | None:
    """The manifest, if there is one. Errors: UserError for a file that flatwater did not write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as handle:
            return Prepared.model_validate_json(handle.read())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        what = "is a link" if getattr(error, "errno", None) == errno.ELOOP else "is damaged"
        raise UserError(
            f"{path} {what}, so it is not known which files flatwater made",
            where="storage.path",
            hint=f"delete {path} and the files that it stands for",
        ) from None
