"""A flash cache that is full, and whose misses bound the run."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.experiment import ModelledStorage, print_size

#: A cache that is not full is still warming up: then its size is not what is missing.
_FULL_PCT = 95.0
#: A cache that hits so rarely saves less than it costs to fill: then a larger one, or none.
_USELESS_RATIO = 0.2
#: A step that shows on any working set.
_TIMES = 2


class CacheSize(Rule):
    """The flash cache is smaller than the working set."""

    name = "cache-size"
    about = "a flash cache that is smaller than the working set"
    source = (
        "Databases on flash, 2008-2011: an SSD cache where the working set fits the cache and not the memory; "
        "flatwater's docs/cache.md"
    )
    elsewhere = "it depends on how much of the working set the larger cache holds"

    def advise(self, case: Case) -> Advice | None:
        """Twice the cache, or none where it hardly ever hits."""
        found, cache = case.finding("cache misses"), case.evidence.cache
        if found is None or cache is None or cache.used_pct is None or cache.used_pct.mean < _FULL_PCT:
            return None
        ratio = cache.read_hit_ratio or cache.hit_ratio
        if ratio is None:
            return None
        size, overrides = _resized(case)
        text = f"Make the cache {print_size(size)}." if size else "Make the cache larger."
        if ratio.mean < _USELESS_RATIO:
            text += " If it cannot be about as large as the working set, take it out: each miss costs a fill."
        return self.advice(
            "The flash cache is full, and smaller than the working set.",
            Change("hardware", text, (), overrides),
            f"{100 * ratio.mean:.1f} % of the reads hit it, and {cache.used_pct.mean:.0f} % of it was in use",
            *found.evidence,
            confidence="high" if ratio.mean >= _USELESS_RATIO else "medium",
            relieves=found,
        )


def _resized(case: Case) -> tuple[int, tuple[str, ...]]:
    """Twice the size in bytes (0 if it is not known), and the overrides, where the modelled card has room for it."""
    flash = case.evidence.experiment.flash_cache if case.evidence.experiment is not None else None
    if flash is None or flash.size is None:
        return 0, ()
    after = _TIMES * flash.size
    fast = flash.storage
    if isinstance(fast, ModelledStorage) and fast.device is not None:
        room = fast.modelled_device.usable_bytes(fast.use())
        return after, (f"cache.size={after}",) if after <= room else ()
    return after, (f"cache.size={after}",)
