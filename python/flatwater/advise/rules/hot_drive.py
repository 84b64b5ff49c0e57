"""A drive that slowed itself down because it was hot."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.results.health import DriveHealth


class HotDrive(Rule):
    """Thermal throttling while it was measured."""

    name = "hot-drive"
    about = "a drive that throttled because it was hot"
    source = (
        "NVM Express Base Specification, SMART / Health Information log: Warning Composite Temperature Time, "
        "Thermal Management transition counts"
    )
    elsewhere = "nothing tells what the cool drive would have done"

    def advise(self, case: Case) -> Advice | None:
        """More air, and a new measurement."""
        health, device = case.evidence.health, case.evidence.device
        line = device.temperature_c if device is not None else None
        hot = [drive for drive in health.drives if drive.was_hot and not drive.modelled] if health else []
        if not hot:
            return None
        slowed = any(drive.throttle_events for drive in hot)
        return self.advice(
            "A drive was hot and slowed itself down while it was measured."
            if slowed
            else "A drive was at its warning temperature while it was measured, where drives slow themselves down.",
            Change(
                "hardware", "Give the drive more air or a heat sink, and measure again: these figures may be too low."
            ),
            *(_heat(one) for one in hot),
            f"the warmest drive had up to {line.max:.0f} degrees Celsius" if line is not None else None,
            confidence="high" if slowed else "medium",
        )


def _heat(drive: DriveHealth) -> str:
    """`/dev/nvme0n1: slowed itself down 3 times, 84 degrees Celsius at the end (it warns from 70)`."""
    told = []
    if drive.throttle_events:
        told.append(f"slowed itself down {drive.throttle_events:,.0f} times")
    if drive.hot_minutes:
        told.append(f"at its warning temperature or above for {drive.hot_minutes:,.0f} min")
    if drive.temperature_c is not None:
        limit = f" (it warns from {drive.temperature_warning_c:.0f})" if drive.temperature_warning_c else ""
        told.append(f"{drive.temperature_c:.0f} degrees Celsius at the end{limit}")
    return f"{drive.device}: {', '.join(told)}"
