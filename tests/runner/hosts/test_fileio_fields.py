"""Each field of fileio that works on several hosts, run on two of them."""

from __future__ import annotations

from typing import Any

import pytest
import tomli_w
from benchmarks.servers.network import NetCluster
from fileiohosts import BASE, WORKS
from lab import Lab


@pytest.mark.slow
def test_each_field_on_two_hosts(lab: Lab, two_hosts: NetCluster) -> None:
    """One cluster for all: its workers start once."""
    for number, fields in enumerate(WORKS):
        content: dict[str, Any] = {layer: dict(own) for layer, own in BASE.items()} | {"load": {"hosts": 2}}
        for field, value in (
            {"storage.path": str(lab.data)} | {k: v for k, v in fields.items() if k != "storage.path"}
        ).items():
            layer, _, name = field.partition(".")
            content[layer][name] = value
        path = lab.folder / f"field-{number}.toml"
        path.write_text(tomli_w.dumps(content))
        ran = lab.run(path, "--json", "--load-on", two_hosts.address, out=lab.folder / f"field-{number}")
        assert ran.code == 0, (fields, ran.stderr)
        assert ran.cell["operations"] > 0 and len(ran.cell["load_hosts"]) == 2, fields
        for host in (0, 1):
            assert ran.cell["metrics"][f"workload.host{host}_ops_per_s"]["mean"] > 0, fields
