"""`flatwater trace simulate`: the miss ratios of simulated caches."""

from __future__ import annotations

import math
from typing import Annotated, NotRequired, TypedDict

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.trace.arguments import BlockSize, Format, Trace, engine_errors, parse_block_size

NAME = "simulate"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater trace simulate requests.trace

flatwater trace simulate requests.trace --policy lru,fifo,s3-fifo --size 1GiB,10% --block-size 16KiB

flatwater trace simulate zipf.oracleGeneral.bin.zst --size 100000      of objects, a size is their number
"""
#: The most bytes for one slot of a simulated cache: its lists, its ghosts, and its owner.
_SLOT_BYTES = 18
#: The slots of a cache have 32-bit numbers.
_BLOCKS_MAX = 2**32 - 2


class _Row(TypedDict):
    """The outcome of one cache, for `--json`. A ratio of no requests is None."""

    policy: str
    size_blocks: int
    #: Absent for a trace of objects.
    size_bytes: NotRequired[int]
    requests: int
    miss_ratio: float | None
    read_miss_ratio: float | None
    write_miss_ratio: float | None


def complete_policy(incomplete: str) -> list[str]:
    """Names of policies for the last entry of a list."""
    from flatwater._engine import cache_policies

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name, _ in cache_policies() if name.startswith(last)]


def verb(
    trace: Trace,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME",
            help="lru, fifo, s3-fifo, flashcache, flashcache-lru.",
            autocompletion=complete_policy,
        ),
    ] = "lru,fifo,s3-fifo",
    size: Annotated[
        str, typer.Option(metavar="SIZE,SIZE", help="Sizes: 1GiB, 10% (of the footprint); of objects: their number.")
    ] = "1%,10%,50%",
    format_: Format = None,
    block_size: BlockSize = "4KiB",
    as_json: Json = False,
) -> None:
    """Tell what caches of some policies and sizes would miss. All run in one pass over the trace.

    Each block of a request counts once; reads and writes bring it in, a trim takes it out. There is no write-back and
    no latency here: an experiment with [cache] has both.
    """
    import json

    from flatwater._engine import trace_simulate, trace_summary, trace_tells_objects
    from flatwater.experiment.units import print_size

    block_bytes = parse_block_size(block_size)
    policies = _policies(policy)
    written = [one.strip() for one in size.split(",") if one.strip()]
    if not written:
        raise _size_error("says no size")
    with engine_errors():
        objects = trace_tells_objects(trace, format_)
        shares = any(one.endswith("%") for one in written)
        footprint = trace_summary(trace, format_, block_bytes)["footprint_blocks"] if shares else 0
        sizes = [_blocks(one, objects=objects, footprint=footprint, block_bytes=block_bytes) for one in written]
        cases = [(name, blocks) for blocks in sizes for name in policies]
        _check_memory(sum(blocks for _, blocks in cases))
        counts = trace_simulate(trace, cases, format_, block_bytes)
    rows: list[_Row] = []
    for (name, blocks), (reads, read_misses, writes, write_misses) in zip(cases, counts, strict=True):
        total = reads + writes
        row: _Row = {
            "policy": name,
            "size_blocks": blocks,
            "size_bytes": blocks * block_bytes,
            "requests": total,
            "miss_ratio": (read_misses + write_misses) / total if total else None,
            "read_miss_ratio": read_misses / reads if reads else None,
            "write_miss_ratio": write_misses / writes if writes else None,
        }
        if objects:
            del row["size_bytes"]
        rows.append(row)
    if as_json:
        typer.echo(json.dumps({"trace": str(trace), "block_bytes": block_bytes, "objects": objects, "caches": rows}))
        return
    width = max(len(name) for name in policies)
    typer.echo(f"{'size':>12}  {'policy':<{width}}  {'miss ratio':>10}  {'of reads':>8}  {'of writes':>9}")
    for row in rows:
        told = f"{row['size_blocks']:,}" if objects else print_size(row["size_blocks"] * block_bytes)
        ratios = [_ratio(row["miss_ratio"]), _ratio(row["read_miss_ratio"]), _ratio(row["write_miss_ratio"])]
        typer.echo(f"{told:>12}  {row['policy']:<{width}}  {ratios[0]:>10}  {ratios[1]:>8}  {ratios[2]:>9}")


def _ratio(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-"


def _policies(text: str) -> list[str]:
    from flatwater._engine import cache_policies
    from flatwater.errors import UserError
    from flatwater.spelling import suggest

    known = [name for name, _ in cache_policies()]
    found = [one.strip() for one in text.split(",") if one.strip()]
    for name in found:
        if name not in known:
            raise UserError(f"there is no policy {name!r}", where="--policy", hint=suggest(name, known))
    if not found:
        raise UserError("says no policy", where="--policy", hint=", ".join(known))
    return list(dict.fromkeys(found))


def _blocks(text: str, *, objects: bool, footprint: int, block_bytes: int) -> int:
    """The number of blocks (or objects) in a written size. Errors: UserError."""
    from flatwater.experiment.units import parse_size

    try:
        if text.endswith("%"):
            share = float(text[:-1]) / 100
            if not 0 < share <= 1:
                raise ValueError(f"{text} is not more than 0 and at most 100 %")
            blocks = max(1, math.floor(footprint * share))
        elif objects:
            if not text.isdecimal():
                raise ValueError(f"{text} is no number of objects, which this trace tells")
            blocks = int(text)
        else:
            blocks = parse_size(int(text) if text.isdecimal() else text) // block_bytes
    except ValueError as error:
        raise _size_error(str(error)) from None
    if not 1 <= blocks <= _BLOCKS_MAX:
        raise _size_error(f"{text} is {blocks:,} {'objects' if objects else 'blocks'}: 1 to {_BLOCKS_MAX:,}")
    return blocks


def _check_memory(slots: int) -> None:
    import psutil

    from flatwater.errors import UserError
    from flatwater.experiment.units import print_size

    needed, free = slots * _SLOT_BYTES, psutil.virtual_memory().available
    if needed > free:
        what = f"caches of {slots:,} slots in all take {print_size(needed)} of memory, {print_size(free)} are free"
        raise UserError(what, where="--size", hint="smaller or fewer sizes, or a larger --block-size")


def _size_error(what: str) -> Exception:
    from flatwater.errors import UserError

    return UserError(what, where="--size", hint="1GiB, 10%; of a trace of objects: how many")
