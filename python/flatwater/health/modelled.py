"""The gauges of modelled flash, as a real drive has them, and how long it lasts at a cell's rate.

A model tells its wear exactly (series `media_wearout`, from 100 down to 1, as Intel's Media_Wearout_Indicator), so that
there is no interval of a percent. What is predicted is that of the model: its rated cycles are those of the device's
file, with their source there. A card of which only a share is modelled (`capacity_scale`) wears as much faster; the
life that is told is the whole card's at the same rate of writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from flatwater.errors import UserError
from flatwater.experiment import Experiment
from flatwater.experiment.device import RaidDevice, SsdDevice
from flatwater.experiment.storage import ModelledStorage
from flatwater.health.arrays import Array
from flatwater.health.disks import Disk
from flatwater.health.drive import Gauges, Identity, Reading
from flatwater.health.evidence import Drive, Evidence
from flatwater.health.life import YEAR_S, Life, Rate
from flatwater.health.warnings.together import warn
from flatwater.health.words import bytes_text, span_text, used_text
from flatwater.results.health import CellHealth, DriveHealth, LifeSpan
from flatwater.results.phases import measured_samples
from flatwater.results.schema import Phase
from flatwater.results.series import Series

#: Of the model (crates/model, storage/ssd/told.rs): 100 when new, 1 at the rated cycles, where it stays.
_NEW, _WORN_OUT = 100.0, 1.0
_TB = 1e12
Reader = Callable[[str, str], Series]


@dataclass(frozen=True)
class Card:
    """A modelled card or drive, and where its series are."""

    name: str
    device: SsdDevice
    #: Share of its capacity that is modelled.
    scale: float
    life_used: float
    layer: str
    prefix: str

    @property
    def rated_tb(self) -> float | None:
        """What the host may write to the whole card, by its maker."""
        module = self.device.wear.endurance_tbw
        return None if module is None else module * self.device.modules

    def raw_bytes(self) -> float:
        """Flash of the whole card."""
        return float(self.device.geometry.raw * self.device.modules)


def modelled_health(experiment: Experiment, read: Reader, phases: list[Phase]) -> CellHealth | None:
    """What the gauges of modelled flash are at the end of a cell; None where there is none, or nothing was measured.

    `read` gives a series by its layer and metric.
    """
    drives, worn = [], []
    for card in _cards(experiment):
        wear = measured_samples(read(card.layer, f"{card.prefix}media_wearout"), phases)
        if len(wear):
            worn.append(_Worn(card, wear, _reader(card, read, phases)))
            drives.append(worn[-1].health())
    if not drives:
        return None
    text = [sentence for one in worn for sentence in one.sentences()]
    return CellHealth(drives=drives, text=[*_alike(text), *_together(experiment, worn)])


def _reader(card: Card, read: Reader, phases: list[Phase]) -> Callable[[str], Series]:
    """How to get a card's series, as far as it was measured."""
    return lambda metric: measured_samples(read(card.layer, f"{card.prefix}{metric}"), phases)


def _cards(experiment: Experiment) -> Iterator[Card]:
    """Every modelled card that takes part: of the storage, and of a cache."""
    fast = experiment.flash_cache.fast if experiment.flash_cache is not None else None
    places = ((experiment.storage, "storage", "", "card"), (fast, "cache", "fast_", "cache card"))
    for storage, layer, prefix, name in places:
        if not isinstance(storage, ModelledStorage) or storage.device is None:
            continue
        try:
            device = storage.modelled_device
            member = device.member() if isinstance(device, RaidDevice) else None
        except UserError:
            continue
        used = float(getattr(storage, "life_used_pct", 0.0)) / 100
        if isinstance(device, SsdDevice):
            yield Card(name, device, storage.capacity_scale, used, layer, prefix)
        elif isinstance(device, RaidDevice) and isinstance(member, SsdDevice):
            for number in range(device.members):
                called = f"member {number}" if name == "card" else f"cache member {number}"
                yield Card(called, member, storage.capacity_scale, used, layer, f"{prefix}member{number}_")


