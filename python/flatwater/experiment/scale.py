"""`scale`: one number that makes a whole experiment larger or smaller.

A template runs in minutes on a laptop. With `--set scale=50` its data, memory, redo log and time are fifty times as
large, so that their proportions, which decide the result, stay the same. In the other direction, a modelled card that
needs hours to reach its steady state needs minutes with a hundredth of its capacity.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.parse import Tables
from flatwater.experiment.units import parse_duration, parse_size

#: A larger scale must be a typing error: a thousand times the minutes of a laptop is a month.
SCALE_MAX = 10_000.0


def _whole(value: Any, scale: float) -> Any:
    return max(1, round(value * scale)) if isinstance(value, int) and not isinstance(value, bool) else value


def _time(value: Any, scale: float) -> Any:
    return parse_duration(value) * scale


def _share(value: Any, scale: float) -> Any:
    return value * scale if isinstance(value, int | float) and not isinstance(value, bool) else value


def _bytes(value: Any, scale: float) -> Any:
    """A size in the syntax of servers' option files, with one letter: whole MiB, which no server rounds."""
    mib = max(1, round(parse_size(value) * scale / 2**20))
    power = next(power for power in (2, 1, 0) if mib % 1024**power == 0)
    return f"{mib // 1024**power}{'MGT'[power]}"


#: Fields that are multiplied, if they are in the file. Defaults stay unchanged.
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
#: The storages that parts of a server are placed on are multiplied like that of the data.
_OTHER_STORAGE = re.compile(r"^database\.storages\.[^.]+\.")


def scale_tables(tables: Mapping[str, Any]) -> Tables:
    """An experiment's tables, multiplied by their `scale`. It becomes `scaled_by`, so that it is applied only once.

    An invalid scale, and values that cannot be multiplied, stay: the validation reports them.
    """
    scale = tables.get("scale", 1)
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale <= SCALE_MAX:
        return dict(tables)
    scaled = {name: value for name, value in tables.items() if name != "scale"}
    if scale == 1:
        return scaled
    before = tables.get("scaled_by", 1)
    scaled["scaled_by"] = before * scale if isinstance(before, int | float) else before
    for layer in ("workload", "database", "cache", "storage"):
        if isinstance(tables.get(layer), Mapping):
            scaled[layer] = _scaled(tables[layer], f"{layer}.", scale)
    if isinstance(tables.get("sweep"), Mapping):
        scaled["sweep"] = _scaled_sweep(tables["sweep"], scale)
    for name, change in (("published", _scaled_figure), ("expected", _scaled_expectation)):
        entries = tables.get(name)
        if isinstance(entries, list):
            scaled[name] = [change(one, scale) if isinstance(one, Mapping) else one for one in entries]
    return scaled


def _scaled_figure(figure: Mapping[str, Any], scale: float) -> Tables:
    scaled = {name: _cells(value, scale) if name in ("set", "relative_to") else value for name, value in figure.items()}
    # Durations are longer by the factor, and so are amounts in memory or in the log.
    if figure.get("unit") == "s" or "_bytes" in str(figure.get("metric")):
        scaled |= {end: _figure(figure[end], scale) for end in ("value", "up_to") if end in figure}
    return scaled


def _scaled_expectation(one: Mapping[str, Any], scale: float) -> Tables:
    scaled = {name: _cells(value, scale) if name in ("set", "optimum") else value for name, value in one.items()}
    if isinstance(one.get("order"), list):
        scaled["order"] = [_cells(cells, scale) for cells in one["order"]]
    return scaled


def _cells(cells: Any, scale: float) -> Any:
    """Fields and values that name cells."""
    return _scaled(cells, "", scale) if isinstance(cells, Mapping) else cells


def _figure(value: Any, scale: float) -> Any:
    """A published figure; a size becomes bytes."""
    try:
        return _share(parse_size(value) if isinstance(value, str) else value, scale)
    except ValueError:
        return value


def _scaled_sweep(sweep: Mapping[str, Any], scale: float) -> Tables:
    found = _scaled({name: value for name, value in sweep.items() if name != "zip"}, "", scale)
    if "zip" in sweep:
        groups = sweep["zip"]
        found["zip"] = [_cells(group, scale) for group in groups] if isinstance(groups, list) else _cells(groups, scale)
    return found


def _scaled(table: Mapping[str, Any], prefix: str, scale: float) -> Tables:
    """The table with its fields multiplied, also in nested tables and lists."""
    return {name: _value(value, spell_field(f"{prefix}{name}"), scale) for name, value in table.items()}


def _value(value: Any, field: str, scale: float) -> Any:
    if isinstance(value, Mapping):
        return _scaled(value, f"{field}.", scale)
    if isinstance(value, list):
        return [_value(one, field, scale) for one in value]
    rule = SCALED.get(_OTHER_STORAGE.sub("storage.", field))
    if rule is None:
        return value
    try:
        scaled = rule(value, scale)
    except ValueError:
        return value
    return scaled if not isinstance(scaled, float) or math.isfinite(scaled) else value
