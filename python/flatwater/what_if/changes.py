"""What is asked: fields of the twin to change, and the questions that are asked when the user asks none."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass

from flatwater.analysis.alike import Difference, experiment_differences
from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.innodb_settings import WITHOUT_EFFECT
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.device.load import load_device
from flatwater.experiment.overrides import override
from flatwater.experiment.tables import Tables
from flatwater.experiment.units import parse_size
from flatwater.runner.stack.database.size import estimate_bytes
from flatwater.what_if.twin import Twin

#: A comma that is followed by the next field.
_NEXT = re.compile(r",(?=\s*[a-z_]+(?:\.[\w\"-]+)+\s*=)")
#: A card is modelled with so much room for each byte of the data: how full it is decides how fast it writes.
ROOM = 4
#: The card and the cache of the usual questions: a drive of servers of 2021, whose figures are its data sheet's.
USUAL_CARD = "samsung-pm9a3-7680-tlc"
#: The cache's share of the data.
_CACHE_SHARE = 2
_REDO_TIMES = 4
#: More of the machine's memory than this is not for a pool.
_MEMORY_SHARE = 0.8
_POOL = "database.settings.innodb_buffer_pool_size"
_SETTINGS = "database.settings."
#: What only a real run has.
_NOT_CHANGED = ("sweep", "twin", "report", "published", "expected", "repeat", "scale", "seed", "record")


@dataclass(frozen=True)
class Change:
    """One row of the table."""

    #: Fields and values as `--set` takes them.
    written: tuple[str, ...]
    #: In words; the fields if the user asked.
    name: str
    experiment: Experiment
    notes: tuple[str, ...] = ()
    #: Fields of the workload, of the data's size or of what is counted that it changes: there is no ratio then.
    not_comparable: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What to write after `--set`."""
        return ",".join(self.written)


def parse_changes(twin: Twin, asked: Sequence[str], *, together: bool = False) -> list[Change]:
    """The changes of `--set`: one each, or all of them one change.

    Errors: UserError for a field that there is not, a value that it cannot have, or what is not modelled.
    """
    each = [tuple(part.strip() for part in _NEXT.split(written)) for written in asked]
    if together:
        each = [tuple(part for parts in each for part in parts)]
    return [make_change(twin, parts) for parts in each]


def make_change(twin: Twin, written: tuple[str, ...], name: str = "", notes: tuple[str, ...] = ()) -> Change:
    """The twin with some fields changed. Errors: UserError."""
    where = f"--set {','.join(written)}"
    data = copy.deepcopy(twin.data())
    fields = [_field(one, where) for one in written]
    own = list(notes)
    for one, field in zip(written, fields, strict=True):
        if field == "storage.device":
            own += _place(data, "storage", _value(one), twin, fields)
        elif field == "cache.storage.device":
            data["cache"] = {"kind": "flash", "warm": True, **data.get("cache", {})}
            sizes = [_bytes(_value(other)) for other, its in zip(written, fields, strict=True) if its == "cache.size"]
            own_fields = [name.removeprefix("cache.") for name in fields]
            own += _place(data["cache"], "storage", _value(one), twin, own_fields, max(sizes, default=0))
        elif field.startswith("cache.") and field != "cache.kind":
            data.setdefault("cache", {"kind": "flash", "warm": True})
    for one in written:
        data = override(data, one)
    if data.get("sweep"):
        raise UserError("is one value, not several", where=where, hint="give --set once for each value")
    experiment = twin.experiment(data, where)
    ignored = [field for field in fields if field.removeprefix(_SETTINGS) in WITHOUT_EFFECT]
    if ignored:
        known = "docs/models/innodb.md has what is modelled"
        raise UserError(f"{ignored[0]} changes nothing in the model: it cannot be predicted", where=where, hint=known)
    own += _risks(twin, experiment)
    unlike = _another_question(twin, experiment, where)
    if unlike:
        own.append(f"not comparable: it asks for another {unlike[0].role} ({', '.join(one.text for one in unlike)})")
    told = name or ", ".join(_short(one) for one in written)
    return Change(written, told, experiment, tuple(own), tuple(one.field for one in unlike))


def _another_question(twin: Twin, experiment: Experiment, where: str) -> list[Difference]:
    """What a change asks for besides another stack. Errors: UserError where the figures would count something else."""
    before, after = (one.model_dump(exclude_none=True) for one in (twin.experiment(twin.data(), where), experiment))
    found = [one for one in experiment_differences(before, after) if one.decisive]
    counted = next((one for one in found if one.role == "direction" or one.field == "workload.kind"), None)
    if counted is not None:
        what = f"{counted.text}: the prediction would count something else than the run"
        raise UserError(what, where=where, hint="fields of database, storage, cache or workload")
    return found


