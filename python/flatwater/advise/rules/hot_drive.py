"""A drive that slowed itself down because it was hot."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule


class HotDrive(Rule):
    """Thermal throttling while it was measured."""

    name = "hot-drive"
    about = "a drive that throttled because it was hot"
    source = "NVM Express Base Specification, SMART / Health Information log: Thermal Management transition counts"

    def advise(self, case: Case) -> Advice | None:
        """More air, and a new measurement."""
        health = case.evidence.health
        hot = [drive for drive in health.drives if drive.throttle_events and not drive.modelled] if health else []
        if not hot:
            return None
        return self.advice(
            "A drive was hot and slowed itself down while it was measured.",
            Change("hardware", "Give the drive more air or a heat sink, and measure again: these figures are too low."),
            *(
                f"{one.device}: {one.throttle_events:,.0f} times"
                + (f", {one.temperature_c:.0f} degrees Celsius at the end" if one.temperature_c is not None else "")
                for one in hot
            ),
            confidence="high",
        )
