"""Wrong arguments of `flatwater tune-up`, and an experiment in place of a server."""

from __future__ import annotations

import pytest
from lab import Lab

MODELLED = """
title = "Reads"
[workload]
kind = "fileio"
mode = "rndrd"
threads = 4
duration_s = 60
[storage]
kind = "ssd"
device = "intel-520"
capacity_scale = 0.01
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("mysql://root@127.0.0.1:1",), "cannot connect"),
        (("nothing.toml",), "nothing.toml"),
        (("mysql://root@127.0.0.1:1", "--for", "-3s"), "--for"),
    ],
)
def test_wrong_arguments(lab: Lab, arguments: tuple[str, ...], told: str) -> None:
    ran = lab.flatwater("tune-up", *arguments)
    assert ran.code == 2 and told in ran.error


def test_an_experiment_instead(lab: Lab) -> None:
    (lab.folder / "reads.toml").write_text(MODELLED)
    ran = lab.flatwater("tune-up", "reads.toml", "--out", "tuned", "--no-predict")
    assert ran.code == 0 and "Advice for" in ran.stdout
    assert (lab.folder / "tuned" / "one-page.html").exists()
