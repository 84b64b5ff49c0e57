"""The changes to predict: fields of the twin that `--set` changes, or the usual changes if the user names none."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass

from flatwater.analysis.alike import Difference, experiment_differences
from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.overrides import override
from flatwater.experiment.units import parse_size
from flatwater.runner.stack.database.size import estimate_bytes
from flatwater.server.settings import spans, who_has
from flatwater.what_if.following import follow
from flatwater.what_if.sizing import Placed, put_device, scale_devices
from flatwater.what_if.twin import Twin, TwinFile

#: A comma before the next field. A comma inside a value is none.
_NEXT = re.compile(r",(?=\s*[a-z_]+(?:\.[\w\"-]+)+\s*=)")
#: The card of the usual changes: a server drive of 2021, with the figures of its data sheet.
USUAL_CARD = "samsung-pm9a3-7680-tlc"
#: The cache of the usual changes: the size of the data divided by this.
_CACHE_SHARE = 2
_REDO_TIMES = 4
#: A buffer pool that takes a larger share of the machine's memory needs more memory.
_MEMORY_SHARE = 0.8
_POOL = "database.settings.innodb_buffer_pool_size"
_SETTINGS = "database.settings."
_METHOD = "database.settings.innodb_flush_method"
_PLACEMENT = "database.placement."
#: The device of one of the other storages.
_OTHER_DEVICE = re.compile(r"database\.storages\.([a-z][a-z0-9]*)\.device")
#: Tables of an experiment that are not part of its stack.
_NOT_OF_THE_STACK = ("sweep", "twin", "report", "published", "expected", "repeat", "scale", "seed", "record")


@dataclass(frozen=True)
class Change:
    """One row of the table."""

    #: Fields and values as `--set` takes them.
    written: tuple[str, ...]
    #: In words; for a change of the user's, its fields.
    name: str
    experiment: Experiment
    notes: tuple[str, ...] = ()
    #: Fields that it changes of the workload, of the data's size or of what is counted. Then there is no ratio.
    not_comparable: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The fields and values as one value of `--set`."""
        return ",".join(self.written)


def parse_changes(twin: Twin, asked: Sequence[str], *, together: bool = False) -> list[Change]:
    """The changes of `--set`: each is a change, or all of them are one.

    Errors: UserError for a field that does not exist or is not modelled, and for a value that it cannot have.
    """
    changes = [tuple(field.strip() for field in _NEXT.split(written)) for written in asked]
    if together:
        changes = [tuple(field for fields in changes for field in fields)]
    return [make_change(twin, fields) for fields in changes]


def make_change(twin: Twin, written: tuple[str, ...], name: str = "", notes: tuple[str, ...] = ()) -> Change:
    """The twin with some fields changed. Errors: UserError."""
    where = f"--set {','.join(written)}"
    # What is wrong with the run itself must not be said of the change.
    unchanged = twin.experiment(twin.data(), str(twin.base.result.path))
    data = copy.deepcopy(twin.data())
    fields = [_field(assignment, where) for assignment in written]
    _refuse_settings_of_others(twin, fields, where)
    _refuse_page_cache(twin, fields, where)
    found = list(notes)
    placed = []
    for assignment, field in zip(written, fields, strict=True):
        if field == "storage.device":
            placed.append(Placed((), _value(assignment)))
        elif field == "cache.storage.device":
            data["cache"] = {"kind": "flash", "warm": True, **data.get("cache", {})}
            sizes = [_bytes(_value(text)) for text, name in zip(written, fields, strict=True) if name == "cache.size"]
            placed.append(Placed(("cache",), _value(assignment), cache_bytes=max(sizes, default=0)))
        elif other := _OTHER_DEVICE.fullmatch(field):
            placed.append(Placed(("database", "storages"), _value(assignment), other[1]))
        elif field.startswith("cache.") and field != "cache.kind":
            data.setdefault("cache", {"kind": "flash", "warm": True})
    for one in placed:
        put_device(data, one)
    _refuse_unknown_storages(twin, data, written, fields, where)
    for assignment in written:
        data = TwinFile(override(data, assignment))
    if data.get("sweep"):
        raise UserError("gives a field several values", where=where, hint="give --set once for each value")
    found += follow(data["database"]["settings"], fields, twin.base.experiment.server.settings)
    found += scale_devices(data, placed, fields, twin, where)
    experiment = twin.experiment(data, where)
    _refuse_without_effect(unchanged, experiment, fields, where)
    found += _risks(twin, experiment)
    if any(field.startswith(_PLACEMENT) for field in fields):
        found.append("each storage is taken to answer as it did in the run, whatever is moved to it or away from it")
    unlike = _decisive_differences(twin, experiment, where)
    if unlike:
        texts = ", ".join(difference.text for difference in unlike)
        found.append(f"not comparable: it has another {unlike[0].role} ({texts})")
    shown = name or ", ".join(assignment.removeprefix(_SETTINGS) for assignment in written)
    return Change(written, shown, experiment, tuple(found), tuple(difference.field for difference in unlike))


