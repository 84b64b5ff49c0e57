from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
Flatwater = Callable[..., tuple[int, str, str]]


def write_objects(path: Path, names: list[int]) -> Path:
    path.write_bytes(b"".join(struct.pack("<IQIq", second, name, 1, -1) for second, name in enumerate(names)))
    return path


def test_policies_and_sizes_for_people(flatwater: Flatwater, iolog: Path) -> None:
    code, told, errors = flatwater("simulate", iolog, "--size", "8KiB,40%,100%", "--policy", "lru,s3-fifo")
    assert (code, errors) == (0, "")
    assert told == (GOLDEN / "simulate.txt").read_text()


def test_objects_are_counted(flatwater: Flatwater, iolog: Path) -> None:
    # A loop of five objects: a least recently used cache of four misses all, one of five each once.
    trace = write_objects(Path("loop"), [1, 2, 3, 4, 5] * 20)
    code, told, _ = flatwater("simulate", trace, "--size", "4,5", "--policy", "lru,fifo", "--json")
    found = json.loads(told)
    assert code == 0 and found["objects"]
    assert [(row["policy"], row["size_blocks"], row["miss_ratio"]) for row in found["caches"]] == [
        ("lru", 4, 1.0),
        ("fifo", 4, 1.0),
        ("lru", 5, 0.05),
        ("fifo", 5, 0.05),
    ]
    assert all(row["write_miss_ratio"] is None and "size_bytes" not in row for row in found["caches"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--policy", "clock"), "--policy: there is no policy 'clock' (hint: one of: lru, fifo, s3-fifo, flashcache"),
        (("--policy", ","), "--policy: says no policy"),
        (("--size", ""), "--size: says no size"),
        (("--size", "0"), "must be more than 0 bytes"),
        (("--size", "0%"), "0% is not more than 0"),
        (("--size", "much"), "is not a size"),
        (("--size", "1000TiB"), "blocks: 1 to"),
        (("--size", ",".join(f"{n}TiB" for n in range(1, 16))), "slots in all take"),
    ],
)
def test_what_is_wrong_is_one_line(flatwater: Flatwater, iolog: Path, arguments: tuple[str, str], said: str) -> None:
    code, told, errors = flatwater("simulate", iolog, *arguments)
    assert (code, told) == (2, "")
    assert errors.count("\n") == 1 and said in errors


def test_bytes_are_no_number_of_objects(flatwater: Flatwater, iolog: Path) -> None:
    code, _, errors = flatwater("simulate", write_objects(Path("o"), [1, 2, 3]), "--size", "1GiB")
    assert code == 2 and "no number of objects" in errors
