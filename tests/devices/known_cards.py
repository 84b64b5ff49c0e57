"""What was published of flash cards, and what the model says of small copies of them.

.venv/bin/python tests/devices/known_cards.py      prints the table of docs/models/flash.md
"""

from __future__ import annotations

from functools import cache

from flatwater.fit import Condition, Evaluator

GIB = 2**30
THREADS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: Throughput has stopped growing when it is within this of the best.
PEAK = 0.97

#: Used bytes -> MiB/s of 16 KiB random writes: the tables of 2010-2011, and the files of 2010.
TACHION = [
    (0.2 * 400e9, 990.0),
    (0.4 * 400e9, 964.0),
    (0.6 * 400e9, 783.0),
    (0.8 * 400e9, 611.0),
    (400e9, 417.0),
    (130 * GIB, 959.17),
    (260 * GIB, 685.18),
    (360 * GIB, 417.33),
]
DUO = [
    (0.2 * 320e9, 1095.0),
    (0.4 * 320e9, 825.0),
    (0.6 * 320e9, 397.0),
    (0.8 * 320e9, 237.0),
    (320e9, 99.0),
    (100 * GIB, 933.60),
    (150 * GIB, 613.48),
    (200 * GIB, 354.37),
]
#: Card, mode -> MiB/s with a deep queue, full.
STEADY = {
    ("micron-p320h-700-slc", "rndrd"): 3202.0,
    ("micron-p320h-700-slc", "rndwr"): 1730.0,
    ("virident-flashmax-1400-mlc", "rndrd"): 1450.0,
    ("virident-flashmax-1400-mlc", "rndwr"): 550.0,
    ("virident-flashmax-2-2200-mlc", "rndrd"): 2580.0,
    ("intel-910-200", "rndrd"): 270.0,
    ("intel-910-200", "rndwr"): 150.0,
    ("intel-910-2x200", "rndrd"): 530.0,
    ("intel-520", "rndrd"): 370.0,
    ("intel-520", "rndwr"): 300.0,
}
#: Card, mode, threads, metric -> figure, one outstanding a thread.
SYNCHRONOUS = {
    ("micron-p320h-700-slc", "rndrd", 64, "p95_us"): 500.0,
    ("micron-p320h-700-slc", "rndwr", 128, "p95_us"): 3000.0,
    ("virident-flashmax-1400-mlc", "rndrd", 64, "MiB/s"): 1345.0,
    ("virident-flashmax-1400-mlc", "rndrd", 64, "p95_us"): 1490.0,
    ("virident-flashmax-2-2200-mlc", "rndrd", 64, "MiB/s"): 1883.0,
    ("virident-flashmax-2-2200-mlc", "rndrd", 64, "p95_us"): 1105.0,
    ("virident-flashmax-2-2200-mlc", "rndrd", 256, "MiB/s"): 2090.0,
    ("intel-910-200", "rndrd", 8, "p95_us"): 680.0,
    ("intel-910-2x200", "rndrd", 16, "p95_us"): 840.0,
    ("virident-tachion-400-slc", "rndwr", 8, "MiB/s"): 400.0,
    ("virident-tachion-400-slc", "rndwr", 16, "MiB/s"): 400.0,
    ("virident-tachion-400-slc", "rndwr", 8, "p95_us"): 3100.0,
    ("virident-tachion-400-slc", "rndwr", 16, "p95_us"): 3800.0,
}
#: Card, mode -> between which threads throughput stops growing.
PEAKS = {
    ("micron-p320h-700-slc", "rndrd"): (32, 64),
    ("micron-p320h-700-slc", "rndwr"): (64, 128),
    ("intel-910-200", "rndrd"): (8, 8),
    ("intel-910-2x200", "rndrd"): (16, 16),
}


@cache
def evaluator(device: str) -> Evaluator:
    return Evaluator(device)


def at_fill(device: str, used_bytes: float, reserve_pct: float = 0.0) -> float:
    """MiB/s of random writes over so many used bytes."""
    condition = Condition(
        threads=4, queue_depth=32, engine="io_uring", used_bytes=int(used_bytes), reserve_pct=reserve_pct
    )
    return evaluator(device).figures(condition)["MiB/s"]


def steady(device: str, mode: str) -> float:
    """MiB/s with 128 requests in flight, full."""
    return evaluator(device).figures(Condition(mode=mode, queue_depth=128, engine="io_uring"))["MiB/s"]


def synchronous(device: str, mode: str, threads: int) -> dict[str, float]:
    """Figures with one outstanding request a thread, full."""
    return evaluator(device).figures(Condition(mode=mode, threads=threads))


def peak(device: str, mode: str) -> int:
    """The first number of threads whose throughput is (nearly) the best."""
    line = {threads: synchronous(device, mode, threads)["MiB/s"] for threads in THREADS}
    return next(threads for threads in THREADS if line[threads] >= PEAK * max(line.values()))


def table() -> str:
    """Published, ours and the error of everything above, as a table of Markdown."""
    rows = []
    for device, points in (("virident-tachion-400-slc", TACHION), ("fusion-io-duo-320-slc", DUO)):
        rows += [
            (device, f"random writes, {used / 1e9:.0f} GB used, MiB/s", value, at_fill(device, used))
            for used, value in points
        ]
    names = {"rndrd": "random reads", "rndwr": "random writes"}
    rows += [
        (device, f"{names[mode]}, deep queue, MiB/s", value, steady(device, mode))
        for (device, mode), value in STEADY.items()
    ]
    rows += [
        (device, f"{names[mode]}, {threads} threads, {metric}", value, synchronous(device, mode, threads)[metric])
        for (device, mode, threads, metric), value in SYNCHRONOUS.items()
    ]
    lines = ["| card | what | published | ours | error |", "|---|---|---:|---:|---:|"]
    lines += [
        f"| {device} | {what} | {value:g} | {ours:.0f} | {100 * (ours / value - 1):+.1f} % |"
        for device, what, value, ours in rows
    ]
    for (device, mode), (least, most) in PEAKS.items():
        published = f"{least}" if least == most else f"{least} to {most}"
        lines.append(f"| {device} | {names[mode]}: threads at the peak | {published} | {peak(device, mode)} | |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
