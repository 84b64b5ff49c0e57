"""The address of a result in an object store: `s3://BUCKET/PREFIX`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import UserError
from flatwater.stores.names import is_plain

#: Scheme -> what its addresses look like. `registry.py` has what opens each.
EXAMPLES = {"s3": "s3://bucket/results/monday"}
#: `Path("s3://bucket/x")` is `s3:/bucket/x`: the command line takes paths.
_URL = re.compile(rf"(?P<scheme>{'|'.join(EXAMPLES)}):/+(?P<bucket>[^/]*)/*(?P<prefix>.*)", re.DOTALL | re.IGNORECASE)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")


@dataclass(frozen=True)
class Address:
    """A bucket and the beginning of the names of some objects in it, without a slash at its end."""

    scheme: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.prefix}".rstrip("/")

    def key(self, name: str) -> str:
        """The whole name of an object below the prefix."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def below(self, name: str) -> Address:
        """The address of a folder below this one."""
        return Address(self.scheme, self.bucket, self.key(name))


def is_address(written: Path | str) -> bool:
    """Whether a text, or the path that it became, is the address of a store."""
    return _URL.fullmatch(str(written)) is not None


def parse_address(written: Path | str, *, to_write: bool = False) -> Address:
    """An address as the user wrote it. Errors: UserError, which never repeats a password."""
    match = _URL.fullmatch(str(written))
    example = EXAMPLES["s3"]
    if match is None:
        raise UserError("is no address of a store", where=str(written), hint=example)
    if "@" in match["bucket"] or ":" in match["bucket"]:
        hint = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile, have them; AWS_ENDPOINT_URL has the server"
        raise UserError("an address has no login and no port in it", where=f"{match['scheme']}://", hint=hint)
    bucket, prefix = match["bucket"], match["prefix"].rstrip("/")
    if _BUCKET.fullmatch(bucket) is None:
        raise UserError(f"{bucket!r} is no name of a bucket", where=f"{match['scheme']}://", hint=example)
    if prefix and not is_plain(prefix):
        what = "a name in it is empty, `.`, `..`, too long or not one line of text"
        raise UserError(what, where=f"{match['scheme']}://{bucket}", hint=example)
    if to_write and not prefix:
        what = "a result needs a name in the bucket"
        raise UserError(what, where=f"{match['scheme']}://{bucket}", hint=example)
    return Address(match["scheme"].lower(), bucket, prefix)
