"""Sums that can be done by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.cost.book import PriceBook
from flatwater.cost.candidate import Candidate
from flatwater.cost.life import Wearing
from flatwater.cost.parts import Part
from flatwater.cost.sums import Sum, sum_of
from flatwater.errors import UserError
from flatwater.experiment.cost import CostItem

sys.path.insert(0, str(Path(__file__).parent))
from priced import DAY, book, candidate, line

CARD = line("card", devices=["a-card"], capacity="100GB", power_w=25.0)
MEMORY = line("memory", kind="memory", price=20.0, per="GB")
DIMM = line("dimm", kind="memory", price=100.0, capacity="16GiB")
POOL = Part("memory", "", size_bytes=24 * 2**30)
STORAGE = Part("storage", "a-card", size_bytes=100e9)


def total(one: Candidate, lines: PriceBook, *told: CostItem, servers: bool = True) -> Sum:
    return sum_of(one, lines, DAY, told, servers=servers)


def test_a_card_and_memory_by_the_gb() -> None:
    found = total(candidate("a", 1.0, STORAGE, POOL), book(CARD, MEMORY))
    assert [(item.role, item.quantity, item.once) for item in found.items] == [
        ("storage", 1, 1000.0),
        ("memory", 24.0, 480.0),
    ]
    assert found.price == 1480 and found.price_per_gb == 10.0 and not found.unpriced


def test_what_is_sold_smaller_than_what_ran_is_bought_several_times() -> None:
    small = line("card", devices=["a-card"], capacity="32GB")
    for size, pieces in ((32e9, 1), (33e9, 1), (64e9, 2), (65e9, 2), (200e9, 7)):
        found = total(candidate("a", 1.0, Part("storage", "a-card", size_bytes=size)), book(small))
        assert found.items[0].quantity == pieces, size
    whole = Part("storage", "a-card", 4, size_bytes=64e9)
    assert total(candidate("a", 1.0, whole), book(small)).items[0].quantity == 8


def test_power_is_of_an_item_also_where_the_gb_is_what_is_sold() -> None:
    by_gb = line("card", devices=["a-card"], per="GB", price=1.0, capacity="50GB", power_w=8.0, rack_units=0.5)
    memory = line("memory", kind="memory", price=20.0, per="GB", power_w=2.0)
    found = total(candidate("a", 1.0, STORAGE, POOL), book(by_gb, memory))
    # Two drives of 50 GB; and of memory without a size of its modules, each GB.
    assert [item.watts for item in found.items] == [16.0, 48.0]
    assert found.items[0].rack_units == 1.0


def test_memory_in_whole_modules() -> None:
    found = total(candidate("a", 1.0, STORAGE, POOL), book(CARD, DIMM))
    assert found.items[1].quantity == 2 and found.items[1].once == 200


@pytest.mark.parametrize("per", ["IOPS-month", "MiB/s-month", "GB-month", "GB"])
def test_what_is_not_known_is_not_free(per: str) -> None:
    """A drive has no provisioned requests, and an array that is sold whole no size: none of them is 0."""
    part = STORAGE if per in ("IOPS-month", "MiB/s-month") else Part("storage", "a-card")
    found = total(candidate("a", 1.0, part), book(line("rented", devices=["a-card"], per=per)))
    assert (found.items, found.unpriced) == (
        (),
        (f"storage: rented is priced per {per}, and how many it takes is not known",),
    )


def test_memory_in_modules_of_no_size_has_no_price() -> None:
    found = total(candidate("a", 1.0, STORAGE, POOL), book(CARD, line("dimm", kind="memory", price=100.0)))
    assert found.unpriced == ("memory: dimm is priced per item, and how many it takes is not known",)


def test_a_part_that_is_told_as_it_is_derived_wears_as_it_does() -> None:
    """`--item card=1` for the card that the run stands on must not make it last for ever."""
    one = candidate("a", 1.0, STORAGE, wearing={"storage": Wearing(host_bytes_per_s=1e6)})
    lines = book(line("card", devices=["a-card"], capacity="100GB", endurance="1TB"))
    derived, told = total(one, lines), total(one, lines, CostItem(line="card", quantity=1))
    assert derived.life_years is not None and derived.cost(3, None) > 1000
    assert told == derived
    assert [item.role for item in total(one, lines, CostItem(line="card", quantity=2)).items] == ["told"]


def test_members_of_an_array_and_an_array_that_is_sold_whole() -> None:
    members = Part("storage", "disk", 8, array="array")
    disk = line("disk", kind="disk", price=190.0, devices=["disk"])
    found = total(candidate("a", 1.0, members), book(disk))
    assert found.price == 1520 and found.excluded == ("the controller of array",)
    whole = line("whole", kind="disk", price=5000.0, devices=["array"])
    found = total(candidate("a", 1.0, members), book(disk, whole))
    assert found.price == 5000 and not found.excluded


def test_what_is_rented() -> None:
    volume = Part("storage", "v", size_bytes=100e9, iops=10_000.0, mib_per_s=125.0)
    lines = book(
        line("space", kind="volume", price=0.08, per="GB-month", devices=["v"]),
        line("requests", kind="volume", price=0.005, per="IOPS-month", included=3000.0, devices=["v"]),
        line("rate", kind="volume", price=0.04, per="MiB/s-month", included=125.0, devices=["v"]),
    )
    found = total(candidate("a", 1.0, volume), lines)
    assert found.monthly == pytest.approx(8 + 35 + 0) and found.price == 0
    assert found.cost(3, None) == pytest.approx(43 * 36)
    assert found.watts is None


def test_an_instance_has_its_memory_and_its_server() -> None:
    hourly = line("instance", kind="instance", price=1.0, per="hour", devices=["a-card"])
    server = Part("server", "machine")
    found = total(candidate("a", 1.0, STORAGE, POOL, server), book(hourly, MEMORY, line("m", machines=["machine"])))
    assert [item.priced.line.name for item in found.items] == ["instance"]
    assert found.cost(1, None) == pytest.approx(8766)


def test_electricity_and_cost_of_years() -> None:
    found = total(candidate("a", 1.0, STORAGE), book(CARD))
    # 25 W are 219.15 kWh a year.
    assert found.electricity(2, 0.10) == pytest.approx(43.83)
    assert found.cost(2, 0.10) == pytest.approx(1043.83)
    assert found.cost(2, None) == 1000


def test_a_worn_drive_is_bought_again() -> None:
    # 1 MB/s is 31.5576 TB a year: this rating lasts two years.
    worn = line("card", devices=["a-card"], endurance="63115200000000B")
    one = candidate("a", 1.0, STORAGE, wearing={"storage": Wearing(1e6)})
    found = total(one, book(worn))
    assert found.life_years == pytest.approx(2.0)
    assert found.items[0].replacements(2) == 0
    assert found.items[0].replacements(3) == 1
    assert found.items[0].replacements(4) == 1, "two that last two years each last four"
    assert found.items[0].replacements(5) == 2
    assert found.cost(5, None) == 3000


def test_the_devices_own_rating_stands_before_that_of_what_is_sold() -> None:
    two = line("card", devices=["a-card"], endurance="63115200000000B")
    module = Part("storage", "a-card", rated_bytes=31557600000000.0)
    found = total(candidate("a", 1.0, module, wearing={"storage": Wearing(1e6)}), book(two))
    assert found.life_years == pytest.approx(1.0)


def test_dwpd_is_a_rating() -> None:
    rated = line("card", capacity="1000GB", dwpd=3.0, warranty_years=5.0)
    assert rated.rated_bytes == pytest.approx(3 * 1e12 * 5 * 365.25)


def test_what_has_no_price_is_told() -> None:
    found = total(candidate("a", 1.0, Part("storage", "unheard-of")), book(CARD))
    assert found.unpriced == ("storage: no price line has unheard-of",)
    real = Part("storage", "", unknown="the files are at /mnt")
    assert total(candidate("a", 1.0, real), book(CARD)).unpriced == ("storage: the files are at /mnt",)


def test_told_items_stand_for_what_nothing_names() -> None:
    real = Part("storage", "", unknown="the files are at /mnt")
    one = candidate("a", 1.0, real, POOL, wearing={"storage": Wearing(1e6)})
    rated = line("card", endurance="31557600000000B", capacity="100GB")
    found = total(one, book(rated, MEMORY), CostItem(line="card", quantity=1))
    assert not found.unpriced and found.life_years == pytest.approx(1.0) and found.price_per_gb == 10.0
    # Of two drives nobody knows how the writes were shared out.
    assert total(one, book(rated, MEMORY), CostItem(line="card", quantity=2)).life_years is None


def test_told_items_replace_and_take_away() -> None:
    one = candidate("a", 1.0, STORAGE, POOL)
    lines = book(CARD, MEMORY, line("controller", kind="controller", price=300.0))
    assert total(one, lines, CostItem(line="memory", quantity=0)).price == 1000
    assert total(one, book(CARD, MEMORY, DIMM), CostItem(line="dimm", quantity=4)).price == 1400
    assert total(one, lines, CostItem(line="card", quantity=2)).price == 2480
    assert total(one, lines, CostItem(line="controller")).price == 1780


def test_a_line_that_there_is_not() -> None:
    with pytest.raises(UserError, match=r"--item: there is no price line 'crd' \(hint: did you mean card"):
        total(candidate("a", 1.0, STORAGE), book(CARD), CostItem(line="crd"))


def test_two_currencies_make_no_sum() -> None:
    euros = line("memory", kind="memory", price=20.0, per="GB", currency="EUR")
    with pytest.raises(UserError, match="mixes EUR and USD"):
        total(candidate("a", 1.0, STORAGE, POOL), book(CARD, euros))
