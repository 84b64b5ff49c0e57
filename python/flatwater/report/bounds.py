"""What bounded the cells, for the report's first screen: as it was told when the run was summarised."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.report.swept import label
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.schema import Bound

#: The most cells that a line names individually.
NAMED_MAX = 4
#: The most lines of the first screen; the cells' own sections have the others.
LINES_MAX = 5
#: The most sentences of evidence of one cell of several.
EVIDENCE_SHOWN = 2
#: A label of more characters is longer than what is said of its cell.
LABEL_MAX = 40


@dataclass(frozen=True)
class BoundLine:
    """One bound, of one cell or of several."""

    text: str
    #: Which cells, in words; empty where there is only one.
    cells: str
    #: Of the cell in which it is strongest.
    evidence: list[str]


def bounds(result: Result) -> list[BoundLine]:
    """A line for each bound, the one of most cells first."""
    told = [(cell, summary.bound) for cell in result.cells if (summary := cell.summary) is not None and summary.bound]
    if len(result.cells) == 1 and told:
        bound = told[0][1]
        rest = [bound.interruptions_text] if bound.interruptions_text else []
        return [BoundLine(bound.text, "", [*bound.evidence, *rest])]
    groups: dict[str, list[tuple[Cell, Bound]]] = {}
    for cell, bound in told:
        groups.setdefault(bound.name, []).append((cell, bound))
    ordered = sorted(groups.values(), key=len, reverse=True)
    return [_line(group, len(told)) for group in ordered[:LINES_MAX]]


def bound_word(summary: CellSummary) -> str:
    """The bound in a table's column."""
    return summary.bound.name if summary.bound is not None else ""


def sentences_of(evidence: list[str]) -> str:
    """Evidence as running text."""
    text = "; ".join(evidence)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _line(group: list[tuple[Cell, Bound]], cells: int) -> BoundLine:
    strongest, bound = max(group, key=lambda one: one[1].share or 0.0)
    many = f"all {cells} cells" if len(group) == cells else f"{len(group)} of {cells} cells"
    named = "; ".join(_name(cell) for cell, _ in group[:NAMED_MAX])
    more = f" and {len(group) - NAMED_MAX} more" if len(group) > NAMED_MAX else ""
    which = "" if len(group) == cells else f"({named}{more})"
    words = _NAMES.get(bound.name, f"Bound by: {bound.name}")
    of = "" if len(group) == 1 else f"{_name(strongest)}: "
    evidence = [of + "; ".join(bound.evidence[:EVIDENCE_SHOWN])] if bound.evidence else []
    return BoundLine(f"{words}, {many}.", which, evidence)


def _name(cell: Cell) -> str:
    """A cell's label where it is short, else its number: the table below has both."""
    words = label(cell)
    return words if len(words) <= LABEL_MAX else f"cell {cell.index}"


_NAMES = {
    "nothing": "Bound by nothing, the load asked was served",
    "not told": "Not told what bounded it",
}
