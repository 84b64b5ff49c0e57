"""Price files: ours are sound, and what is wrong with one's own is told with its line."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import pytest

from flatwater.cost import InvalidPricesError, PriceBook, Priced, prices_dir, read_book
from flatwater.errors import UserError
from flatwater.experiment.device.files import device_files

sys.path.insert(0, str(Path(__file__).parent))
from priced import DAY, LINE, book, line, written

OURS = read_book()


def test_our_lines_are_read_with_their_place() -> None:
    assert len(OURS.lines) > 20
    for priced in OURS.lines.values():
        file, number = priced.place.removeprefix("prices/").split(":")
        text = (prices_dir() / file).read_text().splitlines()
        assert text[int(number) - 1] == "[[line]]" and f'name = "{priced.line.name}"' == text[int(number)], priced.place


@pytest.mark.parametrize("name", OURS.lines)
def test_each_of_our_lines_has_a_source_and_names_devices_that_there_are(name: str) -> None:
    one = OURS.lines[name].line
    assert len(one.source) > 20
    assert set(one.devices) <= set(device_files())


def test_the_laboratorys_prices() -> None:
    """The prices that the laboratory published, by their lines."""
    told = {name: priced.line.price for name, priced in OURS.lines.items()}
    assert told["fusion-io-iodrive-160-slc-2010-06"] == 6308.99
    assert told["virident-tachion-400-slc-2010"] == 13600
    assert OURS.lines["pcie-card-640-2011"].line.price == 18999
    assert OURS.lines["intel-910-400-2012"].line.price / 400 == 5.25


def test_the_line_of_a_day_is_the_nearest() -> None:
    early = line("early", date=datetime.date(2009, 1, 1), devices=["a-card"])
    late = line("late", date=datetime.date(2011, 1, 1), devices=["a-card"])
    found = book(early, late)
    for day, name in ((DAY, "late"), (datetime.date(2009, 6, 1), "early"), (datetime.date(2030, 1, 1), "late")):
        assert [one.line.name for one in found.of_device("a-card", day)] == [name]
    assert found.latest_of(["a-card", "another"]) == late.date
    assert found.latest_of(["another"]) is None


def test_a_volume_has_a_line_for_each_unit_of_sale() -> None:
    parts = [
        line("space", kind="volume", per="GB-month", devices=["v"]),
        line("requests", kind="volume", per="IOPS-month", devices=["v"]),
    ]
    assert {one.line.name for one in book(*parts).of_device("v", DAY)} == {"space", "requests"}


def test_ones_own_is_taken_before_ours_whatever_its_day() -> None:
    own = line("own", date=datetime.date(2001, 1, 1), kind="memory", per="GB")
    ours = line("ours", kind="memory", per="GB")
    both = PriceBook({"ours": Priced(ours, "ours.toml:1"), "own": Priced(own, "own.toml:1", own=True)})
    found = both.of_kind("memory", DAY)
    assert found is not None and found.line.name == "own"


def test_an_own_line_stands_for_ours(tmp_path: Path) -> None:
    own = written(tmp_path, LINE.replace('"card"', '"intel-910-400-2012"'))
    assert read_book([own]).lines["intel-910-400-2012"].line.price == 1000


@pytest.mark.parametrize(
    ("change", "message", "number"),
    [
        (("price = 1000", "price = -1"), "line[0].price: must be at least 0, not -1", 5),
        (("price = 1000", "price = nan"), "line[0].price: must be a finite number", 5),
        (("price = 1000", "price = inf"), "line[0].price: must be a finite number", 5),
        (("price = 1000", 'price = "much"'), "line[0].price: must be a number", 5),
        (("price = 1000", "price = true"), "line[0].price: must be a number", 5),
        (("price = 1000", "currency = 'XXX'\nprice = 1000"), "is no currency that is known here", 5),
        (("2010-06-14", "2999-01-01"), "has not come yet", 6),
        (("2010-06-14", "0001-01-01"), "is before the first disk was sold", 6),
        (('"card"', f'"{"x" * 101}"'), "must have at most 100 characters, not 101", 2),
        (('"a-card"', '"a-card", "a-card"'), "line[0].devices: names a-card twice (hint: once is enough)", 7),
        (("2010-06-14", '"soon"'), "must be a day", 6),
        (("2010-06-14", "2010-06-14T10:00:00"), "must be a day", 6),
        (('"flash"', '"flesh"'), "is not a choice (hint: did you mean flash", 4),
        (('source = "a test"', ""), "line[0].source: is missing", 1),
        (('source = "a test"', 'source = ""'), "must not be empty", 9),
        (("capacity", "capacitty"), "did you mean capacity", 8),
        (('"card"', '"../card"'), "is no name", 2),
        (("capacity", "dwpd = 3\ncapacity"), "says nothing without warranty_years", 8),
        (("capacity", "power_w = -5\ncapacity"), "must be at least 0", 8),
        (('capacity = "100GB"', 'power_w = 8\nper = "GB"'), "is of one item, and nothing tells how many GB", 8),
        (('capacity = "100GB"', 'rack_units = 1\nper = "GB"'), "is of one item, and nothing tells how many GB", 8),
        (("capacity", "included = 5\ncapacity"), "has no meaning per item", 8),
        (("price = 1000", 'per = "kWh"\nprice = 1000'), "is no unit of", 5),
    ],
)
def test_nonsense_is_told_with_its_line(tmp_path: Path, change: tuple[str, str], message: str, number: int) -> None:
    path = written(tmp_path, LINE.replace(*change))
    with pytest.raises(InvalidPricesError) as caught:
        read_book([path])
    assert message in str(caught.value)
    assert f"{path}:{number}: " in str(caught.value)


def test_lines_that_stand_twice(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidPricesError, match=r"mine.toml:11: line\[1\].name: 'card' stands twice: line\[0\] has it too"
    ):
        read_book([written(tmp_path, LINE + LINE)])
    other = LINE.replace('"card"', '"other"').replace("1000", "900")
    with pytest.raises(InvalidPricesError, match=r":16: line\[1\].date: 'card' prices a-card on 2010-06-14 too"):
        read_book([written(tmp_path, LINE + "\n" + other)])


def test_several_problems_are_counted_and_kept(tmp_path: Path) -> None:
    text = LINE.replace("1000", "-1").replace("2010-06-14", "2999-01-01")
    with pytest.raises(InvalidPricesError, match=r"\(and 1 more\)") as caught:
        read_book([written(tmp_path, text)])
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no price line"),
        ("line = 3\n", "there is no price line"),
        ("line = [3]\n", r"line\[0\]: must be a table, not 3"),
        ("lines = 1\n" + LINE, "unknown field"),
        ("[[line\n", "not valid TOML"),
        ('[[line]]\nname = "\x1b[31mred"\n', "not valid TOML"),
    ],
)
def test_files_that_are_no_price_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_book([written(tmp_path, text)])


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_book([tmp_path / "nothing.toml"])
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    with pytest.raises(UserError, match="is not UTF-8"):
        read_book([tmp_path / "binary.toml"])
