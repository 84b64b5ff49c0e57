"""What happens to a device while an experiment uses it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_serializer, model_validator

from flatwater.experiment.problem import Problem, Table, raise_problems
from flatwater.experiment.units import Seconds, SomeSeconds

#: What can happen to an array.
EventKind = Literal["relearn", "patrol", "check", "fail", "replace"]


class ArrayEvent(Table):
    """Something that happens to an array while it is used."""

    #: relearn: the battery is drained and charged, and until then writes go through; patrol, check: members are read
    #: beside the load; fail: a member is lost; replace: a new one takes its place and is rebuilt.
    kind: EventKind
    #: After the start of the run.
    at_s: Seconds
    #: How long it goes on; as long as the device's file says, or until it is done, if absent. A lost member stays lost.
    duration_s: SomeSeconds | None = None
    #: Which member fails or is replaced, from 0 on.
    member: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _whole(self) -> ArrayEvent:
        about_member = self.kind in ("fail", "replace")
        if about_member and self.member is None:
            _refuse("member", "is missing: which member, from 0 on", "member = 0")
        if not about_member and self.member is not None:
            _refuse("member", f'a "{self.kind}" is of the whole array', "take it out")
        if about_member and self.duration_s is not None:
            _refuse("duration_s", f'a "{self.kind}" has no length', "take it out")
        return self

    @model_serializer
    def _write(self) -> dict[str, object]:
        told = {"kind": self.kind, "at_s": self.at_s, "duration_s": self.duration_s, "member": self.member}
        return {name: value for name, value in told.items() if value is not None}


def _refuse(field: str, what: str, hint: str) -> None:
    raise_problems("events", [Problem(field, what, hint)])
