"""The rules, one file each. To add one, write `NAME.py` with a class, list it here, and write its test in both
directions: a run for which it speaks, and one for which it is silent.
"""

from flatwater.advise.rule import Rule
from flatwater.advise.rules.buffer_pool import BufferPool
from flatwater.advise.rules.commit_durability import CommitDurability
from flatwater.advise.rules.dirty_limit import DirtyLimit
from flatwater.advise.rules.dirty_low_water import DirtyLowWater
from flatwater.advise.rules.doublewrite import Doublewrite
from flatwater.advise.rules.flush_neighbours import FlushNeighbours
from flatwater.advise.rules.io_capacity_high import IoCapacityHigh
from flatwater.advise.rules.io_capacity_low import IoCapacityLow
from flatwater.advise.rules.log_block import LogBlock
from flatwater.advise.rules.redo_large import RedoLarge
from flatwater.advise.rules.redo_size import RedoSize

#: Every rule. Where two pieces of advice are worth the same, the earlier rule's comes first.
RULES: tuple[Rule, ...] = (
    RedoSize(),
    BufferPool(),
    CommitDurability(),
    IoCapacityLow(),
    IoCapacityHigh(),
    FlushNeighbours(),
    DirtyLimit(),
    DirtyLowWater(),
    Doublewrite(),
    LogBlock(),
    RedoLarge(),
)
