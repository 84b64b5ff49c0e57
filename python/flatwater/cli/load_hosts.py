"""The hosts that make the load: `flatwater run --load-on`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flatwater.experiment import Experiment
    from flatwater.runner.stack.layers.running import LoadHosts

OPTION = "--load-on"


def load_hosts(load_on: str | None) -> LoadHosts | None:
    """The hosts that the option names; None without it. Errors: UserError."""
    if load_on is None:
        return None
    from flatwater.errors import UserError

    try:
        from flatwater.runner.hosts.load_hosts import make_load_hosts
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("dask", "distributed"):
            raise
        hint = "pip install 'flatwater[dask]'"
        raise UserError("dask.distributed is not installed", where=OPTION, hint=hint) from None
    return make_load_hosts(load_on)


def require_division(experiment: Experiment, load_on: str | None) -> None:
    """Checks that the load of an experiment is divided if the option names hosts. Errors: UserError."""
    from flatwater.errors import UserError

    if experiment.load is None and load_on is not None:
        hint = "--set load.hosts=N says on how many"
        raise UserError("the experiment has no [load], so this machine makes its load", where=OPTION, hint=hint)
