"""SATA drives' attributes: which of them tell wear and bytes, and in which unit. Only names that say their unit count.

What a number means is the vendor's own affair. smartctl names attributes from its database of drives (drivedb.h of
smartmontools), and a name is believed for what it says: `Host_Writes_32MiB` counts pieces of 32 MiB whoever made the
drive. For a drive that is not in the database, names are defaults that may be wrong, and only those of rotating disks
and of vendors with one meaning for all drives are believed.
"""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.health.untrusted import Untrusted

_MIB, _GIB = 2.0**20, 2.0**30

#: Names that end in their unit -> bytes of one.
_HOST_WRITTEN = {
    "Host_Writes_32MiB": 32 * _MIB,
    "Host_Writes_MiB": _MIB,
    "Host_Writes_GiB": _GIB,
    "Lifetime_Writes_GiB": _GIB,
    "Total_Writes_GiB": _GIB,
    "Total_Writes_32MiB": 32 * _MIB,
}
_HOST_READ = {
    "Host_Reads_32MiB": 32 * _MIB,
    "Host_Reads_MiB": _MIB,
    "Host_Reads_GiB": _GIB,
    "Lifetime_Reads_GiB": _GIB,
    "Total_Reads_GiB": _GIB,
    "Total_Reads_32MiB": 32 * _MIB,
}
_NAND_WRITTEN = {
    "NAND_Writes_32MiB": 32 * _MIB,
    "NAND_Writes_1GiB": _GIB,
    "NAND_Writes_GiB": _GIB,
    "Total_NAND_Writes_GiB": _GIB,
    "Flash_Writes_GiB": _GIB,
    "TLC_Writes_32MiB": 32 * _MIB,
}
#: Counted in logical sectors.
_SECTORS_WRITTEN, _SECTORS_READ = ("Total_LBAs_Written", "Total_Host_Sector_Write"), ("Total_LBAs_Read",)
#: Samsung, PM863 and later: in sectors, as its 241. (In recorded outputs it is 1.0 to 1.5 times that.)
_SAMSUNG_NAND = "NAND_Writes"
#: Micron TN-FD-23: (247 + 248) / 247 is the write amplification; what a page is, is not told.
_HOST_PAGES, _BACKGROUND_PAGES = "Host_Program_Page_Count", ("Bckgnd_Program_Page_Cnt", "FTL_Program_Page_Count")

#: Normalised values that fall from 100 as the rated life is used.
_LIFE_LEFT = ("Media_Wearout_Indicator", "Percent_Lifetime_Remain", "Percent_Life_Remaining", "Drive_Life_Remaining%")
#: The same, where some firmware counts in the raw value and leaves the normalised one at 100: the smaller one counts.
_LIFE_LEFT_EITHER = ("SSD_Life_Left", "Remaining_Lifetime_Perc", "Remaining_Life")
#: Of Samsung only: of other vendors it is a count of erases.
_SAMSUNG_LIFE = "Wear_Leveling_Count"
_SPARE = ("Available_Reservd_Space", "Reserved_Block_Pct")
_REALLOCATED = ("Reallocated_Sector_Ct", "Reallocate_NAND_Blk_Cnt", "Retired_Block_Count")
_PENDING = "Current_Pending_Sector"
_UNCORRECTED = ("Reported_Uncorrect", "Uncorrectable_Error_Cnt", "Offline_Uncorrectable")
#: Where there is no devstat log: some firmware keeps minima and maxima in the upper bytes of the raw value.
_TEMPERATURE = ("Temperature_Celsius", "Airflow_Temperature_Cel", "Temperature_Internal")


@dataclass(frozen=True)
class Attribute:
    """One line of the table."""

    id: int
    value: float | None
    threshold: float | None
    raw: float | None


