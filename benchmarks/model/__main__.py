"""`python -m benchmarks.model [--quick] [--only WORD] [--rounds N] ...`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import sweep
from benchmarks.model import emulated
from benchmarks.model.child import Told, run_modelled
from benchmarks.model.mqsim import REQUESTS, measure_mqsim, missing
from benchmarks.model.page import Circumstances, Found, page, per_cpu_s
from benchmarks.noise import NoiseMeter
from benchmarks.options import Preset, add_options, command_line, measure, read_options, tell
from benchmarks.pairs import ratio
from flatwater import __version__
from flatwater.errors import FlatwaterError
from flatwater.probe import describe_machine, describe_storage

PAGE = Path(__file__).parents[1] / "model.md"
HERE = Path(__file__).parent
STEADY, PRECONDITION, PEER, EMULATION, SWEEPS = "steady state", "precondition", "MQSim", "emulation", "sweeps"
#: The card of the issue's preconditioning: one whose user has 390 GiB.
PRECONDITIONED = ("storage.parameters.capacity=390GiB",)
#: Modelled seconds of a fresh card at MQSim's load.
FRESH_INTERVALS = 10

#: (option, full, quick).
PRESETS: tuple[Preset, ...] = (
    ("rounds", 6, 1),
    ("intervals", 200, 10),
    ("precondition_rounds", 3, 1),
    ("emulation_s", 4.0, 0.5),
    ("cells", 10_000, 400),
    ("scaling_cells", sweep.SCALING_CELLS, 10),
)


def run(options: argparse.Namespace) -> str:
    """Everything, in order; the page that says what came out."""
    found, noise = Found(), NoiseMeter()
    with tempfile.TemporaryDirectory(prefix="flatwater-bench-", dir=options.dir) as name:
        folder = Path(name).absolute()
        if options.only in STEADY:
            for _ in range(options.rounds):
                found.steady.append(_told(STEADY, run_modelled(folder, HERE / "steady.toml", options.intervals)))
        if options.only in PRECONDITION:
            for _ in range(options.precondition_rounds):
                for runs, simulate in ((found.simulated, "true"), (found.jumped, "false")):
                    fields = (*PRECONDITIONED, f"storage.simulate_initial={simulate}")
                    runs.append(_told(f"{PRECONDITION}, simulated {simulate}", _open_only(folder, fields)))
        if options.only in PEER:
            _beside_peer(options, folder, found)
        if options.only in EMULATION:
            _emulate(options, folder, found)
        if options.only in SWEEPS:
            tell(f"sweeps of {options.cells:,} cells")
            found.sweeps = sweep.measure(folder, options.cells, options.rounds, sweep.cores(), options.scaling_cells)
        # Only an emulation reads or writes anything that the storage could disturb.
        storage = describe_storage(folder) if found.emulated else {}
    where = Circumstances(
        command=command_line("benchmarks.model", options, PRESETS),
        date=time.strftime("%Y-%m-%d %H:%M %Z"),
        machine=describe_machine(),
        versions=[f"flatwater {__version__}", *([] if missing() else ["MQSim (without a version of its own)"])],
        noise=noise.read(),
        rounds=options.rounds,
        emulation_s=options.emulation_s,
        storage=storage,
    )
    return page(where, found, REQUESTS)


def _open_only(folder: Path, fields: tuple[str, ...]) -> Told:
    return run_modelled(folder, HERE / "steady.toml", 1, *fields)


def _told(title: str, told: Told) -> Told:
    tell(
        f"{title}: opened in {told.open_cpu_s:.1f} CPU s, {told.device_bytes / 2**20:,.0f} MiB; "
        f"{told.operations:,} requests, {per_cpu_s(told):,.0f} a CPU second, "
        f"write amplification {told.write_amplification:.3f}"
    )
    return told


def _beside_peer(options: argparse.Namespace, folder: Path, found: Found) -> None:
    why = missing()
    if why is not None:
        found.skipped[PEER] = why
        return
    try:
        for _ in range(options.rounds):
            found.fresh.append(_told("nothing to collect", run_modelled(folder, HERE / "fresh.toml", FRESH_INTERVALS)))
            found.peers.append(measure_mqsim(folder))
            tell(f"MQSim: {found.peers[-1].requests_per_cpu_s:,.0f} requests a CPU second")
    except FlatwaterError as error:
        found.skipped[PEER] = str(error)
        return
    found.against_peer = ratio([per_cpu_s(one) for one in found.fresh], [one.requests_per_cpu_s for one in found.peers])


def _emulate(options: argparse.Namespace, folder: Path, found: Found) -> None:
    why = emulated.missing()
    if why is not None:
        found.skipped[EMULATION] = why
        return
    found.emulated = emulated.measure_emulation(folder, options.emulation_s, tell)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.model",
        description="How fast the models are, beside MQSim and in real time. Writes benchmarks/model.md.",
        epilog="MQSim is used when it is on the PATH. Emulation needs root and /dev/fuse.",
    )
    add_options(parser, PRESETS, "benchmarks/model.md", "About a minute")
    return read_options(parser, arguments, PRESETS, [STEADY, PRECONDITION, PEER, EMULATION, SWEEPS], PAGE)


if __name__ == "__main__":
    sys.exit(measure(_options, run, sys.argv[1:]))
