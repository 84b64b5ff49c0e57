"""XtraDB's policies of flushing: by estimate in bursts, or at the average of what is changed."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Elsewhere
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import on_flash
from flatwater.analysis.bound.words import size

_NAME, _WANTED = "innodb_adaptive_flushing_method", "keep_average"
_OTHERS = {"native", "0", "estimate", "1"}
#: Fewer dips are no pattern.
_DIPS_MIN = 3


class FlushingPolicy(Rule):
    """Throughput dips while the checkpoint age goes up and down, on flash: keep_average."""

    name = "flushing-policy"
    about = "dips with a checkpoint age that goes up and down, where XtraDB has another policy"
    source = "Percona Server 5.5, Improved InnoDB I/O Scalability: keep_average is designed for SSD cards"
    elsewhere = Elsewhere(
        1.15,
        1.34,
        "keep_average instead of adaptive flushing, with other settings of the log, tpcc-mysql on FusionIO cards",
        "MySQL 5.5.8 in search of stability (2011); MySQL 5.5.8 and Percona Server in 8-hour runs (2010)",
    )

    def advise(self, case: Case) -> Advice | None:
        """keep_average, where the age swings by more than the limits are apart."""
        server, database = case.server, case.evidence.database
        if case.is_served or server is None or database is None or len(case.evidence.dips) < _DIPS_MIN:
            return None
        age, redo = database.checkpoint_age_bytes, database.redo
        if not server.has(_NAME) or server.word(_NAME) not in _OTHERS or not on_flash(case):
            return None
        if age is None or redo is None or age.max - age.min < redo.max_bytes - redo.async_bytes:
            return None
        change = server.change("Flush each moment as much as is changed on average.", {_NAME: _WANTED})
        if change is None:
            return None
        return self.advice(
            "The throughput dips while the checkpoint age goes up and down.",
            change,
            f"{_NAME} = {server.word(_NAME)}",
            f"the checkpoint age went from {size(age.min)} to {size(age.max)}, and users wait from "
            f"{size(redo.sync_bytes)} on",
            f"there were {len(case.evidence.dips)} dips",
            confidence="medium",
            relieves=case.finding("log limit", "device throughput"),
        )
