"""`scale`: one number that makes a whole experiment larger or smaller.

A template runs in minutes on a laptop; with `--set scale=50` its data, its memory, its redo log and its time are fifty
times as much, so that their proportions, on which the result depends, stay as they are. The other way round, a modelled
card that takes hours to reach its steady state gets there in minutes with a hundredth of its capacity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.units import parse_duration, parse_size

#: Larger than any of these is a slip of the hand: a thousand times a laptop's minutes are a month.
SCALE_MAX = 10_000.0


def _whole(value: Any, scale: float) -> Any:
    return max(1, round(value * scale)) if isinstance(value, int) and not isinstance(value, bool) else value


def _time(value: Any, scale: float) -> Any:
    return parse_duration(value) * scale


def _share(value: Any, scale: float) -> Any:
    return value * scale if isinstance(value, int | float) and not isinstance(value, bool) else value


def _bytes(value: Any, scale: float) -> Any:
    """A size as the servers' option files have it, with one letter: whole MiB, which no server rounds."""
    mib = max(1, round(parse_size(value) * scale / 2**20))
    power = next(power for power in (2, 1, 0) if mib % 1024**power == 0)
    return f"{mib // 1024**power}{'MGT'[power]}"


#: Fields whose values grow. Only those that are written are: a default stays what it is.
SCALED: dict[str, Callable[[Any, float], Any]] = {
    "workload.warehouses": _whole,
    "workload.rows": _whole,
    "workload.warmup_s": _time,
    "workload.duration_s": _time,
    "storage.size": _bytes,
    "storage.capacity_scale": _share,
    "storage.events.at_s": _time,
    "storage.events.duration_s": _time,
    "cache.size": _bytes,
    "cache.storage.capacity_scale": _share,
    "cache.flush_period_s": _time,
    "database.memory": _bytes,
    "database.settings.innodb_buffer_pool_size": _bytes,
    "database.settings.innodb_log_file_size": _bytes,
    "database.settings.innodb_redo_log_capacity": _bytes,
}


def apply_scale(data: dict[str, Any]) -> None:
    """Multiplies an experiment's data as its `scale` says, which then becomes `scaled_by`: it acts once.

    A scale that is no number, and values that cannot be multiplied, are left for the validators to refuse.
    """
    scale = data.get("scale", 1)
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale <= SCALE_MAX:
        return
    data.pop("scale", None)
    if scale == 1:
        return
    told = data.get("scaled_by", 1)
    data["scaled_by"] = told * scale if isinstance(told, int | float) else told
    for layer in ("workload", "database", "cache", "storage"):
        if isinstance(data.get(layer), Mapping):
            data[layer] = _scaled(data[layer], f"{layer}.", scale)
    if isinstance(data.get("sweep"), Mapping):
        data["sweep"] = _scaled_sweep(data["sweep"], scale)
    for figure in _tables(data.get("published")):
        for cells in ("set", "relative_to"):
            if isinstance(figure.get(cells), Mapping):
                figure[cells] = _scaled(figure[cells], "", scale)
        # How long something takes is as much longer, and what memory or the log holds as much more.
        grows = figure.get("unit") == "s" or "_bytes" in str(figure.get("metric"))
        for end in ("value", "up_to"):
            if grows and end in figure:
                figure[end] = _figure(figure[end], scale)
    for one in _tables(data.get("expected")):
        for cells in ("set", "optimum"):
            if isinstance(one.get(cells), Mapping):
                one[cells] = _scaled(one[cells], "", scale)
        if isinstance(one.get("order"), list):
            one["order"] = [
                _scaled(cells, "", scale) if isinstance(cells, Mapping) else cells for cells in one["order"]
            ]


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _figure(value: Any, scale: float) -> Any:
    """A published figure; one that is written as a size becomes bytes."""
    try:
        return _share(parse_size(value) if isinstance(value, str) else value, scale)
    except ValueError:
        return value


def _scaled_sweep(sweep: Mapping[str, Any], scale: float) -> dict[str, Any]:
    found = _scaled({name: value for name, value in sweep.items() if name != "zip"}, "", scale)
    if "zip" in sweep:
        groups = sweep["zip"]
        found["zip"] = (
            [_scaled(group, "", scale) if isinstance(group, Mapping) else group for group in groups]
            if isinstance(groups, list)
            else _scaled(groups, "", scale)
            if isinstance(groups, Mapping)
            else groups
        )
    return found


def _scaled(table: Mapping[str, Any], prefix: str, scale: float) -> dict[str, Any]:
    """The table with its fields multiplied, those of tables and lists in it too."""
    return {name: _value(value, spell_field(f"{prefix}{name}"), scale) for name, value in table.items()}


def _value(value: Any, field: str, scale: float) -> Any:
    if isinstance(value, Mapping):
        return _scaled(value, f"{field}.", scale)
    if isinstance(value, list):
        return [_value(one, field, scale) for one in value]
    rule = SCALED.get(field)
    if rule is None:
        return value
    try:
        scaled = rule(value, scale)
    except ValueError:
        return value
    return scaled if not isinstance(scaled, float) or math.isfinite(scaled) else value
