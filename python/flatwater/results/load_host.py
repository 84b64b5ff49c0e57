"""What a result tells of the hosts that made the load. Part of `CellSummary`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class LoadHost(BaseModel):
    """A host that made a part of the load. Clocks are compared with that of the machine that ran the experiment."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")

    #: Its name or IP address, as dask knows it.
    host: str
    #: Number of its first session, from 1 on, and the number of its sessions.
    first: int
    sessions: int
    #: How far its clock of the day was ahead before the run, give or take the bound. It decides nothing.
    skew_us: float | None = None
    skew_bound_us: float | None = None
    #: How well the common instant was known on it, and how late its sessions began after that instant.
    instant_bound_us: float | None = None
    began_late_us: float | None = None
    #: How much faster its clock ran in the run, give or take the bound; None if it was asked once only.
    drift_ppm: float | None = None
    drift_bound_ppm: float | None = None
    #: The largest distance of the end of one of its intervals from the end of the interval of all.
    interval_late_us: float = 0.0
