"""What a run can be made of."""

from __future__ import annotations

from flatwater.plan.fileio import ModelledFileio, RealFileio
from flatwater.plan.innodb import ModelledDatabase
from flatwater.plan.server import RealDatabase

#: A workload under way, of any sort.
Plan = RealFileio | RealDatabase | ModelledFileio | ModelledDatabase
