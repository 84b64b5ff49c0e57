"""`flatwater trace show`: a summary of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.trace.arguments import BlockSize, Format, Trace, engine_errors, parse_block_size

if TYPE_CHECKING:
    from flatwater._engine import TraceSummary

NAME = "show"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater trace show requests.trace

flatwater trace show hm_0.csv.gz --format msr --block-size 16KiB

flatwater trace show blkparse.txt --json | jq .read_pct
"""
#: The number of lengths that are printed; the others are added up.
_SIZES_SHOWN = 6
#: Every fourth point of the curve is printed: a factor of two between two of them.
_CURVE_STEP = 4


def verb(trace: Trace, format_: Format = None, block_size: BlockSize = "4KiB", as_json: Json = False) -> None:
    """Sum a trace up: requests, bytes, footprint, lengths, duration, and what an LRU cache of each size would miss.

    Footprint and curve are SHARDS's estimates from a sample of 8192 blocks: exact below that, else good to about 0.01.
    """
    import json

    from flatwater._engine import trace_summary

    block_bytes = parse_block_size(block_size)
    with engine_errors():
        summary = trace_summary(trace, format_, block_bytes)
    if as_json:
        typer.echo(json.dumps(_as_json(summary, block_bytes)))
        return
    for line in _lines(summary, block_bytes):
        typer.echo(line)


def _as_json(summary: TraceSummary, block_bytes: int) -> dict[str, object]:
    unit = 1 if summary["objects"] else block_bytes
    name = "objects" if summary["objects"] else "bytes"
    data: dict[str, object] = dict(summary)
    data["read_pct"] = _read_pct(summary)
    data["block_bytes"] = block_bytes
    data[f"footprint_{name}"] = summary["footprint_blocks"] * unit
    data["sizes"] = [{"bytes": size, "requests": count} for size, count in summary["sizes"]]
    data["curve"] = [{name: blocks * unit, "miss_ratio": ratio} for blocks, ratio in summary["curve"]]
    return data


def _read_pct(summary: TraceSummary) -> float | None:
    """Share of reads among the requests that move data, %."""
    moved = sum(summary["requests"][kind] for kind in ("read", "write", "zero"))
    return 100 * summary["requests"]["read"] / moved if moved else None


def _lines(summary: TraceSummary, block_bytes: int) -> list[str]:
    from flatwater.experiment.units import print_size

    requests, moved = summary["requests"], summary["bytes"]
    total = sum(requests.values())
    kinds = [f"{count:,} {kind}" for kind, count in requests.items() if count]
    duration_s = summary["duration_s"]
    rate = f", {total / duration_s:,.1f} a second" if duration_s > 0 else ""
    rows = [
        ("format", summary["format"]),
        ("requests", f"{total:,}: {', '.join(kinds) or 'none'}"),
        ("duration", f"{duration_s:,.3f} s{rate}"),
    ]
    read_pct = _read_pct(summary)
    if read_pct is not None:
        rows.append(("reads", f"{read_pct:.1f} %"))
    if summary["objects"]:
        rows.append(("footprint", f"{summary['footprint_blocks']:,} objects"))
    else:
        text = ", ".join(
            f"{print_size(moved[kind])} {kind}" for kind in ("read", "write", "zero", "trim") if moved[kind]
        )
        footprint = print_size(summary["footprint_blocks"] * block_bytes)
        span = print_size(summary["span_bytes"])
        rows.append(("bytes", text or "none"))
        rows.append(("footprint", f"{footprint} in blocks of {print_size(block_bytes)}, of a span of {span}"))
        rows.append(("lengths", _sizes(summary)))
        if total:
            rows.append(("in order", f"{100 * summary['sequential'] / total:.1f} % begin where the one before ended"))
    lines = [f"{name:<10} {value}" for name, value in rows]
    lines += _curve(summary, block_bytes)
    if summary["backwards"]:
        lines.append(f"note: {summary['backwards']:,} requests are earlier than the one before")
    if summary["unaligned"] and not summary["objects"]:
        lines.append(f"note: {summary['unaligned']:,} requests are not in sectors of 512 B")
    if summary["note"]:
        lines.append(f"note: {summary['note']}")
    return lines


def _sizes(summary: TraceSummary) -> str:
    from flatwater.experiment.units import print_size

    moved = sum(count for _, count in summary["sizes"]) + summary["other_sizes"]
    if not moved:
        return "none"
    common = sorted(summary["sizes"], key=lambda size: (-size[1], size[0]))
    texts = [f"{print_size(size)} {100 * count / moved:.1f} %" for size, count in common[:_SIZES_SHOWN]]
    others = moved - sum(count for _, count in common[:_SIZES_SHOWN])
    return ", ".join(texts + ([f"others {100 * others / moved:.1f} %"] if others else []))


def _curve(summary: TraceSummary, block_bytes: int) -> list[str]:
    from flatwater.experiment.units import print_size

    curve = summary["curve"]
    if not summary["footprint_blocks"]:
        return []
    *most, last = curve
    points = [*most[::-_CURVE_STEP][::-1][-10:], last]
    lines = ["", "an LRU cache of    would miss"]
    for blocks, ratio in points:
        size = f"{blocks:,}" if summary["objects"] else print_size(blocks * block_bytes)
        lines.append(f"{size:>14}   {100 * ratio:9.2f} %")
    return [*lines, ""] if summary["note"] else lines
