"""The words for what a workload does: a database does transactions, everything else does requests."""

from __future__ import annotations

#: Units of database workloads, our own and those of imported results, in lower case.
TRANSACTION_UNITS = frozenset({"notpm", "nopm", "tpmc", "tpm", "tps", "qps"})
#: Those of them that count what ends in a minute.
MINUTE_UNITS = frozenset({"notpm", "nopm", "tpmc", "tpm"})


def does_transactions(unit: str) -> bool:
    """Whether throughput in this unit is a database's."""
    return unit.casefold() in TRANSACTION_UNITS


def what_is_done(unit: str) -> str:
    """`transactions` or `requests`."""
    return "transactions" if does_transactions(unit) else "requests"


def counts_by_the_minute(unit: str) -> bool:
    """Whether throughput in this unit is a count a minute, not a second."""
    return unit.casefold() in MINUTE_UNITS


def is_a_count(unit: str) -> bool:
    """Whether throughput in this unit is a number of transactions or requests, not of bytes."""
    return does_transactions(unit) or unit == "IOPS"
