"""Recognises a file or a folder that flatwater made."""

from __future__ import annotations

import errno
import os
import secrets

from pydantic import BaseModel, ConfigDict

from flatwater._engine import file_witness

#: The extended attribute with the mark.
MARK = "user.flatwater.mark"

#: A file system without extended attributes, or one that was mounted without them.
_NO_ATTRIBUTES = {errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.ENOSYS}


class Witness(BaseModel):
    """Properties of a file or folder when it was made. The number of its inode alone proves nothing: it is used again.

    The mark is a random word in an extended attribute. On a file system without them, the time of birth and the handle
    (which contains the inode's generation) are used.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    inode: int
    mark: str | None = None
    #: Nanoseconds since 1970.
    born_ns: int | None = None
    handle: str | None = None

    @classmethod
    def put(cls, descriptor: int) -> Witness:
        """Marks an open file or folder as flatwater's. Errors: OSError."""
        mark: str | None = secrets.token_hex(16)
        try:
            os.setxattr(descriptor, MARK, (mark or "").encode())
        except OSError as error:
            if error.errno not in _NO_ATTRIBUTES:
                raise
            mark = None
        born_ns, handle = file_witness(descriptor)
        text = None if handle is None else handle.hex()
        return cls(inode=os.fstat(descriptor).st_ino, mark=mark, born_ns=born_ns, handle=text)

    def knows(self, descriptor: int) -> bool:
        """Whether an open file or folder is the one of this witness: at least one property agrees, and none differs."""
        if os.fstat(descriptor).st_ino != self.inode:
            return False
        born_ns, handle = file_witness(descriptor)
        agreeing = 0
        if self.mark is not None:
            try:
                if os.getxattr(descriptor, MARK) != self.mark.encode():
                    return False
                agreeing += 1
            except OSError as error:
                if error.errno not in _NO_ATTRIBUTES:
                    return False
        text = None if handle is None else handle.hex()
        for kept, now in ((self.born_ns, born_ns), (self.handle, text)):
            if kept is not None and now is not None:
                if kept != now:
                    return False
                agreeing += 1
        return agreeing > 0
