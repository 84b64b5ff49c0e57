from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
Flatwater = Callable[..., tuple[int, str, str]]


def test_a_trace_for_people(flatwater: Flatwater, iolog: Path) -> None:
    code, told, errors = flatwater("show", iolog)
    assert (code, errors) == (0, "")
    assert told == (GOLDEN / "show.txt").read_text()


def test_a_trace_for_programs(flatwater: Flatwater, iolog: Path) -> None:
    code, told, _ = flatwater("show", iolog, "--json", "--block-size", "8KiB")
    found = json.loads(told)
    assert code == 0
    assert found["requests"] == {"read": 3, "write": 1, "zero": 0, "trim": 1, "flush": 1}
    assert found["read_pct"] == 75 and found["block_bytes"] == 8192 and found["align_bytes"] == 4096
    assert found["footprint_bytes"] == 3 * 8192 and found["span_bytes"] == 20480
    assert found["curve"][-1]["bytes"] == found["footprint_bytes"]


def test_a_compressed_one_is_the_same(flatwater: Flatwater, iolog: Path) -> None:
    plain = flatwater("show", iolog)[1]
    packed = Path("small.iolog.gz")
    packed.write_bytes(gzip.compress(iolog.read_bytes()))
    assert flatwater("show", packed)[1] == plain


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        ("", (), "t: is empty"),
        ("hello\n", (), "does not begin like any known format of traces (hint: say which: --format flatwater|iolog|"),
        ("hello\n", ("--format", "csv"), "there is no format `csv`; there are flatwater, iolog"),
        ("fio version 3 iolog\n0 f eat 1 2\n", (), 't, line 2: the action "eat" (hint: read, write, trim'),
        ("fio version 3 iolog\n", ("--block-size", "1"), "--block-size: 1 B is no size of a block"),
        ("fio version 3 iolog\n", ("--block-size", "x"), "--block-size: 'x' is not a size"),
    ],
)
def test_what_is_wrong_is_one_line(
    flatwater: Flatwater, iolog: Path, content: str, arguments: tuple[str, ...], said: str
) -> None:
    Path("t").write_text(content)
    code, told, errors = flatwater("show", "t", *arguments)
    assert (code, told) == (2, "")
    assert errors.count("\n") == 1 and said.replace("'x'", "") in errors.replace("'x'", "").replace('"x"', "")


def test_no_file_and_no_request(flatwater: Flatwater, iolog: Path) -> None:
    code, _, errors = flatwater("show", "gone.trace")
    assert code == 2 and "gone.trace: cannot be read" in errors
    Path("none").write_text("fio version 2 iolog\nf add\n")
    code, told, _ = flatwater("show", "none")
    assert code == 0 and "requests   0: none" in told
