from __future__ import annotations

import pytest

from flatwater.experiment.workload import KINDS
from flatwater.experiment.workload.transactions import Transactions


@pytest.mark.parametrize("kind", ["oltp", "tpcc"])
def test_what_workloads_on_servers_share(kind: str) -> None:
    assert issubclass(KINDS[kind], Transactions)
    assert KINDS[kind].model_fields["connections"].default == 8
    assert KINDS[kind].model_fields["reconnect_every"].default == 0, "sysbench's --reconnect"
    assert KINDS[kind].SCHEMA
