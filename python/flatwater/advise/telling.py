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

#: Of the object that `--json` prints.
JSON_VERSION = 1


def as_document(told: Consultation, verified: Verified | None = None) -> Document:
    """The advice with its evidence, the most important first."""
    title = f"Advice for {told.cell.label}"
    blocks: list[Block] = []
    for number, advice in enumerate(told.advice, 1):
        blocks += _advice_blocks(number, advice)
        if verified is not None and verified.advice.rule == advice.rule:
            blocks.append(Paragraph(verified_text(verified), "measured:"))
    return Document(title, headline(told), tuple(blocks))


def headline(told: Consultation) -> str:
    """What was measured, what bounded it, and whether there is anything to change."""
    summary = told.cell.summary
    assert summary is not None
    level = f"{mean_text(summary)}, {summary.verdict or 'not judged'}. {told.diagnosis.text}"
    if told.advice:
        return level
    why = "the load that was asked for was served" if told.diagnosis.name == "nothing" else "no rule is sure enough"
    return f"{level} Nothing to change: {why}."


def verified_text(verified: Verified) -> str:
    """Before and after, and whether the promise was kept."""
    before, after = (_level(one) for one in (verified.before, verified.after))
    told = f"{before} before, {after} after"
    if verified.ratio is not None and verified.low is not None and verified.high is not None:
        told += f": {verified.ratio:.3f}x ({100 * CONFIDENCE:.0f} % CI {verified.low:.3f} to {verified.high:.3f})"
    if verified.keeps_promise is not None:
        told += ", within what was expected" if verified.keeps_promise else ", NOT within what was expected"
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
    effect = f"{advice.effect.text} ({advice.effect.source})" if advice.effect is not None else advice.no_effect
    blocks.append(Paragraph(effect, "expected:"))
    if advice.risk:
        blocks.append(Paragraph(advice.risk, "risk:"))
    blocks.append(Paragraph(f"{advice.confidence}; rule {advice.rule}; {advice.source}", "confidence:"))
    return blocks


def as_data(told: Consultation, verified: Verified | None = None) -> dict[str, object]:
    """Everything that is told, as JSON has it."""
    found: dict[str, object] = {
        "schema_version": JSON_VERSION,
        "run": str(told.cell.result.path),
        "cell": told.cell.index,
        "set": told.cell.set,
        "headline": headline(told),
        "bound": told.diagnosis.stored().model_dump(mode="json"),
        "advice": [dataclasses.asdict(one) for one in told.advice],
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
