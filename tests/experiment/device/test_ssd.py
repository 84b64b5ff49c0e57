from __future__ import annotations

import tomllib
from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment.device import SsdDevice, Use
from flatwater.experiment.device.ssd import CELLS
from flatwater.plan.device import write_device
from flatwater.plan.device.ssd import Buffer, PlainPolicy, Preconditioned, Timing, Written

CARD = """
kind = "ssd"
title = "a card"
capacity = "400GB"
[geometry]
raw = "512GiB"
channels = 16
dies_per_channel = 16
planes_per_die = 2
page = "4KiB"
pages_per_block = 64
unit_blocks = 8
[timing]
channel_mib_per_s = 150
[link]
read_mib_per_s = 1200
write_mib_per_s = 1200
[controller]
synchronous_us = 12
asynchronous_us = 5
parallel = 4
write_mib_per_s = 1000
[buffer]
size = "8MiB"
[collector]
relocation_mib_per_s = 700
[wear]
cell = "SLC"
"""


def device(**changes: Any) -> SsdDevice:
    """The card with fields changed by dotted names (`geometry__page="16KiB"`); None takes one out."""
    data = tomllib.loads(CARD)
    for name, value in changes.items():
        *tables, field = name.split("__")
        table = data
        for own in tables:
            table = table.setdefault(own, {})
        if value is None:
            del table[field]
        else:
            table[field] = value
    return SsdDevice.model_validate(data)


def test_the_engines_words_have_base_units() -> None:
    spec = write_device(device(), Use(align_bytes=16384))
    assert spec.timing == Timing(
        read_ns=25_000, program_ns=220_000, erase_ns=2_000_000, channel_bytes_per_s=150 * 2**20
    )
    assert spec.geometry.raw_bytes == 2**39
    assert spec.capacity_bytes == 400 * 10**9 // 16384 * 16384
    assert spec.buffer == Buffer(8 * 2**20, power_safe=True)
    assert spec.collector.policy == PlainPolicy("greedy")
    assert spec.initial == Preconditioned(simulate=False)
    assert write_device(device(), Use(initial="fresh")).initial == Written("fresh")


def test_a_synchronous_request_costs_the_driver_more() -> None:
    requests = [write_device(device(), Use(asynchronous=own)).controller.request_ns for own in (False, True)]
    assert requests == [12_000, 5000]
    card = device(controller__asynchronous_us=None)
    assert write_device(card, Use(asynchronous=True)).controller.request_ns == 12_000


def test_a_cells_figures_are_the_files_where_it_has_them() -> None:
    for name, cell in CELLS.items():
        assert device(wear__cell=name).cell == cell
    card = device(wear__cell="MLC", wear__rated_cycles=5000, timing__read_us=60.0)
    assert (card.cell.read_us, card.cell.program_us, card.cell.rated_cycles) == (60, 900, 5000)


@pytest.mark.parametrize(
    ("page", "align", "mapping"),
    [
        ("4KiB", 16384, 16384),
        ("4KiB", 65536, 16384),
        ("4KiB", 4096, 4096),
        ("4KiB", 12288, 4096),
        ("4KiB", 512, 4096),
        ("8KiB", 4096, 8192),
        ("2KiB", 8192, 8192),
        ("32KiB", 65536, 32768),
    ],
)
def test_the_mapping_is_as_coarse_as_requests_allow(page: str, align: int, mapping: int) -> None:
    assert device(geometry__page=page).mapping_bytes(Use(align_bytes=align)) == mapping


def test_a_card_with_too_many_pages_has_a_coarser_mapping() -> None:
    card = device(geometry__raw="64TiB", capacity="50TB")
    assert card.mapping_bytes(Use(align_bytes=4096)) == 32768
    assert "may be parts of a page of 32 KiB" in card.notes(Use(align_bytes=4096))[0]


