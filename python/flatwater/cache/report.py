"""The state of a cache now, running or not: one flat object that always has the same fields."""

from __future__ import annotations

from pathlib import Path

from flatwater.cache import engine
from flatwater.cache.control import ask, running
from flatwater.cache.locate import located
from flatwater.cache.messages import Report, Statistics
from flatwater.cache.start import log_path
from flatwater.cache.state import CacheState
from flatwater.errors import FlatwaterError
from flatwater.plan.cache import EngineSettings


def report_of(state: CacheState) -> Report:
    """The state of a cache. Fields that are not known are None. It raises no error: `problem` has it."""
    report: Report = {
        "name": state.name,
        "uuid": state.uuid,
        "fast": state.fast,
        "backing": state.backing,
        "block_bytes": state.block_bytes,
        "fast_bytes": state.fast_bytes,
        "in_use_bytes": state.in_use_bytes,
        "slow_bytes": state.slow_bytes,
        "log": str(log_path(state.name)),
        "running": False,
        "state": "stopped",
        "mode": None,
        "process": None,
        "serving_process": None,
        "running_s": None,
        "restarts": None,
        "mount": None,
        "nbd": None,
        "nbd_clients": None,
        "record": None,
        "hit_ratio": None,
        "dirty_blocks": None,
        "dirty_pct": None,
        "oldest_dirty_s": None,
        "write_back_bytes_per_s": None,
        "safe_to_unplug": None,
        "jobs": [],
        "told": [],
        "problem": None,
        "settings": None,
        "statistics": None,
    }
    try:
        settings = engine.settings_of(state.preset, state.settings)
        report |= {"settings": settings, "mode": settings["mode"]}
        report |= _running(state) if running(state.name) else _resting(state)
    except FlatwaterError as error:
        report["problem"] = str(error)
    return report


def _running(state: CacheState) -> Report:
    try:
        answer = ask(state.name, {"do": "status"}, timeout_s=15.0)
    except FlatwaterError as error:
        return {"running": True, "state": "not answering", "problem": str(error)}
    found = Report(
        running=True,
        problem=answer.get("trouble"),
        safe_to_unplug=False,
        state=answer.get("state"),
        process=answer.get("process"),
        serving_process=answer.get("serving_process"),
        running_s=answer.get("running_s"),
        restarts=answer.get("restarts"),
        mount=answer.get("mount"),
        nbd=answer.get("nbd"),
        nbd_clients=answer.get("nbd_clients"),
        record=answer.get("record"),
        jobs=answer.get("jobs", []),
        told=answer.get("told", []),
    )
    statistics = answer.get("statistics")
    if statistics is None:
        return found
    settings = answer.get("settings") or EngineSettings({})
    found |= {"statistics": statistics, "settings": settings, "mode": settings.get("mode")}
    return found | gauges(statistics)


def gauges(statistics: Statistics) -> Report:
    """The most important figures, from the engine's counters."""
    asked = statistics["reads"] + statistics["writes"]
    hits = statistics["read_hits"] + statistics["write_hits"]
    dirty, slots = int(statistics["dirty_blocks"]), statistics["slots"]
    return {
        "hit_ratio": hits / asked if asked else None,
        "dirty_blocks": dirty,
        "dirty_pct": 100 * dirty / slots if slots else None,
        "oldest_dirty_s": statistics["dirty_age_oldest_s"],
        "write_back_bytes_per_s": statistics["write_back_rate_bytes"],
    }


def _resting(state: CacheState) -> Report:
    state, _ = located(state)
    if not Path(state.fast).exists():
        return {"state": "cache device gone", "problem": f"{state.fast} is gone"}
    found = engine.require_pair(state)
    return {
        "state": "stopped" if found.was_clean else "not stopped cleanly",
        "dirty_blocks": found.dirty_blocks,
        "dirty_pct": 100 * found.dirty_blocks / found.slots if found.slots else None,
        "safe_to_unplug": found.dirty_blocks == 0 and not found.degraded,
        "problem": "the cache device failed, and writes have bypassed it since" if found.degraded else None,
    }
