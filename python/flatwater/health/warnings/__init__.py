"""Warnings: one file each, met here. To add one: `NAME` and `warn(evidence) -> Iterator[Finding]`, and its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flatwater.health.evidence import Evidence
from flatwater.health.warnings import battery, checks, failing, hot, media, spare, together, warranty, worn
from flatwater.health.warnings.finding import EXIT_CODES, Finding, Level, worst

__all__ = ["EXIT_CODES", "Finding", "Level", "find_warnings", "worst"]

WARNINGS: dict[str, Callable[[Evidence], Iterator[Finding]]] = {
    one.NAME: one.warn for one in (failing, spare, worn, media, hot, together, battery, checks, warranty)
}
#: Which comes first.
_ORDER: tuple[Level, ...] = ("critical", "warning", "unknown", "ok")


def find_warnings(evidence: Evidence) -> list[Finding]:
    """All that is worth knowing, the worst first."""
    found = [finding for warn in WARNINGS.values() for finding in warn(evidence)]
    return sorted(found, key=lambda finding: _ORDER.index(finding.level))