def usual_questions(twin: Twin) -> list[Change]:
    """More memory, more redo, settings, a faster card, or a cache in front: what is worth asking of any server."""
    experiment = twin.experiment(twin.data(), str(twin.base.result.path))
    assert isinstance(experiment.database, InnodbModel)
    settings = experiment.database.resolved
    pool = settings.innodb_buffer_pool_size
    log = "innodb_redo_log_capacity" if twin.base.generation == "mysql-8.0" else "innodb_log_file_size"
    redo: int = getattr(settings, log)
    asked: list[tuple[tuple[str, ...], str]] = [
        ((f"{_POOL}={2 * pool}",), f"memory: a pool of {print_size(2 * pool)}"),
        ((f"{_SETTINGS}{log}={_REDO_TIMES * redo}",), f"settings: {log} = {print_size(_REDO_TIMES * redo)}"),
    ]
    if settings.innodb_doublewrite:
        asked.append(((f"{_SETTINGS}innodb_doublewrite=false",), "settings: no doublewrite buffer"))
    if settings.innodb_flush_log_at_trx_commit == 1:
        asked.append(((f"{_SETTINGS}innodb_flush_log_at_trx_commit=2",), "settings: the log is synced once a second"))
    asked.append(((f"storage.device={USUAL_CARD}",), f"a faster card: {USUAL_CARD}"))
    size = max(estimate_bytes(twin.base.experiment) // _CACHE_SHARE >> 20, 64) << 20
    cache = (f"cache.storage.device={USUAL_CARD}", f"cache.size={size}")
    asked.append((cache, f"a cache of {print_size(size)} on {USUAL_CARD}"))
    return [make_change(twin, written, name) for written, name in asked]


def _field(written: str, where: str) -> str:
    key, equals, _ = written.partition("=")
    field = spell_field("".join(key.split()).replace('"', ""))
    if not equals or not field:
        raise UserError("must look like path.to.field=VALUE", where=where)
    if field.partition(".")[0] in _NOT_CHANGED:
        hint = "fields of database, storage, cache or workload"
        raise UserError(f"{field} is nothing of a stack", where=where, hint=hint)
    return field


def _value(written: str) -> str:
    return written.partition("=")[2].strip().strip("\"'")


def _bytes(written: str) -> int:
    try:
        return parse_size(int(written) if written.isdecimal() else written)
    except ValueError:
        return 0  # told where the whole is checked


def _short(written: str) -> str:
    return written.removeprefix(_SETTINGS)


def _place(data: Tables, table: str, name: str, twin: Twin, fields: Sequence[str], cache_bytes: int = 0) -> list[str]:
    """Puts a modelled device in the place of a storage: its kind, and as much of it as data or cache need."""
    device = load_device(name)
    data[table] = {"kind": device.KIND}
    if f"{table}.capacity_scale" in fields or device.KIND != "ssd":
        return []
    share = ROOM * max(estimate_bytes(twin.base.experiment), cache_bytes) / device.capacity
    if share >= 1:
        return []
    data[table]["capacity_scale"] = share
    what = "the data" if cache_bytes <= estimate_bytes(twin.base.experiment) else "the cache"
    return [f"{name} with {100 * share:.2g} % of its capacity, {ROOM} times {what}"]


def _risks(twin: Twin, experiment: Experiment) -> list[str]:
    """What a change costs besides money."""
    assert isinstance(experiment.database, InnodbModel)
    now, base = experiment.database.resolved, twin.base
    before = twin.experiment(twin.data(), "").database
    assert isinstance(before, InnodbModel)
    told = []
    if before.resolved.innodb_doublewrite and not now.innodb_doublewrite:
        told.append("RISK: a crash can leave half-written pages, unless the storage writes 16 KiB atomically")
    if before.resolved.innodb_flush_log_at_trx_commit == 1 and now.innodb_flush_log_at_trx_commit != 1:
        told.append("RISK: a power failure loses the last second of commits")
    pool = now.innodb_buffer_pool_size
    if base.memory_bytes and pool > _MEMORY_SHARE * base.memory_bytes:
        told.append(f"the machine has only {print_size(base.memory_bytes)} of memory: it must get more")
    return told
