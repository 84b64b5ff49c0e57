"""Candidates side by side, by hand."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import pytest

from flatwater.cost import Asked, compare_costs
from flatwater.cost.life import Wearing
from flatwater.cost.parts import Part
from flatwater.cost.words import headline, item_texts
from flatwater.errors import UserError

sys.path.insert(0, str(Path(__file__).parent))
from priced import book, candidate, line

CARD = line("card", devices=["a-card"], power_w=25.0)
DEAR = line("dear", price=4000.0, devices=["dear-card"], power_w=25.0)
POWER = line("power", kind="electricity", price=0.10, per="kWh")
SLOW, FAST = Part("storage", "a-card"), Part("storage", "dear-card")


def test_cost_of_a_unit_with_its_interval() -> None:
    found = compare_costs([candidate("a", 500.0, low=400.0, high=625.0)], book(CARD), Asked(years=3))
    (row,) = found.rows
    assert (row.cost, row.cost_per, row.cost_per_low, row.cost_per_high) == (1000, 2.0, 1.6, 2.5)
    assert row.price_per == 2.0 and row.watts_per == 0.05 and row.frontier == "yes"


def test_the_cheapest_for_its_throughput_is_first_and_the_load_takes_servers() -> None:
    rows = compare_costs(
        [candidate("fast", 1000.0, FAST), candidate("slow", 300.0, SLOW)], book(CARD, DEAR), Asked()
    ).rows
    assert [(row.candidate.name, row.servers, row.cost_of_load) for row in rows] == [
        ("slow", 4, 4000.0),
        ("fast", 1, 4000.0),
    ]
    asked = Asked(load=600.0)
    rows = compare_costs([candidate("slow", 300.0, SLOW)], book(CARD), asked).rows
    assert rows[0].servers == 2, "exactly two serve twice as much"


def test_electricity_is_in_all_sums_or_in_none() -> None:
    both = [candidate("fast", 1000.0, FAST), candidate("slow", 300.0, SLOW)]
    found = compare_costs(both, book(CARD, DEAR, POWER), Asked(years=1))
    assert found.electricity is not None and found.electricity.line.name == "power"
    assert [row.cost for row in found.rows] == [pytest.approx(1021.915), pytest.approx(4021.915)]
    unknown = line("dear", price=4000.0, devices=["dear-card"])
    found = compare_costs(both, book(CARD, unknown, POWER), Asked(years=1))
    assert found.electricity is None and [row.cost for row in found.rows] == [1000, 4000]
    assert "electricity: the power of dear is not known" in found.excluded


def test_servers_are_in_all_sums_or_in_none() -> None:
    machine = line("r900", kind="server", price=10_000.0, machines=["r900"])
    with_one = candidate("a", 1.0, SLOW, Part("server", "r900"))
    other = candidate("b", 1.0, SLOW, Part("server", "other"))
    assert compare_costs([with_one], book(CARD, machine), Asked()).rows[0].cost == 11_000
    found = compare_costs([with_one, other], book(CARD, machine), Asked())
    assert [row.cost for row in found.rows] == [1000, 1000]
    assert {"the server (r900)", "the server (other)"} <= set(found.excluded)


def test_the_headline_says_whether_the_servers_are_in_the_sum() -> None:
    machine = line("r900", kind="server", price=10_000.0, machines=["r900"])
    server = Part("server", "r900")
    both = [candidate("a", 1.0, SLOW, server), candidate("b", 2.0, FAST, server)]
    assert "without the price of the servers" not in headline(compare_costs(both, book(CARD, DEAR, machine), Asked()))
    assert "without the price of the servers" in headline(compare_costs(both, book(CARD, DEAR), Asked()))


def test_a_row_without_a_price_is_last_and_off_the_frontier() -> None:
    rows = compare_costs(
        [candidate("x", 9000.0, Part("storage", "unheard-of")), candidate("slow", 300.0, SLOW)], book(CARD), Asked()
    ).rows
    assert [row.candidate.name for row in rows] == ["slow", "x"]
    assert rows[1].cost is None and rows[1].frontier is None and rows[0].frontier == "yes"


def test_prices_of_different_times_are_told() -> None:
    old = line("old", date=datetime.date(2001, 1, 1), kind="memory", per="GB")
    found = compare_costs([candidate("a", 1.0, SLOW, Part("memory", "", size_bytes=2**30))], book(CARD, old), Asked())
    assert any("of different times, 2001-01-01 to 2010-06-14" in note for note in found.notes)


def test_the_day_is_the_newest_price_of_the_storage() -> None:
    later = line("later", date=datetime.date(2012, 1, 1), devices=["a-card"])
    assert compare_costs([candidate()], book(CARD, later), Asked()).day == later.date
    asked = Asked(day=datetime.date(2010, 1, 1))
    assert compare_costs([candidate()], book(CARD, later), asked).rows[0].sum.items[0].priced.line.name == "card"


def test_the_items_are_the_whole_cost() -> None:
    """A drive that is bought again, and electricity: what is not a line item cannot be traced."""
    wearing = {"storage": Wearing(host_bytes_per_s=1e6)}
    flash = line("card", devices=["a-card"], power_w=25.0, endurance="31557600000000B")  # a year of 1 MB/s
    found = compare_costs([candidate("a", 500.0, SLOW, wearing=wearing)], book(flash, POWER), Asked(years=3))
    (row,) = found.rows
    bought, again, power = item_texts(row, found)
    assert bought[4] == "$1,000"
    assert again[1:5] == ("2", "the same, bought again 2 times: worn out", "$1,000 per item", "$2,000")
    assert power[:2] == ("electricity", "657.5") and power[4].startswith("$65.7") and "power, 2010-06-14" in power[6]
    assert row.cost == pytest.approx(3000 + 65.745)


def test_texts_of_a_line_are_one_line() -> None:
    odd = line("odd", devices=["a-card"], title="two\nlines", source="a\ttab")
    found = compare_costs([candidate()], book(odd), Asked())
    (item,) = item_texts(found.rows[0], found)
    assert item[2] == "two lines" and item[6].endswith(": a tab")


def test_of_one_row_nothing_is_the_cheapest() -> None:
    found = compare_costs([candidate("a", 500.0)], book(CARD), Asked(years=3))
    assert headline(found) == "a, $2 per NOTPM over 3 years."


def test_why_electricity_is_left_out_is_one_reason() -> None:
    rented = line("rented", kind="instance", devices=["a-card"], per="hour")
    for lines, why in (
        (book(rented, POWER), "nothing that takes it is bought"),
        (book(CARD), "no price line has it in USD"),
        (book(line("card", devices=["a-card"]), POWER), "the power of card is not known"),
    ):
        found = compare_costs([candidate()], lines, Asked())
        assert f"electricity: {why}" in found.excluded


def test_two_units_cannot_be_compared() -> None:
    with pytest.raises(UserError, match="NOTPM and tps"):
        compare_costs([candidate(), candidate(unit="tps")], book(CARD), Asked())
