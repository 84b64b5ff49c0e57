"""The plans that a run can be started from."""

from __future__ import annotations

from flatwater.plan.fileio import ModelledFileio, RealFileio
from flatwater.plan.innodb import ModelledDatabase
from flatwater.plan.server import RealDatabase

#: The plan of a workload, of any kind.
Plan = RealFileio | RealDatabase | ModelledFileio | ModelledDatabase
