"""The laboratory's own sums, from the experiments of the library and the price lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flatwater.cost import Asked, Candidate, compare_costs, read_book
from flatwater.cost.parts import parts_of
from flatwater.experiment import cell_at, count_cells, load, published_for
from flatwater.experiment.cost import Cost

#: New-Order transactions a minute for a dollar of storage, as printed on 1 May 2009.
PRINTED = {"8 disks": 4.8, "SATA SSD": 27.0, "PCIe card": 3.6}


def published(name: str) -> list[Candidate]:
    """The cells of an experiment with the published throughputs."""
    experiment = load(name)
    names = experiment.report.names or ["8 disks"]
    found = []
    for place in range(count_cells(experiment)):
        cell = cell_at(experiment, place)
        figure = next(one for one in published_for(experiment, cell.set) if one.relative_to is None)
        cost = experiment.cost or Cost()
        parts = parts_of(cell.experiment)
        found.append(Candidate(names[place], figure.unit, figure.value, None, None, parts, cost))
    return found


def test_transactions_for_a_dollar_in_2009() -> None:
    rows = compare_costs([*published("cost-2009-disks"), *published("cost-2009-flash")], read_book(), Asked()).rows
    told = {row.candidate.name: 1 / row.price_per for row in rows if row.price_per}
    # The author cut the decimals off: 7439.85 / 1520 is 4.89.
    assert told == {name: pytest.approx(value, abs=0.5 if value > 10 else 0.1) for name, value in PRINTED.items()}
    prices = {row.candidate.name: row.sum.price for row in rows}
    assert prices == {"8 disks": 1520, "SATA SSD": 390, "PCIe card": 4800}


def test_prices_of_a_gb() -> None:
    rows = compare_costs([*published("cost-2009-disks"), *published("cost-2009-flash")], read_book(), Asked()).rows
    told = {row.candidate.name: row.sum.price_per_gb for row in rows}
    # The author's 5.2 dollars are for what RAID 10 leaves of the disks, half of this.
    assert told["SATA SSD"] == pytest.approx(12.1, abs=0.1)
    assert told["PCIe card"] == 30
    assert told["8 disks"] == pytest.approx(5.2 / 2, abs=0.05)


def test_fewer_servers_less_power() -> None:
    """What twice the card's load takes: the card needs fewer servers and less power than the disks."""
    disks, _, card = [*published("cost-2009-disks"), *published("cost-2009-flash")]
    rows = {row.candidate.name: row for row in compare_costs([disks, card], read_book(), Asked(load=34_000)).rows}
    assert rows["PCIe card"].servers == 2 and rows["8 disks"].servers == 5
    disk_watts, card_watts = (rows[name].sum.watts or 0.0 for name in ("8 disks", "PCIe card"))
    assert 2 * card_watts < 5 * disk_watts


def test_a_card_at_18999_dollars_for_640_gb() -> None:
    """Two cards with a pool of 13 GB, published in 2012: the dearer one is faster, and dearer for each transaction."""
    experiment = load("tpcc-cards")
    found = []
    for place in range(count_cells(experiment)):
        cell = cell_at(experiment, place)
        figures = [one for one in published_for(experiment, cell.set) if one.relative_to is None]
        if figures:
            name = str(cell.set["storage.device"])
            found.append(Candidate(name, "NOTPM", figures[0].value, None, None, parts_of(cell.experiment)))
    by_pool = [replace(one, name=f"{one.name} {place}") for place, one in enumerate(found)]
    rows = compare_costs(by_pool, read_book(), Asked()).rows
    cards = [row for row in rows if "640" in row.candidate.name]
    items = {item.priced.line.name: item.once for row in cards for item in row.sum.items if item.role == "storage"}
    assert items == {"pcie-card-640-2011": 18999}
    assert cards[0].sum.price_per_gb == pytest.approx(29.69, abs=0.01)
    dearest = min(row.cost_per or 0.0 for row in cards)
    assert all((row.cost_per or 0.0) < dearest for row in rows if "910" in row.candidate.name)