def _refuse_without_effect(unchanged: Experiment, changed: Experiment, fields: Sequence[str], where: str) -> None:
    """Errors: UserError for a setting that changes nothing in the model, by its name, its value, or that of the run."""
    ignored = set()
    for experiment in (unchanged, changed):
        assert isinstance(experiment.database, InnodbModel)
        ignored |= {f"{_SETTINGS}{name}" for name in experiment.database.ignored}
    found = next((field for field in fields if field in ignored), None)
    if found is not None:
        hint = "docs/models/innodb.md has what is modelled"
        raise UserError(f"{found} has no effect in the model: it cannot be predicted", where=where, hint=hint)


def _refuse_page_cache(twin: Twin, fields: Sequence[str], where: str) -> None:
    """Errors: UserError for a flush method, where that of the run was not told, or is the page cache's default."""
    if _METHOD in fields and _METHOD.removeprefix(_SETTINGS) not in twin.base.settings:
        what = "the server of the run read through the page cache, or did not tell, and the model has no such cache"
        raise UserError(f"{what}: another innodb_flush_method cannot be predicted", where=where, hint="measure it")


def _refuse_settings_of_others(twin: Twin, fields: Sequence[str], where: str) -> None:
    """Errors: UserError for a setting that the model of the generation has, and the server of the run does not."""
    base = twin.base
    if "database.generation" in fields:
        return
    for field in fields:
        having = spans(field.removeprefix(_SETTINGS)) if field.startswith(_SETTINGS) else []
        if having and not any(span.holds(base.flavour, base.release) for span in having):
            owners = who_has(field.removeprefix(_SETTINGS))
            raise UserError(f"{base.server} does not have {field}: it is a setting of {owners}", where=where)


def _refuse_unknown_storages(
    twin: Twin, data: TwinFile, written: Sequence[str], fields: Sequence[str], where: str
) -> None:
    """Errors: UserError for a part that is moved to a storage on which the run had nothing."""
    known = data["database"].get("storages", {})
    for assignment, field in zip(written, fields, strict=True):
        name = _value(assignment)
        if field.startswith(_PLACEMENT) and name in twin.base.experiment.server.storages and name not in known:
            what = f"nothing of the run was on the storage {name}: it is not known how it answers"
            hint = f"database.storages.{name}.device=NAME of `flatwater list --devices` in the same --set"
            raise UserError(what, where=where, hint=hint)


def _decisive_differences(twin: Twin, experiment: Experiment, where: str) -> list[Difference]:
    """The differences of a changed twin that are none of its stack: its figures answer another question.

    Errors: UserError if its throughput would count something else than the run's.
    """
    unchanged = twin.experiment(twin.data(), where)
    differences = experiment_differences(
        unchanged.model_dump(exclude_none=True), experiment.model_dump(exclude_none=True)
    )
    decisive = [difference for difference in differences if difference.decisive]
    for difference in decisive:
        if difference.role == "direction" or difference.field == "workload.kind":
            what = f"{difference.text}: the prediction would count something else than the run"
            raise UserError(what, where=where, hint="fields of database, storage, cache or workload")
    return decisive


def usual_questions(twin: Twin) -> list[Change]:
    """The usual changes: more memory, more redo, other settings, a faster card, a cache in front of the storage."""
    experiment = twin.experiment(twin.data(), str(twin.base.result.path))
    assert isinstance(experiment.database, InnodbModel)
    settings = experiment.database.resolved
    pool = settings.innodb_buffer_pool_size
    log = "innodb_redo_log_capacity" if "innodb_redo_log_capacity" in twin.base.settings else "innodb_log_file_size"
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
    if field.partition(".")[0] in _NOT_OF_THE_STACK:
        hint = "fields of database, storage, cache or workload"
        raise UserError(f"{field} is not part of a stack", where=where, hint=hint)
    return field


def _value(written: str) -> str:
    return written.partition("=")[2].strip().strip("\"'")


def _bytes(written: str) -> int:
    try:
        return parse_size(int(written) if written.isdecimal() else written)
    except ValueError:
        return 0  # the check of the whole experiment reports it


def _risks(twin: Twin, experiment: Experiment) -> list[str]:
    """What a change puts at risk or needs, in words."""
    assert isinstance(experiment.database, InnodbModel)
    now, base = experiment.database.resolved, twin.base
    before = twin.experiment(twin.data(), "").database
    assert isinstance(before, InnodbModel)
    found = []
    if before.resolved.innodb_doublewrite and not now.innodb_doublewrite:
        found.append("RISK: a crash can leave half-written pages, unless the storage writes 16 KiB atomically")
    if before.resolved.innodb_flush_log_at_trx_commit == 1 and now.innodb_flush_log_at_trx_commit != 1:
        found.append("RISK: a power failure loses the last second of commits")
    pool = now.innodb_buffer_pool_size
    if base.memory_bytes and pool > _MEMORY_SHARE * base.memory_bytes:
        found.append(f"the machine has only {print_size(base.memory_bytes)} of memory: it needs more")
    return found
