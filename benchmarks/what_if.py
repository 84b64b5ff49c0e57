"""Compares the predictions of `flatwater what-if` with measurements: `python -m benchmarks.what_if --dir DIR`.

TPC-C runs once on this machine's MariaDB. From this run alone, three changes are predicted: a larger redo log, no
doublewrite buffer, twice the buffer pool. Then the server runs unchanged and with each change, in turns, several times.
The page docs/what-if.md gets both, with the error, whatever it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from benchmarks.options import Preset, command_line, measure, read_options, tell
from benchmarks.pairs import log_half_width
from benchmarks.tables import page_with, table
from flatwater.errors import FlatwaterError
from flatwater.results import Result, open_result

PAGE = Path(__file__).parents[1] / "docs" / "what-if.md"
#: The generated text is between these lines.
BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"
MODULE = "benchmarks.what_if"
#: A run for the fit needs at least 20 s in whole windows of 5 s, and windows may be lost on a busy machine.
PRESETS: tuple[Preset, ...] = (
    ("warehouses", 10, 2),
    ("warmup_s", 15, 5),
    ("duration_s", 40, 36),
    ("repeats", 3, 1),
)
#: The pool of the base run: two fifths of the data, at 100 MiB for each warehouse.
POOL_MIB_A_WAREHOUSE = 40
_POOL, _REDO = "innodb_buffer_pool_size", "innodb_log_file_size"
_WRITE_TWICE = "innodb_doublewrite"
#: A small log, and commits that wait for it, so that the changes have an effect on the base run.
REDO_MIB, MORE_REDO_MIB = 48, 768
_SETTINGS = "database.settings."


@dataclass(frozen=True)
class Row:
    """A change: its prediction, and the measurement."""

    name: str
    predicted: dict[str, Any]
    #: Means of the unchanged and of the changed runs, in turns.
    unchanged: list[float]
    changed: list[float]
    pages_read: float
    pages_written: float

    @property
    def ratio(self) -> float:
        """Changed / unchanged, as measured."""
        return _mean(self.changed) / _mean(self.unchanged)

    @property
    def margin(self) -> float | None:
        """Half of the 95 % confidence interval of the ratio, from the rounds; None for fewer than two."""
        half = log_half_width([after / before for after, before in zip(self.changed, self.unchanged, strict=True)])
        return None if half is None else half * self.ratio

    @property
    def error(self) -> float:
        """The error of the predicted ratio, as a share of the measured one."""
        return float(self.predicted["ratio"]) / self.ratio - 1

    @property
    def within(self) -> bool:
        """Whether the predicted interval contains the measured ratio."""
        return bool(self.predicted["low"] <= self.ratio <= self.predicted["high"])


def experiment(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The base run."""
    return {
        "title": "TPC-C, to be predicted and measured",
        "workload": {
            "kind": "tpcc",
            "warehouses": options.warehouses,
            "connections": 8,
            "warmup_s": options.warmup_s,
            "duration_s": options.duration_s,
            "check_consistency": False,
        },
        "database": {
            "kind": "server",
            "settings": {
                _POOL: f"{_pool_mib(options)}M",
                _REDO: f"{REDO_MIB}M",
                _WRITE_TWICE: True,
                "innodb_flush_log_at_trx_commit": 1,
                "innodb_flush_method": "O_DIRECT",
                "innodb_flush_neighbors": 0,
                "innodb_io_capacity": 2000,
                "innodb_io_capacity_max": 4000,
            },
        },
        "storage": {"path": str(folder)},
    }


def changes(options: argparse.Namespace) -> list[tuple[str, str, Any]]:
    """Name, setting and value of each change."""
    pool = 2 * _pool_mib(options)
    return [
        (f"redo log {REDO_MIB} to {MORE_REDO_MIB} MiB", _REDO, f"{MORE_REDO_MIB}M"),
        ("doublewrite off", _WRITE_TWICE, False),
        (f"buffer pool {pool // 2} to {pool} MiB", _POOL, f"{pool}M"),
    ]


def _pool_mib(options: argparse.Namespace) -> int:
    return int(POOL_MIB_A_WAREHOUSE * options.warehouses)


def run(options: argparse.Namespace) -> str:
    """Measures, predicts, measures again; returns the generated part of the page. Errors: FlatwaterError."""
    asked = changes(options)
    with (
        tempfile.TemporaryDirectory(prefix="flatwater-what-if-", dir=options.dir) as data,
        tempfile.TemporaryDirectory(prefix="flatwater-what-if-") as name,
    ):
        folder = Path(name)
        base = experiment(options, Path(data))
        first = _run(folder / "base", base)
        tell("predicting")
        arguments = [f"--set={_SETTINGS}{setting}={_written(value)}" for _, setting, value in asked]
        answer = json.loads(_flatwater("what-if", str(first.path), "--json", *arguments))
        settings = base["database"]["settings"]
        # The unchanged server comes first, then each change. Each repeat runs all of them.
        swept = {
            f"{_SETTINGS}{setting}": [
                settings[setting],
                *(value if changed == setting else settings[setting] for _, changed, value in asked),
            ]
            for setting in (_REDO, _WRITE_TWICE, _POOL)
        }
        both = _run(folder / "both", {**base, "repeat": options.repeats, "sweep": {"zip": swept}})
        text = report(options, answer, [_row(answer, both, number, one) for number, one in enumerate(asked)], both)
    if options.out is None:
        return text + "\n"
    return page_with(PAGE, BEGIN, END, text)


