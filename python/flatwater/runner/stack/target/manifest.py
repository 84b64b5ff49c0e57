"""What flatwater prepared for a workload, and which files it made for that."""

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
    """A file of a workload, with what tells it from another one of its name."""

    # A file of an older flatwater has no witness: it is not known to be ours.
    model_config = ConfigDict(extra="ignore")
    name: str
    witness: Witness | None = None
    #: It was there, and its user said that its content is not needed: it is used, and never deleted.
    adopted: bool = False
    #: When it was written last, as flatwater left it, ns since 1970; absent while a run may write to it.
    settled_ns: int | None = None


class Prepared(BaseModel):
    """The manifest: what was prepared, and how far."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["flatwater-prepared"] = "flatwater-prepared"
    set_id: int
    files: list[PreparedFile]
    file_bytes: int
    #: Bytes written without a gap, over all files in order.
    done_bytes: int = 0
    #: The boot in which they were written: before a sync, only that boot's page cache vouches for them.
    boot_id: str
    complete: bool = False
    compressible_pct: float
    #: Size of the blocks that carry verification headers; 0 for none.
    stamp_bytes: int = 0
    #: Verified runs on these files so far: each writes generations above those of the one before.
    runs: int = 0

    def entry(self, name: str) -> PreparedFile | None:
        """What is known of a file."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, PreparedFile]:
        # Each of thousands of files is asked for several times. Of a name that is there twice, the first counts.
        return {known.name: known for known in reversed(self.files)}


def read_manifest(path: Path) -> Prepared | None:
    """The manifest, if there is one. Errors: UserError for one that flatwater did not write."""
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
