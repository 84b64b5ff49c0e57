"""The effects of changes of fileio on an emulated device in real time: the device's model is known, so it is asked.

The same experiment is modelled in virtual time, with and without each change (`from_model.py`). Real time adds what the
model of the device does not have: the way of a request through the kernel, and the client. The unchanged model shows by
how much that matters, and its error is part of the interval. A change of a server on an emulated device is predicted by
its twin instead (`from_twin.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pydantic import JsonValue

from flatwater.advise.adviser import Consultation
from flatwater.advise.changed import changed_experiment
from flatwater.advise.effects.from_model import CPU_S, Subject, model_effects
from flatwater.advise.effects.unpredicted import NEIGHBOURS, all_unpredicted, can_be_predicted, has_busy_neighbours
from flatwater.errors import UserError
from flatwater.experiment import Experiment, Fileio, ModelledStorage
from flatwater.experiment.storage import Storage
from flatwater.experiment.validation import validate
from flatwater.results import Cell
from flatwater.runner.stack.storage.modelled.emulation import KEPT_UP_LATE_PCT
from flatwater.what_if.noise import run_noise

#: Why a run whose device could not keep up has no prediction.
LATE = "the emulated device was later than its model"
#: Fields of storage in real time that storage in virtual time does not have.
_OF_REAL_TIME = ("real_time", "path", "file_system", "keep")
#: The parts of an experiment that decide what it does.
_PARTS = ("name", "seed", "repeat", "workload", "cache", "storage")
#: The modelled device may be off the run by up to this logarithm (a third more or less), which then is part of the
#: interval. With a larger error it is not the device that decides.
_OFF_MAX = 0.3


def is_emulated_fileio(experiment: Experiment | None) -> bool:
    """Whether all storage below fileio is modelled, and served in real time."""
    if experiment is None or not isinstance(experiment.workload, Fileio):
        return False
    cache = experiment.flash_cache
    below = [experiment.storage] if cache is None else [experiment.storage, cache.storage]
    return all(isinstance(one, ModelledStorage) and one.real_time for one in below)


def emulation_effects(
    consultation: Consultation, progress: Callable[[str], None], cpu_s: float = CPU_S
) -> Consultation:
    """The same advice, each with the modelled effect, or with the reason why there is none. Errors: Interrupted."""
    if not any(can_be_predicted(one) for one in consultation.advice):
        return consultation
    if has_busy_neighbours(consultation):
        return all_unpredicted(consultation, NEIGHBOURS)
    device = consultation.evidence.device
    late = device.lag_late_pct if device is not None else None
    if late is not None and late.mean > KEPT_UP_LATE_PCT:
        return all_unpredicted(consultation, LATE)
    measured = consultation.cell.measured("workload", "throughput").value.mean()

    def off(unchanged: Sequence[Cell]) -> float:
        modelled = [float(cell.measured("workload", "throughput").value.mean()) for cell in unchanged]
        mean = sum(modelled) / len(modelled)
        found = abs(math.log(mean / measured))
        if found > _OFF_MAX:
            what = f"the model of the device alone does {mean / measured:.2g} times what the run did"
            raise UserError(f"{what}: something else decides it")
        return found

    subject = Subject(in_virtual_time, "the model of the emulated device", run_noise([consultation.cell]), off)
    return model_effects(consultation, progress, cpu_s, subject)


def in_virtual_time(cell: Cell, overrides: Sequence[str] = (), seed: int | None = None) -> Experiment:
    """The experiment of a cell on emulated storage, changed, in virtual time. Errors: UserError if there is none."""
    real = changed_experiment(cell, overrides, seed)
    written: dict[str, JsonValue] = real.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    tables = {name: written[name] for name in _PARTS if name in written}
    tables["storage"] = _modelled(written["storage"], real.storage)
    cache = written.get("cache")
    if real.flash_cache is not None and real.flash_cache.storage is not None and isinstance(cache, dict):
        tables["cache"] = {**cache, "storage": _modelled(cache["storage"], real.flash_cache.storage)}
    experiment, problems = validate(tables)
    if experiment is None:
        raise UserError(f"in virtual time {problems[0].field}: {problems[0].what}", where=str(cell.result.path))
    return experiment


def _modelled(written: JsonValue, storage: Storage) -> JsonValue:
    assert isinstance(written, dict)
    kept = {name: value for name, value in written.items() if name not in _OF_REAL_TIME}
    return {**kept, "kind": storage.kind}