def _written(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _run(out: Path, content: dict[str, Any]) -> Result:
    file = out.with_suffix(".toml")
    file.write_text(tomli_w.dumps(content))
    tell(f"running {out.name}")
    _flatwater("run", str(file), "--out", str(out), "--json")
    return open_result(out)


def _flatwater(*arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("flatwater")), *arguments]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        raise FlatwaterError(f"`flatwater {arguments[0]}` failed: its own words are above")
    return ran.stdout


def _row(answer: dict[str, Any], both: Result, number: int, asked: tuple[str, str, Any]) -> Row:
    """The change with this number. The unchanged server's cells are the first of each round."""
    name, setting, value = asked
    written = f"{_SETTINGS}{setting}={_written(value)}"
    predicted = next(one for one in answer["changes"] if one["set"] == [written])
    rounds: dict[int, list[float]] = {0: [], number + 1: []}
    pages: dict[str, float] = {"pages_read_per_s": 0.0, "pages_flushed_per_s": 0.0}
    orders = 0.0
    positions = len(changes_of(both))
    for cell in both.cells:
        summary = cell.summary
        if summary is None or summary.mean is None:
            raise FlatwaterError(f"cell {cell.index} of the measurement did not end")
        position = cell.index % positions
        if position in rounds:
            rounds[position].append(summary.mean)
        if position == number + 1:
            orders += summary.metrics["workload.new_order_ops_per_s"].mean or 0.0
            for metric in pages:
                pages[metric] += summary.metrics[f"database.{metric}"].mean or 0.0
    read, written_pages = (total / orders for total in pages.values())
    return Row(name, predicted, rounds[0], rounds[number + 1], read, written_pages)


def changes_of(result: Result) -> set[str]:
    """The different cells of a result, without their repeats."""
    return {json.dumps(cell.set, sort_keys=True) for cell in result.cells}


def report(options: argparse.Namespace, answer: dict[str, Any], rows: Sequence[Row], both: Result) -> str:
    """The generated part: the command, the fit, and the comparison."""
    machine = both.machine
    facts = [
        ("command", f"`{command_line(MODULE, options, PRESETS)}`"),
        ("date", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())),
        ("server", answer["server"]),
        ("machine", f"{machine.get('cpu', '')}, {machine.get('cores', '')} cores"),
        ("meanwhile", _meanwhile(both)),
        (
            "base",
            f"{answer['throughput']:,.0f} {answer['unit']}, one run, known to {196 * answer['noise']:.1f} %",
        ),
    ]
    fit = [
        [
            one["name"],
            f"{one['measured']:,.4g}",
            f"{one['model']:,.4g}",
            "" if one["error"] is None else f"{100 * one['error']:+.1f} %",
            "given" if one["given"] else "",
        ]
        for one in answer["fit"]["compared"]
    ]
    lines = [
        [
            row.name,
            f"{row.predicted['ratio']:.3f}",
            f"{row.predicted['low']:.3f} to {row.predicted['high']:.3f}",
            f"{row.ratio:.3f}" + (f" ± {row.margin:.3f}" if row.margin is not None else ""),
            f"{100 * row.error:+.1f} %",
            "yes" if row.within else "**no**",
            f"{row.predicted['pages_read']:.2f}, {row.pages_read:.2f}",
            f"{row.predicted['pages_written']:.2f}, {row.pages_written:.2f}",
        ]
        for row in rows
    ]
    unchanged = ", ".join(f"{one:,.0f}" for one in rows[0].unchanged)
    head = (
        "change",
        "predicted",
        "interval",
        "measured",
        "error",
        "within",
        "pages read: predicted, measured",
        "pages written: predicted, measured",
    )
    return "\n\n".join(
        [
            table(("", ""), [list(fact) for fact in facts]),
            "The twin beside the base run:",
            table(("", "measured", "model", "error", ""), fit),
            "Throughput of the changed server / that of the unchanged one in the same round, and pages of a New-Order:",
            table(head, lines),
            f"Unchanged, in turns with the changes: {unchanged} {answer['unit']}.",
        ]
    )


def _meanwhile(both: Result) -> str:
    others = []
    for cell in both.cells:
        metrics = cell.summary.metrics if cell.summary is not None else {}
        mean = {
            name: (metrics[name].mean or 0.0) if name in metrics else 0.0
            for name in (
                "machine.others_cpu_pct",
                "database.server_cpu_user_pct",
                "database.server_cpu_system_pct",
            )
        }
        all_but_client, user, system = mean.values()
        others.append(max(0.0, all_but_client - user - system) / 100)
    return f"other processes used {_mean(others):.2f} cores"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def read(arguments: list[str]) -> argparse.Namespace:
    """The options. Errors: UserError, and argparse's own exit."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__.partition("\n")[0])
    parser.add_argument("--dir", type=Path, default=Path(), help="a directory on the storage to use [this one]")
    parser.add_argument("--quick", action="store_true", help="does everything work? small and once; prints the tables")
    parser.add_argument("--out", type=Path, help="where the page goes [docs/what-if.md]")
    parser.set_defaults(only="")
    for name, full, short in PRESETS:
        words = "--" + name.replace("_", "-")
        parser.add_argument(words, type=type(full), metavar="N", help=f"[{full}; with --quick {short}]")
    return read_options(parser, arguments, PRESETS, [""], PAGE)


if __name__ == "__main__":
    sys.exit(measure(read, run, sys.argv[1:]))
