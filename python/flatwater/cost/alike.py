"""Whether results answer the same question, so that one may be called cheaper than another."""

from __future__ import annotations

from collections.abc import Sequence

from flatwater.analysis.alike import differences
from flatwater.experiment.roles import DECISIVE, role_with
from flatwater.results import Result


def not_comparable(results: Sequence[Result], *, alone: bool = False) -> str:
    """Why no frontier can be drawn through the results' cells; empty where one can. `alone`: one cell only."""
    fields: dict[str, None] = {}
    for result in results:
        workload = result.experiment.get("workload")
        kind = workload.get("kind") if isinstance(workload, dict) else None
        swept = {field for cell in result.cells for field in cell.set}
        if not alone:
            fields |= dict.fromkeys(field for field in sorted(swept) if role_with(field, kind) in DECISIVE)
    for other in results[1:]:
        fields |= dict.fromkeys(one.field for one in differences(results[0], other) if one.decisive)
    if not fields:
        return ""
    return (
        f"no frontier: the rows differ in {', '.join(fields)}, so that they answer different questions "
        "(--anyway draws it)"
    )
