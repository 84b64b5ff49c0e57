"""The gauges of modelled flash, and how long it lasts: with numbers worked out by hand, and from runs of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab import Lab

from flatwater.experiment import Experiment, load
from flatwater.health.modelled import modelled_health
from flatwater.health.words import used_text
from flatwater.results import Phase, Series

#: 1 GiB of flash and 1,000 cycles.
CARD = """\
kind = "ssd"
title = "A card for tests"
capacity = "800MiB"
[geometry]
raw = "1GiB"
channels = 4
dies_per_channel = 2
page = "4KiB"
pages_per_block = 32
[timing]
channel_mib_per_s = 400
[link]
read_mib_per_s = 1000
write_mib_per_s = 1000
[controller]
synchronous_us = 10
[wear]
cell = "MLC"
rated_cycles = 1000
{more}
[sources]
capacity = "chosen"
geometry = "chosen"
timing = "chosen"
link = "chosen"
controller = "chosen"
wear = "chosen"
"""
GIB, YEAR_S = 2**30, 365.25 * 86_400
PHASES = [Phase(name="warmup", start_s=0, end_s=10), Phase(name="measure", start_s=10, end_s=20)]


def experiment(tmp_path: Path, more: str = "", storage: dict[str, Any] | None = None) -> Experiment:
    (tmp_path / "card.toml").write_text(CARD.format(more=more))
    fields = {"kind": "ssd", "device": str(tmp_path / "card.toml")} | (storage or {})
    path = tmp_path / "experiment.toml"
    lines = [
        f"{name} = {str(value).lower() if not isinstance(value, str) else repr(value)}"
        for name, value in fields.items()
    ]
    path.write_text(
        '[workload]\nkind = "fileio"\nmode = "rndwr"\nduration_s = 10\n[storage]\n' + "\n".join(lines) + "\n"
    )
    return load(str(path), [], None)


def reader(series: dict[str, float | list[float]]) -> Any:
    """Series at seconds 11 to 20; what is not named has no samples."""

    def read(layer: str, metric: str) -> Series:
        values = series.get(f"{layer}.{metric}")
        if values is None:
            return Series(np.array([]), np.array([]))
        times = np.arange(11.0, 21.0)
        return Series(times, np.array(values if isinstance(values, list) else [values] * len(times), dtype=float))

    return read


def test_years_from_the_bytes_that_were_written_to_flash(tmp_path: Path) -> None:
    # 1,000 GiB may be erased; half of that is left; 1 MiB/s of the host's and 3 MiB/s of the collector's.
    told = {
        "storage.media_wearout": 50.5,
        "storage.host_written_bytes_per_s": 2.0**20,
        "storage.relocated_bytes_per_s": 3 * 2.0**20,
        "storage.available_reserve_pct": 97,
    }
    health = modelled_health(experiment(tmp_path), reader(told), PHASES)
    assert health is not None
    (card,) = health.drives
    assert (card.device, card.model, card.modelled) == ("card", "A card for tests", True)
    assert (card.used_pct, card.spare_pct) == (pytest.approx(50), 97)
    assert card.write_amplification == pytest.approx(4)
    seconds = 0.5 * 1000 * GIB / (4 * 2**20)
    assert card.workload_life is not None and card.workload_life.years == pytest.approx(seconds / YEAR_S)
    assert card.rated_life is None
    assert health.years == card.workload_life.years


def test_of_a_scaled_card_the_whole_ones_life_is_told(tmp_path: Path) -> None:
    told = {"storage.media_wearout": 50.5, "storage.host_written_bytes_per_s": 1e6, "storage.relocated_bytes_per_s": 0}
    whole = modelled_health(experiment(tmp_path), reader(told), PHASES)
    scaled = modelled_health(experiment(tmp_path, storage={"capacity_scale": 0.1}), reader(told), PHASES)
    assert whole is not None and scaled is not None
    # Written at the same rate, a tenth of the flash wears ten times as fast: the whole card's life stays.
    assert scaled.years == pytest.approx(whole.years)
    assert "(the 10 % of it that are modelled: " in scaled.text[0]


def test_the_makers_bytes_where_a_source_tells_them(tmp_path: Path) -> None:
    told = {"storage.media_wearout": 100, "storage.host_written_bytes_per_s": 1e6, "storage.relocated_bytes_per_s": 0}
    health = modelled_health(experiment(tmp_path, "endurance_tbw = 40"), reader(told), PHASES)
    assert health is not None
    (card,) = health.drives
    assert card.rated_life is not None and card.rated_life.years == pytest.approx(40e6 / YEAR_S)
    assert health.text[1].startswith("card: the maker allows 40 TB, which last 15 months")
    # The advice shows this text alone.
    assert card.rated_life.basis == "15 months: the maker allows 40 TB"


def test_a_card_that_nothing_wears_and_one_that_is_worn_out(tmp_path: Path) -> None:
    idle = modelled_health(
        experiment(tmp_path),
        reader(
            {"storage.media_wearout": 100, "storage.host_written_bytes_per_s": 0, "storage.relocated_bytes_per_s": 0}
        ),
        PHASES,
    )
    assert idle is not None and idle.years is None
    assert idle.text == ["card: 0 % of its rated life is used; this cell does not wear it"]
    worn = modelled_health(experiment(tmp_path), reader({"storage.media_wearout": 1}), PHASES)
    assert worn is not None and worn.years == 0
    assert worn.text == ["card: its rated life is used up"]


def test_nothing_measured_is_nothing_told(tmp_path: Path) -> None:
    assert modelled_health(experiment(tmp_path), reader({}), PHASES) is None
    told = reader({"storage.media_wearout": 50})
    assert modelled_health(experiment(tmp_path), told, [Phase(name="warmup", start_s=0, end_s=30)]) is None


def test_devices_that_do_not_wear_have_no_health() -> None:
    told = reader({"storage.media_wearout": 50})
    assert modelled_health(load("array-perc5", [], None), told, PHASES) is None
    assert modelled_health(load("appliance-2008", [], None), told, PHASES) is None


def test_members_of_an_array_wear_out_together() -> None:
    fall = [20 - 0.01 * second for second in range(10)]
    told = {f"storage.member{number}_media_wearout": fall for number in range(4)}
    health = modelled_health(load("raid-wear", [], None), reader(told), PHASES)
    assert health is not None
    assert [drive.device for drive in health.drives] == [f"member {number}" for number in range(4)]
    assert health.text[0].startswith("member 0, member 1, member 2, member 3: 80.9 % of its rated life is used")
    assert health.text[-1].startswith("RAID 5: member 0, member 1, member 2, member 3 will wear out together")
    # 0.01 of 99 points a second; 18.91 points are left of the two-hundredth that is modelled.
    assert health.years == pytest.approx((fall[-1] - 1) / 0.01 / YEAR_S / 0.005, rel=1e-3)


def test_both_ways_to_the_rate_come_to_the_same_in_a_run(lab: Lab, tmp_path: Path) -> None:
    """The gauge falls by as much as the bytes say that were written to flash."""
    (tmp_path / "card.toml").write_text(CARD.format(more=""))
    path = tmp_path / "run.toml"
    workload = 'kind = "fileio"\nmode = "rndwr"\nblock_size = "16KiB"\nduration_s = 60\nwarmup_s = 0\nthreads = 4'
    card_file = tmp_path / "card.toml"
    path.write_text(f'[workload]\n{workload}\n[storage]\nkind = "ssd"\ndevice = "{card_file}"\nlife_used_pct = 10\n')
    ran = lab.run(path, "--json")
    assert ran.code == 0, ran.stderr
    (card,) = ran.cell["health"]["drives"]
    wear = ran.recorded.measured("storage", "media_wearout")
    fallen_pct = (wear.value[0] - wear.value[-1]) / 99 * 100
    by_gauge_s = (100 - card["used_pct"]) / (fallen_pct / (wear.time_s[-1] - wear.time_s[0]))
    assert card["used_pct"] > card["used_pct_before"] > 9.9
    assert card["workload_life"]["years"] * YEAR_S == pytest.approx(by_gauge_s, rel=0.05)
    assert card["write_amplification"] == pytest.approx(
        ran.cell["metrics"]["storage.write_amplification"]["mean"], rel=0.05
    )
    assert "drives: card: " not in ran.stdout, "JSON only"


def test_a_share_that_is_used_has_no_exponent() -> None:
    told = [used_text(pct).partition(" %")[0] for pct in (0, 1e-5, 0.0123, 40, 255)]
    assert told == ["0", "less than 0.01", "0.0123", "40", "255"]