@dataclass(frozen=True)
class Attributes:
    """The table, by name."""

    table: dict[str, Attribute]
    #: Whether names can be believed for what they say.
    known: bool
    samsung: bool
    sector_bytes: float

    @classmethod
    def of(cls, told: Untrusted) -> Attributes:
        """The table of smartctl's JSON. A name that is there twice counts as its first line."""
        table: dict[str, Attribute] = {}
        for line in told.at("ata_smart_attributes", "table").items():
            name, number = line.at("name").text, line.at("id").whole
            if name and number is not None and name not in table:
                table[name] = Attribute(
                    number,
                    line.at("value").number,
                    line.at("thresh").number,
                    line.at("raw", "value").number,
                )
        family = f"{told.at('model_family').text} {told.at('model_name').text}".lower()
        rotates = bool(told.at("rotation_rate").number)
        samsung = "samsung" in family
        known = told.at("in_smartctl_database").flag is True or rotates or samsung
        return cls(table, known, samsung, told.at("logical_block_size").number or 512.0)

    @property
    def used_pct(self) -> float | None:
        """Share of the rated life that is used."""
        if not self.known:
            return None
        left = [value for name in _LIFE_LEFT if (value := self._value(name)) is not None]
        for name in _LIFE_LEFT_EITHER:
            both = [value for value in (self._value(name), self._raw(name)) if value is not None and value <= 100]
            left += [min(both)] if both else []
        if self.samsung and (value := self._value(_SAMSUNG_LIFE)) is not None:
            left.append(value)
        # Intel's falls to 1 and stays (SSD DC S3700 Product Specification, attribute E9h): 1 is nothing.
        return max(0.0, 100 - min(left)) if left else None

    @property
    def spare_pct(self) -> float | None:
        """The normalised value of the drive's spare blocks: what is left of them, in percent; None if it does not
        report it.
        """
        return self._first_value(_SPARE)

    @property
    def spare_threshold_pct(self) -> float | None:
        """The value of the spare blocks at which the drive counts as failing; None if it has no such threshold."""
        name = next((name for name in _SPARE if name in self.table), None)
        threshold = self.table[name].threshold if name is not None and self.known else None
        return threshold or None

    @property
    def written(self) -> tuple[float, float] | None:
        """Bytes that the host wrote, and one step of the counter."""
        return self._counted(_HOST_WRITTEN, _SECTORS_WRITTEN)

    @property
    def read(self) -> tuple[float, float] | None:
        """Bytes that the host read, and one step of the counter."""
        return self._counted(_HOST_READ, _SECTORS_READ)

    @property
    def nand(self) -> tuple[float, float] | None:
        """Bytes that were written to the flash, and one step of the counter."""
        sectors = (_SAMSUNG_NAND,) if self.samsung else ()
        return self._counted(_NAND_WRITTEN, sectors)

    @property
    def write_amplification(self) -> float | None:
        """Of the drive's life, where it counts pages of a size that nobody tells."""
        host = self._raw(_HOST_PAGES)
        background = next((raw for name in _BACKGROUND_PAGES if (raw := self._raw(name)) is not None), None)
        if not self.known or not host or background is None:
            return None
        return 1 + background / host

    @property
    def reallocated(self) -> float | None:
        """Number of reallocated sectors or blocks; None if the drive does not count them."""
        return self._first_raw(_REALLOCATED)

    @property
    def pending(self) -> float | None:
        """Number of unreadable sectors that wait for a reallocation; None if the drive does not count them."""
        return self._raw(_PENDING)

    @property
    def uncorrected(self) -> float | None:
        """The largest of the drive's counts of errors that it could not correct; None if it has none."""
        found = [raw for name in _UNCORRECTED if (raw := self._raw(name)) is not None]
        return max(found) if found else None

    @property
    def temperature_c(self) -> float | None:
        """Temperature in degrees Celsius: the lowest byte of the raw value. None if the drive does not report it."""
        raw = self._first_raw(_TEMPERATURE)
        return None if raw is None else float(int(raw) & 0xFF)

    @property
    def failing(self) -> list[str]:
        """Attributes that are at or below their threshold: by ATA's rule the drive is failing or was."""
        return [
            name
            for name, line in self.table.items()
            if line.value is not None and line.threshold and 0 < line.value <= line.threshold
        ]

    def _value(self, name: str) -> float | None:
        """A normalised value that is a percentage."""
        line = self.table.get(name)
        return line.value if line is not None and line.value is not None and line.value <= 100 else None

    def _raw(self, name: str) -> float | None:
        line = self.table.get(name)
        return None if line is None else line.raw

    def _first_value(self, names: tuple[str, ...]) -> float | None:
        return next((value for name in names if (value := self._value(name)) is not None), None) if self.known else None

    def _first_raw(self, names: tuple[str, ...]) -> float | None:
        return next((raw for name in names if (raw := self._raw(name)) is not None), None)

    def _counted(self, units: dict[str, float], sectors: tuple[str, ...]) -> tuple[float, float] | None:
        if not self.known:
            return None
        for name, unit in units.items():
            if (raw := self._raw(name)) is not None:
                return raw * unit, unit
        raws = [raw for name in sectors if (raw := self._raw(name)) is not None]
        return (raws[0] * self.sector_bytes, self.sector_bytes) if raws else None
