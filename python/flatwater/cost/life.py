"""How long flash lasts under a load: by its maker's rating, and by its cells where write amplification is known."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.cost.line import HOURS_PER_YEAR

SECONDS_PER_YEAR = HOURS_PER_YEAR * 3600


@dataclass(frozen=True)
class Wearing:
    """What a load writes to one drive, bytes a second; None where it was not recorded."""

    host_bytes_per_s: float | None
    #: Flash bytes for each byte of the host.
    write_amplification: float | None = None


@dataclass(frozen=True)
class Life:
    """Years until one drive is worn out by a load that never stops; None where it cannot be told."""

    #: The maker's rating of host bytes, divided by what the host writes in a year.
    rated_years: float | None
    #: Rated erases of all cells, divided by what write amplification makes of the host's writes in a year.
    cell_years: float | None

    @property
    def years(self) -> float | None:
        """The shorter of the two: whoever plans does so for the worse."""
        known = [one for one in (self.rated_years, self.cell_years) if one is not None]
        return min(known, default=None)


def life_of(wearing: Wearing, rated_bytes: float | None, cell_bytes: float | None) -> Life:
    """The life of one drive.

    `rated_bytes`: what its maker says a host may write. `cell_bytes`: raw flash times rated erases. A drive to which
    nothing is written lasts for ever, which is said as None: its life is not limited by wear.
    """
    rate = wearing.host_bytes_per_s
    if not rate:
        return Life(None, None)
    amplification = wearing.write_amplification
    return Life(
        rated_years=None if rated_bytes is None else rated_bytes / rate / SECONDS_PER_YEAR,
        cell_years=None
        if cell_bytes is None or not amplification
        else cell_bytes / (rate * amplification) / SECONDS_PER_YEAR,
    )
