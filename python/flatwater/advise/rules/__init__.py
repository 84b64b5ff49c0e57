"""The rules, one file each. To add one, write `NAME.py` with a class, list it here, and write its test in both
directions: a run for which it speaks, and one for which it is silent.
"""

from flatwater.advise.rule import Rule
from flatwater.advise.rules.adaptive_hash import AdaptiveHash
from flatwater.advise.rules.alignment import Alignment
from flatwater.advise.rules.array_battery import ArrayBattery
from flatwater.advise.rules.battery_relearn import BatteryRelearn
from flatwater.advise.rules.binlog_sync import BinlogSync
from flatwater.advise.rules.bits_32 import Bits32
from flatwater.advise.rules.block_size import BlockSize
from flatwater.advise.rules.buffer_pool import BufferPool
from flatwater.advise.rules.cache_dirty_marks import CacheDirtyMarks
from flatwater.advise.rules.cache_mode import CacheMode
from flatwater.advise.rules.cache_size import CacheSize
from flatwater.advise.rules.calm_load import CalmLoad
from flatwater.advise.rules.change_buffering import ChangeBuffering
from flatwater.advise.rules.commit_durability import CommitDurability
from flatwater.advise.rules.cpu_governor import CpuGovernor
from flatwater.advise.rules.data_journal import DataJournal
from flatwater.advise.rules.degraded_array import DegradedArray
from flatwater.advise.rules.dirty_limit import DirtyLimit
from flatwater.advise.rules.dirty_low_water import DirtyLowWater
from flatwater.advise.rules.doublewrite import Doublewrite
from flatwater.advise.rules.drive_wear import DriveWear
from flatwater.advise.rules.faster_device import FasterDevice
from flatwater.advise.rules.file_system import FileSystem
from flatwater.advise.rules.flash_cache import FlashCache
from flatwater.advise.rules.flush_method import FlushMethod
from flatwater.advise.rules.flush_neighbours import FlushNeighbours
from flatwater.advise.rules.flushing_policy import FlushingPolicy
from flatwater.advise.rules.hot_drive import HotDrive
from flatwater.advise.rules.io_capacity_high import IoCapacityHigh
from flatwater.advise.rules.io_capacity_low import IoCapacityLow
from flatwater.advise.rules.io_scheduler import IoScheduler
from flatwater.advise.rules.log_block import LogBlock
from flatwater.advise.rules.log_buffer import LogBuffer
from flatwater.advise.rules.log_of_its_own import LogOfItsOwn
from flatwater.advise.rules.lru_scan_depth import LruScanDepth
from flatwater.advise.rules.missing_index import MissingIndex
from flatwater.advise.rules.more_devices import MoreDevices
from flatwater.advise.rules.more_servers import MoreServers
from flatwater.advise.rules.mount_atime import MountAtime
from flatwater.advise.rules.noisy_neighbour import NoisyNeighbour
from flatwater.advise.rules.numa_interleave import NumaInterleave
from flatwater.advise.rules.page_cleaners import PageCleaners
from flatwater.advise.rules.patrol_read import PatrolRead
from flatwater.advise.rules.pool_instances import PoolInstances
from flatwater.advise.rules.power_loss_protection import PowerLossProtection
from flatwater.advise.rules.processor_bound import ProcessorBound
from flatwater.advise.rules.read_ahead import ReadAhead
from flatwater.advise.rules.real_time_lag import RealTimeLag
from flatwater.advise.rules.redo_large import RedoLarge
from flatwater.advise.rules.redo_size import RedoSize
from flatwater.advise.rules.row_locks import RowLocks
from flatwater.advise.rules.saturated_client import SaturatedClient
from flatwater.advise.rules.single_thread import SingleThread
from flatwater.advise.rules.slow_part import SlowPart
from flatwater.advise.rules.spare_space import SpareSpace
from flatwater.advise.rules.spikes import Spikes
from flatwater.advise.rules.swap import Swap
from flatwater.advise.rules.swappiness import Swappiness
from flatwater.advise.rules.thread_pool import ThreadPool
from flatwater.advise.rules.transparent_huge_pages import TransparentHugePages
from flatwater.advise.rules.volume_credits import VolumeCredits
from flatwater.advise.rules.write_barriers import WriteBarriers
from flatwater.advise.rules.write_locks import WriteLocks

#: Every rule. Where two pieces of advice are worth the same, the earlier rule's comes first.
RULES: tuple[Rule, ...] = (
    # What makes the measurement doubtful.
    RealTimeLag(),
    SaturatedClient(),
    NoisyNeighbour(),
    Swap(),
    # What the host, the array or the cache does wrong.
    DataJournal(),
    Alignment(),
    IoScheduler(),
    BlockSize(),
    FileSystem(),
    ReadAhead(),
    SpareSpace(),
    CacheDirtyMarks(),
    CacheMode(),
    CacheSize(),
    DegradedArray(),
    ArrayBattery(),
    BatteryRelearn(),
    PatrolRead(),
    VolumeCredits(),
    PowerLossProtection(),
    SlowPart(),
    LogOfItsOwn(),
    # The server's settings.
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
    BinlogSync(),
    LogBuffer(),
    LruScanDepth(),
    FlushMethod(),
    FlushingPolicy(),
    PageCleaners(),
    MoreServers(),
    PoolInstances(),
    AdaptiveHash(),
    ChangeBuffering(),
    ThreadPool(),
    # The workload, and what must be bought.
    MissingIndex(),
    RowLocks(),
    WriteLocks(),
    SingleThread(),
    Spikes(),
    CalmLoad(),
    HotDrive(),
    FlashCache(),
    FasterDevice(),
    MoreDevices(),
    ProcessorBound(),
    # What is worth having in order, whatever the bound.
    WriteBarriers(),
    DriveWear(),
    Bits32(),
    CpuGovernor(),
    NumaInterleave(),
    Swappiness(),
    TransparentHugePages(),
    MountAtime(),
)
