"""Advice for readers: as a document for people, and as JSON for programs."""

from __future__ import annotations

import dataclasses

from flatwater.advise.advice import Advice
from flatwater.advise.adviser import Consultation
from flatwater.advise.verify import Verified
from flatwater.analysis.autocorrelation import CONFIDENCE
from flatwater.report.document import Block, Code, Document, Heading, Items, Paragraph
from flatwater.report.sentences import mean_text
from flatwater.results import CellSummary
from flatwater.stores import shown

#: Of the object that `--json` prints.
JSON_VERSION = 1
#: Rules in a line; --json names all of them.
_NAMED_MAX = 12


def as_document(told: Consultation, verified: Verified | None = None) -> Document:
    """The advice with its evidence, the most important first."""
    title = f"Advice for {told.cell.label}"
    blocks: list[Block] = []
    for number, advice in enumerate(told.advice, 1):
        blocks += _advice_blocks(number, advice)
        if verified is not None and verified.advice.rule == advice.rule:
            blocks.append(Paragraph(verified_text(verified), "measured:"))
    return Document(title, headline(told), (*blocks, *_not_judged_blocks(told)))


def _not_judged_blocks(told: Consultation) -> list[Block]:
    """The rules that could not be judged, together where they lack the same."""
    if not told.not_judged:
        return []
    rules: dict[tuple[str, ...], list[str]] = {}
    for one in told.not_judged:
        rules.setdefault(one.why, []).append(one.rule)
    lines = tuple(f"{_names(names)}: {'; '.join(why)}" for why, names in rules.items())
    return [Heading(f"Not judged: {many(len(told.not_judged))}"), Items(lines)]


def not_judged_line(told: Consultation) -> str | None:
    """The rules that could not be judged in one line; None if there are none."""
    if not told.not_judged:
        return None
    why = dict.fromkeys(reason for one in told.not_judged for reason in one.why)
    return f"Not judged: {many(len(told.not_judged))}. {'; '.join(why)}."


def many(rules: int) -> str:
    """`1 rule`, `3 rules`."""
    return f"{rules} rule{'' if rules == 1 else 's'}"


def _names(rules: list[str]) -> str:
    more = len(rules) - _NAMED_MAX
    return ", ".join(rules[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def headline(told: Consultation) -> str:
    """What was measured, what bounded it, and whether there is anything to change."""
    summary = told.cell.summary
    assert summary is not None
    level = f"{mean_text(summary)}, {summary.verdict or 'not judged'}. {told.diagnosis.text}"
    if told.advice:
        return level
    why = "the load that was asked for was served" if told.diagnosis.name == "nothing" else "no rule is sure enough"
    if told.not_judged:
        why += f", and {len(told.not_judged)} could not be judged"
    return f"{level} Nothing to change: {why}."


def verified_text(verified: Verified) -> str:
    """Before and after, and whether the promise was kept."""
    before, after = (_level(one) for one in (verified.before, verified.after))
    told = f"{before} before, {after} after"
    if verified.ratio is not None and verified.low is not None and verified.high is not None:
        told += f": {verified.ratio:.3f}x ({100 * CONFIDENCE:.0f} % CI {verified.low:.3f} to {verified.high:.3f})"
        told += ", no difference shown" if verified.low <= 1 <= verified.high else ""
    effect = verified.advice.effect
    if effect is not None and verified.keeps_promise is not None:
        found = "within" if verified.keeps_promise else "NOT within"
        told += f", {found} the expected {effect.low:.2f}x to {effect.high:.2f}x"
    return f"{told}. The result is in {verified.folder}."


def _level(summary: CellSummary) -> str:
    return f"{mean_text(summary)} ({summary.verdict or 'not judged'})"


def _advice_blocks(number: int, advice: Advice) -> list[Block]:
    blocks: list[Block] = [Heading(f"{number}. {advice.finding}")]
    if advice.evidence:
        blocks.append(Items(advice.evidence))
    blocks.append(Paragraph(advice.change.text, "change:"))
    if advice.change.lines:
        blocks.append(Code(advice.change.lines))
    blocks.append(Paragraph(advice.expected, "expected:"))
    if advice.risk:
        blocks.append(Paragraph(advice.risk, "risk:"))
    blocks.append(Paragraph(f"{advice.confidence}; rule {advice.rule}; {advice.source}", "confidence:"))
    return blocks


def as_data(told: Consultation, verified: Verified | None = None) -> dict[str, object]:
    """Everything that is told, as JSON has it."""
    found: dict[str, object] = {
        "schema_version": JSON_VERSION,
        "run": shown(told.cell.result.path),
        "cell": told.cell.index,
        "set": told.cell.set,
        "headline": headline(told),
        "bound": told.diagnosis.stored().model_dump(mode="json"),
        "advice": [dataclasses.asdict(one) for one in told.advice],
        "not_judged": [dataclasses.asdict(one) for one in told.not_judged],
    }
    if verified is not None:
        found["verified"] = {
            "rule": verified.advice.rule,
            "before": verified.before.mean,
            "after": verified.after.mean,
            "unit": verified.after.unit,
            "verdict_before": verified.before.verdict,
            "verdict_after": verified.after.verdict,
            "ratio": verified.ratio,
            "low": verified.low,
            "high": verified.high,
            "keeps_promise": verified.keeps_promise,
            "result": str(verified.folder),
        }
    return found