class _Worn:
    """One card at the end of a cell."""

    def __init__(self, card: Card, wear: Series, read: Callable[[str], Series]) -> None:
        self.card = card
        self._read = read
        self._left = float(wear.value[-1])
        self._used_before = _used_pct(float(wear.value[0]))
        self.used = _used_pct(self._left)
        self.host_bytes_per_s = _mean(read("host_written_bytes_per_s"))
        self.flash_bytes_per_s = self._flash_bytes_per_s()
        #: Percent of the rated life a second, of what is modelled.
        self.pct_per_s = self._pct_per_s(wear)

    def _flash_bytes_per_s(self) -> float | None:
        moved = _mean(self._read("relocated_bytes_per_s"))
        return None if self.host_bytes_per_s is None or moved is None else self.host_bytes_per_s + moved

    def _pct_per_s(self, wear: Series) -> float | None:
        """From the bytes that were written to flash, each of which is erased in its turn; of the members of an array,
        which do not tell bytes, from the fall of the gauge.
        """
        if self._left <= _WORN_OUT:
            return None
        if self.flash_bytes_per_s is not None:
            cycles = self.card.device.cell.rated_cycles
            return 100 * self.flash_bytes_per_s / (self.card.raw_bytes() * self.card.scale * cycles)
        if len(wear) < 2 or wear.time_s[-1] <= wear.time_s[0]:
            return None
        return (self.used - self._used_before) / float(wear.time_s[-1] - wear.time_s[0])

    @property
    def years(self) -> float | None:
        """Of the whole card at this rate; None where nothing wears it, or it is worn out."""
        if self._left <= _WORN_OUT:
            return 0.0
        return (100 - self.used) / self.pct_per_s / YEAR_S / self.card.scale if self.pct_per_s else None

    @property
    def write_amplification(self) -> float | None:
        host, flash = self.host_bytes_per_s, self.flash_bytes_per_s
        return flash / host if host and flash is not None else None

    def rated_years(self) -> float | None:
        """Until the bytes are written that the maker allows, where the device's file has them."""
        rated = self.card.rated_tb
        if rated is None or not self.host_bytes_per_s:
            return None
        return rated * _TB * (1 - self.card.life_used) / self.host_bytes_per_s / YEAR_S

    def health(self) -> DriveHealth:
        reserve = self._read("available_reserve_pct").value
        return DriveHealth(
            device=self.card.name,
            model=self.card.device.title,
            modelled=True,
            used_pct_before=self._used_before,
            used_pct=self.used,
            spare_pct=float(reserve[-1]) if len(reserve) else None,
            write_amplification=self.write_amplification,
            workload_life=self._workload_life(),
            rated_life=self._rated_life(),
        )

    def _workload_life(self) -> LifeSpan | None:
        cycles = self.card.device.cell.rated_cycles
        source = f"{cycles:,} rated cycles ({self.card.device.wear.cell}), at this cell's rate of writing"
        return _life_span(self.years, source)

    def _rated_life(self) -> LifeSpan | None:
        rated = self.card.rated_tb
        return None if rated is None else _life_span(self.rated_years(), f"the maker allows {rated:,.0f} TB")

    def sentences(self) -> Iterator[str]:
        """What is to be told of it. Equal cards are told of once."""
        years, amplified = self.years, self.write_amplification
        used = used_text(self.used)
        if years == 0:
            yield f"{self.card.name}: its rated life is used up"
            return
        if years is None:
            yield f"{self.card.name}: {used}; this cell does not wear it"
            return
        part = ""
        if self.card.scale < 1:
            modelled = span_text(years * self.card.scale)
            part = f" (the {100 * self.card.scale:.3g} % of it that are modelled: {modelled})"
        written = "" if self.host_bytes_per_s is None else f" ({bytes_text(self.host_bytes_per_s)} a second)"
        more = "" if amplified is None else f", write amplification {amplified:.2f}"
        lasts = f"the rest lasts {span_text(years)}{part}{more}"
        yield f"{self.card.name}: {used}; always written like this{written}, {lasts}"
        rated = self.rated_years()
        if rated is not None:
            yield f"{self.card.name}: the maker allows {self.card.rated_tb:,.0f} TB, which last {span_text(rated)}"


def _life_span(years: float | None, source: str) -> LifeSpan | None:
    """A life that a model knows exactly, and where it comes from."""
    if years is None:
        return None
    text = span_text(years) if years else "its rated life is used up"
    return LifeSpan(years=years, low=years, high=years, basis=f"{text}: {source}")


def _used_pct(left: float) -> float:
    return (_NEW - left) / (_NEW - _WORN_OUT) * 100


def _mean(series: Series) -> float | None:
    values = series.value[np.isfinite(series.value)]
    return float(values.mean()) if len(values) else None


def _alike(sentences: Iterable[str]) -> list[str]:
    """Sentences that differ in the card's name only are one."""
    cards: dict[str, list[str]] = {}
    for sentence in sentences:
        name, _, rest = sentence.partition(": ")
        cards.setdefault(rest, []).append(name)
    return [f"{', '.join(names)}: {rest}" for rest, names in cards.items()]


def _together(experiment: Experiment, worn: list[_Worn]) -> list[str]:
    """The warning that real arrays have, of a modelled one."""
    members = [one for one in worn if one.card.name.startswith("member ")]
    if len(members) < 2 or not isinstance(experiment.storage, ModelledStorage):
        return []
    device = experiment.storage.modelled_device
    level = device.level if isinstance(device, RaidDevice) else 0
    drives = tuple(_as_drive(one) for one in members)
    disks = tuple(Disk(one.card.name, through=one.card.name) for one in members)
    array = Array(f"RAID {level}", "model", str(level), disks, level != 0)
    return [f"{found.subject}: {found.text}" for found in warn(Evidence(0.0, drives, (array,)))]


def _as_drive(one: _Worn) -> Drive:
    years = one.years
    life = None if years is None else Life(years, years, years, None, Rate(one.host_bytes_per_s), "")
    reading = Reading(one.card.name, 0.0, identity=Identity(one.card.device.title), gauges=Gauges(used_pct=one.used))
    return Drive(reading, life=life)
