"""`flatwater copy`, and verbs that take no address of a store. With a server: tests/stores."""

from __future__ import annotations

import pytest
from lab import Lab


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("copy", "a", "b"), "cp -r a b"),
        (("copy", "s3://bucket/a", "s3://bucket/b"), "between this machine and a store"),
        (("copy", "a", "s3://bucket/b"), "not a flatwater result"),
        (("copy", "nowhere", "s3://bucket/b"), "no such folder"),
        (("import", "x", "--out", "s3://bucket/a"), "takes a path of this machine"),
        (("run", "x.toml", "--out", "s3://bucket"), "no such file"),
        (("run", "quick", "--out", "s3://k:pw@bucket/x"), "no login"),
    ],
)
def test_what_is_not_done_says_what_to_do(lab: Lab, arguments: tuple[str, ...], told: str) -> None:
    (lab.folder / "a").mkdir()
    refused = lab.flatwater(*arguments)
    assert refused.code == 2 and told in refused.error
