"""Amazon's S3, and the many servers that speak its protocol, through boto3.

boto3 is Amazon's own library: it takes credentials and endpoint from wherever every other S3 tool takes them. It is
imported by whoever opens an address only.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from flatwater.errors import UserError
from flatwater.stores.address import Address
from flatwater.stores.s3_errors import MISSING, NOT_SUPPORTED, SERVER, TAKEN, code_of, explained
from flatwater.stores.store import Found, Mark, Missing, StoreGone, Taken

#: A store that is away must not hold up a run: how long one try waits, and how often it is tried.
CONNECT_S, READ_S, TRIES = 5, 30, 3
#: Larger files go in parts of this size. A part that fails is sent again, and not the whole file; 10,000 are the most.
PART_BYTES = 64 << 20
PIECE_BYTES = 1 << 20
_RUN, _SHA256 = "flatwater-run", "flatwater-sha256"

T = TypeVar("T")


def open_s3(address: Address) -> S3:
    """The bucket of an address, with the login that the environment has. Errors: UserError."""
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError:
        hint = "pip install 'flatwater[s3]'"
        raise UserError("boto3 is not installed, which reads and writes it", where=str(address), hint=hint) from None
    # Checksums in trailers are what older servers of others cannot read. Each body has its MD5 instead.
    settings = Config(
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        retries={"mode": "standard", "total_max_attempts": TRIES},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    try:
        session = boto3.session.Session()
        # S3 itself takes any region to begin with, and other servers have none.
        region = session.region_name or "us-east-1"
        client = session.client("s3", config=settings, region_name=region)
    except (BotoCoreError, ValueError) as error:  # a profile that does not exist, an endpoint that is no URL
        raise UserError(f"cannot use S3: {_told(error)}", where=str(address)) from None
    return S3(client, address)


def _told(error: Exception) -> str:
    """An error of the library in one line."""
    return " ".join(str(error).split())[:300]


class S3:
    """A bucket (`Store`)."""

    def __init__(self, client: Any, address: Address) -> None:
        self._client = client
        self._bucket = address.bucket
        self._where = str(address)
        #: Whether the server keeps to conditions of a PUT; None: nobody has tried.
        self._conditional: bool | None = None

    def head(self, key: str) -> Found | None:
        """See `Store`."""

        def ask() -> Found:
            told = self._client.head_object(Bucket=self._bucket, Key=key)
            words = told.get("Metadata", {})
            mark = Mark(words[_RUN], words.get(_SHA256, "")) if _RUN in words else None
            return Found(int(told["ContentLength"]), told["ETag"], mark)

        return self._ask_unless(ask, MISSING)

    def read(self, key: str, bytes_max: int) -> tuple[bytes, str] | None:
        """See `Store`."""

        def get() -> tuple[bytes, str]:
            told = self._client.get_object(Bucket=self._bucket, Key=key)
            with told["Body"] as body:
                found = body.read(bytes_max + 1)
            if len(found) > bytes_max:
                raise UserError(f"larger than {bytes_max >> 20} MiB", where=f"{self._where}: {key}")
            return found, told["ETag"]

        return self._ask_unless(get, MISSING)

    def pieces(self, key: str) -> Iterator[bytes]:
        """See `Store`."""
        told = self._ask_unless(lambda: self._client.get_object(Bucket=self._bucket, Key=key), MISSING)
        if told is None:
            raise Missing(key)
        with told["Body"] as body:
            while piece := self._ask(lambda: body.read(PIECE_BYTES)):
                yield piece

    def names(self, prefix: str, most: int) -> list[tuple[str, int]]:
        """See `Store`."""
        return self._listed(prefix, most, lambda one: (one["Key"], int(one["Size"])))

    def etags(self, prefix: str, most: int) -> dict[str, str]:
        """See `Store`."""
        return dict(self._listed(prefix, most, lambda one: (one["Key"], str(one["ETag"]))))

    def _listed(self, prefix: str, most: int, told: Callable[[Any], T]) -> list[T]:
        """What is told of each object."""

        def listed() -> list[T]:
            found: list[T] = []
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket, Prefix=prefix, PaginationConfig={"MaxItems": most}):
                found += map(told, page.get("Contents", ()))
            return found

        return self._ask(listed)

    def put(self, key: str, body: Path | bytes, mark: Mark, etag: str | None) -> str:
        """See `Store`."""
        if self._conditional is False:
            self._look(key, etag)
        words = {_RUN: mark.run, _SHA256: mark.sha256}
        condition = {} if self._conditional is False else {"IfNoneMatch": "*"} if etag is None else {"IfMatch": etag}
        size = len(body) if isinstance(body, bytes) else body.stat().st_size
        send = self._put_whole if size <= PART_BYTES else self._put_parts

        def put() -> str:
            return send(key, body, words, condition)

        if self._conditional is not None:
            return self._ask(put)
        try:
            made = self._ask_unless(put, NOT_SUPPORTED)
        except Taken:
            self._conditional = True
            raise
        if made is None:
            self._conditional = False
            return self.put(key, body, mark, etag)
        self._conditional = self._keeps_to_conditions(key, body, words)
        return made

    def delete(self, key: str) -> None:
        """See `Store`."""
        self._ask(lambda: self._client.delete_object(Bucket=self._bucket, Key=key))

    def _keeps_to_conditions(self, key: str, body: Path | bytes, words: dict[str, str]) -> bool:
        """Whether the server refuses to make the object that was just made. There are some that pass a condition over:
        those are asked before each PUT instead. If it does not refuse, the same bytes are there again.
        """
        if not isinstance(body, bytes):
            return False
        try:
            self._ask_unless(lambda: self._put_whole(key, body, words, {"IfNoneMatch": "*"}), NOT_SUPPORTED)
        except Taken:
            return True
        return False

    def _look(self, key: str, etag: str | None) -> None:
        """What a condition does, for a server without them. Errors: Taken."""
        found = self.head(key)
        if (found.etag if found is not None else None) != etag:
            raise Taken(key)

    def _put_whole(self, key: str, body: Path | bytes, words: dict[str, str], condition: dict[str, str]) -> str:
        content = body if isinstance(body, bytes) else body.read_bytes()
        told = self._client.put_object(
            Bucket=self._bucket, Key=key, Body=content, ContentMD5=_md5(content), Metadata=words, **condition
        )
        return str(told["ETag"])

    def _put_parts(self, key: str, body: Path | bytes, words: dict[str, str], condition: dict[str, str]) -> str:
        """A large file. Nobody sees it before its last part is there; what fails leaves no parts to be paid for."""
        assert isinstance(body, Path)
        upload = self._client.create_multipart_upload(Bucket=self._bucket, Key=key, Metadata=words)["UploadId"]
        place = {"Bucket": self._bucket, "Key": key, "UploadId": upload}
        try:
            parts: list[dict[str, object]] = []
            with body.open("rb") as handle:
                while content := handle.read(max(PART_BYTES, -(-os.fstat(handle.fileno()).st_size // 10_000))):
                    number = len(parts) + 1
                    told = self._client.upload_part(**place, PartNumber=number, Body=content, ContentMD5=_md5(content))
                    parts.append({"PartNumber": number, "ETag": told["ETag"]})
            done = self._client.complete_multipart_upload(**place, MultipartUpload={"Parts": parts}, **condition)
        except BaseException:  # Ctrl-C, too
            with suppress(Exception):  # the store is away: it has a rule for parts that are left
                self._client.abort_multipart_upload(**place)
            raise
        return str(done["ETag"])

    def _ask(self, question: Callable[[], T]) -> T:
        """The answer to a question. Errors: UserError, StoreGone, Taken."""
        answer = self._ask_unless(question, frozenset())
        assert answer is not None
        return answer

    def _ask_unless(self, question: Callable[[], T], codes: frozenset[str]) -> T | None:
        """The answer to a question; None for an error of one of these codes. Errors: UserError, StoreGone, Taken."""
        from botocore.exceptions import BotoCoreError, ClientError
        from urllib3.exceptions import HTTPError

        try:
            return question()
        except ClientError as error:
            code = code_of(error)
            if code in codes:
                return None
            if code in TAKEN:
                raise Taken(self._where) from None
            raise explained(error, self._where, self._bucket) from None
        except (BotoCoreError, HTTPError) as error:
            raise explained(error, self._where, self._bucket) from None
        except KeyError as error:
            # The library checks no answer for what each has.
            what = f"the server answers without {error.args[0]}, and so not as S3 does"
            raise StoreGone(what, where=self._where, hint=SERVER) from None


def _md5(content: bytes) -> str:
    """What the server compares the body with."""
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()
