"""The hosts that make the load, if it is not the machine that runs the experiment."""

from __future__ import annotations

from pydantic import Field

from flatwater.experiment.problem import Table

#: A laboratory's clients are a few machines; each costs the coordinator some ms a second.
HOSTS_MAX = 64


class Load(Table):
    """`[load]`: how many hosts make the load together. Where they are is said when it is run (`--load-on`)."""

    #: The sessions are divided among them, as equally as whole numbers allow.
    hosts: int = Field(default=1, ge=1, le=HOSTS_MAX)