def test_parts_of_a_flash_page_are_told() -> None:
    assert not device().notes(Use(align_bytes=4096))
    (note,) = device().notes(Use(align_bytes=512))
    assert "a write of a part reads the rest first" in note


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"geometry__page": 6000}, "geometry.page", "power of two"),
        ({"geometry__unit_blocks": 300}, "geometry.unit_blocks", "there are 256"),
        ({"geometry__channels": 0}, "geometry.channels", "greater than 0"),
        ({"geometry__raw": "400GB"}, "capacity", "leaves no over-provisioning"),
        ({"geometry__raw": "372GiB"}, "capacity", "leaves no over-provisioning"),
        ({"geometry__initial_bad_pct": 40}, "capacity", "leaves no over-provisioning"),
        ({"geometry__raw": "32MiB", "capacity": "8MiB"}, "geometry.raw", "good units"),
        ({"geometry__raw": "64PiB"}, "geometry.raw", "more than 2^32 pages"),
        ({"link__read_mib_per_s": 0}, "link.read_mib_per_s", "greater than 0"),
        ({"collector__relocation_mib_per_s": 0}, "collector.relocation_mib_per_s", "greater than 0"),
        ({"timing__program_us": -1}, "timing.program_us", "greater than 0"),
        ({"wear__cell": "PLC"}, "wear.cell", "'SLC', 'MLC'"),
        ({"collector__policy": "d-choices"}, "collector.choices", "is needed by policy d-choices"),
        ({"collector__choices": 3}, "collector.choices", "policy d-choices only"),
        ({"modules": 7}, "modules", "must divide"),
        ({"modules": 0}, "modules", "greater than 0"),
        ({"queue_depth": 0}, "queue_depth", "greater than 0"),
        ({"timing__channel_mib_per_s": None}, "timing.channel_mib_per_s", "required"),
        ({"colour": "red"}, "colour", "not permitted"),
    ],
)
def test_what_cannot_be_names_its_field(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        device(**changes)
    errors = {".".join(map(str, error["loc"])): error for error in caught.value.errors()}
    assert field in errors, errors
    assert words in errors[field]["msg"].replace("Field required", "required").replace("Extra inputs are ", "")


def test_modules_share_the_capacity() -> None:
    one, two = device(), device(modules=2, capacity="800GB")
    assert two.usable_bytes(Use()) == 2 * (400 * 10**9 // 65536 * 65536)
    own = write_device(two, Use())
    assert own.capacity_bytes * 2 == two.usable_bytes(Use())
    assert own.geometry == write_device(one, Use()).geometry
    assert (own.modules, own.stripe_bytes) == (2, 65536)


def test_reserve_takes_capacity_and_no_flash() -> None:
    whole, less = write_device(device(), Use()), write_device(device(), Use(reserve=0.25))
    assert less.geometry == whole.geometry
    assert less.capacity_bytes == pytest.approx(0.75 * whole.capacity_bytes, rel=1e-6)


@pytest.mark.parametrize("scale", [0.5, 0.1, 0.01, 0.002])
def test_a_scaled_card_keeps_its_spare_and_its_dies(scale: float) -> None:
    card, use = device(), Use(align_bytes=16384, scale=scale)

    def spare(use: Use) -> float:
        raw, pages_per_block = card.scaled_geometry(use)
        unit = card.geometry.unit_bytes // card.geometry.pages_per_block * pages_per_block
        return (raw - 3 * unit) / card.usable_bytes(use)

    assert spare(use) == pytest.approx(spare(Use(align_bytes=16384)), rel=0.002)
    scaled, whole = write_device(card, use), write_device(card, Use(align_bytes=16384))
    same = ("channels", "dies_per_channel", "planes_per_die", "page_bytes", "mapping_bytes", "unit_blocks")
    assert [getattr(scaled.geometry, name) for name in same] == [getattr(whole.geometry, name) for name in same]
    assert scaled.link == whole.link


def test_a_card_scaled_far_has_smaller_blocks_and_says_so() -> None:
    card = device(geometry__unit_blocks=None)
    use = Use(align_bytes=16384, scale=0.05)
    raw, pages_per_block = card.scaled_geometry(use)
    unit = 256 * 2 * pages_per_block * 4096
    assert pages_per_block == 16
    assert raw // unit >= 512
    assert write_device(card, use).timing.erase_ns == 500_000
    assert "blocks of 16 instead of 64 pages" in card.notes(use)[0]
    assert "only" in card.notes(Use(align_bytes=16384, scale=0.001))[-1]


def test_flash_beyond_the_last_whole_unit_is_told() -> None:
    (note,) = device(geometry__raw="549755814000").notes(Use())
    assert note.startswith("the last 112 B of raw flash are no whole unit of 4 MiB")
