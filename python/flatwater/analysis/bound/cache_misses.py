"""What is asked for is not in the cache: the buffer pool's pages, or the blocks of a flash cache."""

from __future__ import annotations

from flatwater.analysis.bound.device import Device
from flatwater.analysis.bound.evidence import Cache, Database, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.page_cost import share_of_misses
from flatwater.analysis.bound.processors import processors
from flatwater.analysis.bound.storage_time import StorageTime, storage_time
from flatwater.analysis.bound.words import counted, duration, each_second, figure, percent, size


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time that misses cost: of the flash cache if there is one, else of the buffer pool."""
    storage = storage_time(evidence)
    if storage is None:
        return None
    if evidence.cache is not None:
        if evidence.load.read_fraction == 0:
            return None
        return _of_flash(evidence.cache, storage)
    return _of_pool(evidence, evidence.database, storage) if evidence.database is not None else None


def _of_pool(evidence: Evidence, database: Database, storage: StorageTime) -> Finding | None:
    if database.hit_ratio is None or (database.free_pages is not None and not _is_full(database)):
        # Pages that were never read before are no misses of a pool that has room for them.
        return None
    time, pool = storage.time, database.pool_bytes
    used, of_misses = processors(evidence), share_of_misses(evidence)
    server = min(used.server, time.sessions) + used.waited(used.server) if used is not None else 0.0
    took = f", {duration(time.read_us)} each" if time.read_us is not None else ""
    return found(
        "cache misses",
        time.of(time.with_queue(time.reading) * (1 - storage.foreign) + server * (of_misses or 0.0)),
        "time",
        f"{100 * (1 - database.hit_ratio.mean):.3g} % of the page requests missed the buffer pool"
        + (f" of {size(pool)}" + (" in all" if database.servers > 1 else "") if pool else "")
        + f"{took}",
        each_second(database.pages_read_per_s, "pages read"),
        f"{figure(time.reading or 0.0)} of {counted(time.sessions, 'session')} were waiting for them",
        f"reading and evicting pages was about {percent(of_misses)} of the server's processor time"
        if of_misses is not None
        else None,
    )


def _is_full(database: Database) -> bool:
    """Whether pages are evicted. A server keeps some frames free: innodb_lru_scan_depth of each instance."""
    free, data = database.free_pages, database.data_pages
    kept = (database.variables.number("innodb_lru_scan_depth") or 1024.0) * (
        database.variables.number("innodb_buffer_pool_instances") or 1.0
    )
    whole = free.mean + data.mean if free is not None and data is not None else 0.0
    return free is None or free.mean <= kept * database.servers or free.mean <= 0.05 * whole


def _of_flash(cache: Cache, storage: StorageTime) -> Finding | None:
    ratio = cache.read_hit_ratio or cache.hit_ratio
    if ratio is None:
        return None
    missed = max(0.0, 1 - ratio.mean)
    fast, slow = _busy_pct(cache.fast), _busy_pct(storage.device)
    if missed <= 0 or slow <= fast:
        # The cache's own device is the one that is waited for.
        return None
    # What missed goes to the slow device, and so do blocks that are written back: the slow device's time is shared out.
    reads = missed * _asked(storage)
    back = cache.write_backs_per_s.mean if cache.write_backs_per_s is not None else 0.0
    of_misses = reads / (reads + back) if reads + back > 0 else 0.0
    return found(
        "cache misses",
        storage.share * of_misses,
        "time",
        f"{100 * missed:.3g} % of the reads missed the cache",
        f"the slow device was busy for {slow:.0f} % of the time, the fast one for {fast:.0f} %",
        each_second(cache.uncached_per_s, "requests did not use the cache"),
        f"{figure(cache.used_pct.mean)} % of the cache was in use" if cache.used_pct is not None else None,
    )


def _busy_pct(device: Device | None) -> float:
    return device.busy_pct.mean if device is not None and device.busy_pct is not None else 0.0


def _asked(storage: StorageTime) -> float:
    """Reads a second that the cache was asked for, as far as they are known."""
    time = storage.time
    return 1e6 * (time.reading or 0.0) / time.read_us if time.read_us else 0.0
