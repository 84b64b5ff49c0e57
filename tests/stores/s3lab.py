"""A real server of the S3 protocol, which checks signatures (`scripts/s3-server`), and calls of the program."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from flatwater.cli import main

#: Who owns the server, and a user who may read only.
OWNER, READER = ("owner", "secret-of-the-owner"), ("reader", "secret-of-the-reader")
_ROOT = Path(__file__).parents[2]


def find_server() -> Path:
    """The server's program, which `make test-tools` has got; else the test is skipped."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    found = sorted((cache / "flatwater" / "tools").glob("versitygw-*/versitygw"))
    if not found:
        pytest.skip("there is no S3 server: scripts/s3-server gets it, and needs Go")
    return found[-1]


class S3Server:
    """The server, which may be killed and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self._program = find_server()
        self.root, self._users = folder / "root", folder / "users"
        for made in (self.root, self._users):
            made.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._has_reader = False
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [self._program, "--port", f"127.0.0.1:{self.port}", "--quiet", "--iam-dir", self._users]
        environment = os.environ | {"ROOT_ACCESS_KEY": OWNER[0], "ROOT_SECRET_KEY": OWNER[1]}
        self._process = subprocess.Popen(
            [*command, "posix", self.root], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self._answers, "the S3 server does not answer")

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, "the S3 server ended"
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def client(self) -> Any:
        """A client of its own, for what tests do there behind flatwater's back."""
        import boto3
        from botocore.config import Config

        keys = {"aws_access_key_id": OWNER[0], "aws_secret_access_key": OWNER[1]}
        settings = Config(retries={"total_max_attempts": 1})
        return boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", config=settings, **keys)

    def make_bucket(self, name: str) -> None:
        self.client().create_bucket(Bucket=name)

    def allow_reading(self, bucket: str) -> None:
        """Makes a user who may read the bucket, and nothing else. Tests of several files share both."""
        if not self._has_reader:
            access = ["--access", OWNER[0], "--secret", OWNER[1], "--endpoint-url", self.url, "--allow-insecure"]
            user = ["--access", READER[0], "--secret", READER[1], "--role", "user"]
            made = [self._program, "admin", *access, "create-user", *user]
            subprocess.run(made, check=True, capture_output=True)
            self._has_reader = True
        rules = [
            {"Effect": "Allow", "Principal": {"AWS": [READER[0]]}, "Action": [action], "Resource": [resource]}
            for action, resource in (
                ("s3:GetObject", f"arn:aws:s3:::{bucket}/*"),
                ("s3:ListBucket", f"arn:aws:s3:::{bucket}"),
            )
        ]
        self.client().put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": rules}))


@dataclass(frozen=True)
class Called:
    """What became of a call of the program."""

    code: int
    stdout: str
    stderr: str

    @property
    def error(self) -> str:
        """The one line of error."""
        (line,) = [line for line in self.stderr.splitlines() if line.startswith("error: ")]
        return line


class Bucket:
    """A bucket of the server, and a folder in which the program is called."""

    def __init__(self, server: S3Server, name: str, folder: Path) -> None:
        self.server, self.name, self.folder = server, name, folder
        server.make_bucket(name)

    def url(self, prefix: str) -> str:
        return f"s3://{self.name}/{prefix}"

    def names(self) -> set[str]:
        found = self.server.client().list_objects_v2(Bucket=self.name).get("Contents", [])
        return {one["Key"] for one in found}

    def put(self, key: str, body: bytes) -> None:
        self.server.client().put_object(Bucket=self.name, Key=key, Body=body)

    def get(self, key: str) -> bytes:
        found: bytes = self.server.client().get_object(Bucket=self.name, Key=key)["Body"].read()
        return found

    def call(self, *arguments: str | Path) -> Called:
        """Calls the program in the folder."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, chdir(self.folder), redirect_stdout(out), redirect_stderr(err):
            patch.setattr("sys.argv", ["flatwater", *map(str, arguments)])
            try:
                main()
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0
        told = Called(code, out.getvalue(), err.getvalue())
        assert "Traceback" not in told.stderr, told.stderr
        assert OWNER[1] not in told.stdout + told.stderr and READER[1] not in told.stdout + told.stderr
        return told
