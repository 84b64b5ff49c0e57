"""`flatwater emulate`: serves a modelled device as a file."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from flatwater.printing import make_console

if TYPE_CHECKING:
    from flatwater._engine import Emulator
    from flatwater.experiment.device import Device, Initial, Use
    from flatwater.experiment.parse import Tables
    from flatwater.runner.interrupt import Interrupt
    from flatwater.runner.stack.storage.modelled.emulation import Emulation

NAME = "emulate"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater emulate fusion-io-iodrive-160-slc --file /data/card --mount /mnt/card

flatwater emulate disk-7200 --file /data/disk --mount /mnt/disk --size 20GiB

flatwater emulate my-card.toml --file /data/card --mount /mnt/card --set collector.policy=fifo
"""

#: Seeds have 53 bits, like those of experiments.
_SEED_END = 2**53
#: Seconds between two checks of the emulator.
_POLL_S = 0.2


def verb(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="A modelled device, or the path of its file.")],
    file: Annotated[Path, typer.Option("--file", metavar="BACKING", help="The file that keeps what is written.")],
    mount: Annotated[Path, typer.Option("--mount", metavar="DIR", help="Where to mount; the device is DIR/device.")],
    size: Annotated[str | None, typer.Option("--size", help="Serve so much of the device: 20GiB.")] = None,
    initial: Annotated[
        str | None, typer.Option("--initial", help="fresh, filled or preconditioned; as it was left, or fresh.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Replace a figure of the device.")
    ] = None,
    scale: Annotated[float, typer.Option("--scale", help="The device with this share of its capacity, 0..1.")] = 1.0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Throw away what is in BACKING.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Keep BACKING's data, but forget whose it was.")] = False,
    volatile: Annotated[
        bool, typer.Option("--volatile", help="Let a flush not reach BACKING's disk: faster, lost by a power cut.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of what is random in the device.")] = 1,
) -> None:
    """Serve a modelled device as a file whose every request takes as long as the model says."""
    from flatwater._engine import Emulator, EngineError
    from flatwater.engine_json import to_json
    from flatwater.errors import FlatwaterError, UserError
    from flatwater.owned.mounted import require_free_place
    from flatwater.runner.interrupt import watch_signals
    from flatwater.runner.stack.served.mounts import clear_mount_point, require_fuse
    from flatwater.runner.stack.storage.modelled.emulation import Emulation, plan_of_emulation

    if initial not in (None, "fresh", "filled", "preconditioned"):
        raise UserError(f"{initial!r} is no state of a device", where="--initial", hint="fresh, filled, preconditioned")
    if not 0 < scale <= 1:
        raise UserError(f"{scale:g} is no share of the device", where="--scale", hint="over 0, up to 1")
    if not 0 <= seed < _SEED_END:
        raise UserError(f"{seed} is no seed", where="--seed", hint="0 to 2^53 - 1")
    modelled, use = _device(device, set_ or [], scale)
    emulation = Emulation(
        name=device,
        device=modelled,
        use=use,
        backing=file,
        mount=mount,
        size_bytes=_size(size),
        initial=cast("Initial | None", initial),
        overwrite=overwrite,
        reset=reset,
        durable=not volatile,
        seed=seed,
    )
    require_fuse()
    if file.absolute().parent == mount.absolute():
        raise UserError("BACKING cannot be under the mount that it serves", where="--file", hint="another directory")
    if not file.exists():
        require_free_place(file, "--file")
    plan = plan_of_emulation(emulation)
    cleared = clear_mount_point(mount)
    if cleared:
        _note(cleared)
    with watch_signals() as interrupt:
        try:
            emulator = Emulator(to_json(plan))
        except EngineError as error:
            raise FlatwaterError(str(error)) from None
        _tell(emulation, emulator.size_bytes)
        _serve(emulator, mount, interrupt)


def _device(name: str, set_: list[str], scale: float) -> tuple[Device, Use]:
    from flatwater.errors import UserError
    from flatwater.experiment.device import Use
    from flatwater.experiment.device.load import load_device

    parameters: Tables = {}
    for written in set_:
        field, equals, value = written.partition("=")
        if not equals or not field.strip():
            raise UserError(f"{written!r} is not FIELD=VALUE", where="--set", hint="--set collector.policy=fifo")
        parameters[field.strip()] = _value(value.strip())
    try:
        device = load_device(name, parameters)
    except UserError as error:
        # There is no experiment here, so the error must not name its field.
        field = (error.where or "").removeprefix("storage.")
        where = f"--set {field.removeprefix('parameters.')}" if field.startswith("parameters.") else None
        raise UserError(
            error.what, where=where or ("DEVICE" if field == "device" else field), hint=error.hint
        ) from None
    return device, Use(asynchronous=True, initial="fresh", scale=scale)


def _value(text: str) -> object:
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _size(text: str | None) -> int | None:
    from pydantic import TypeAdapter, ValidationError

    from flatwater.errors import UserError
    from flatwater.experiment.units import Size

    if text is None:
        return None
    try:
        return TypeAdapter(Size).validate_python(text)
    except ValidationError:
        raise UserError(f"{text!r} is not a size", where="--size", hint="20GiB, 500M") from None


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _tell(emulation: Emulation, size_bytes: int) -> None:
    from flatwater.experiment import print_size

    path = emulation.mount / "device"
    print(f"serving {print_size(size_bytes)} of {emulation.device.title} as {path}")
    print(f"as a block device:  losetup --find --show --direct-io=on --sector-size 4096 {path}")
    print(f"what it tells:      {emulation.mount / 'smart'}, {emulation.mount / 'stats.json'}")
    print("Ctrl-C ends it.", flush=True)


def _serve(emulator: Emulator, mount: Path, interrupt: Interrupt) -> None:
    """Serves until the user ends it. A second Ctrl-C ends it even if the device is in use."""
    from flatwater.errors import FlatwaterError

    trouble: str | None = None
    busy = False
    try:
        while emulator.mounted():
            if interrupt.requested:
                try:
                    emulator.stop()
                    break
                except OSError as error:
                    if not busy:
                        _note(
                            f"\n{mount} is in use ({_users(mount) or error}): it ends when it is let go; "
                            "a second Ctrl-C ends it at once"
                        )
                    busy = True
            _status(emulator)
            if emulator.trouble() != trouble:
                trouble = emulator.trouble()
                _note(f"warning: {trouble}" if trouble else "the device's state is kept again")
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        emulator.stop(lazily=True)
        _note("ended although it was in use")
    emulator.stop(lazily=True)
    _summarise(json.loads(emulator.summary()))
    if emulator.trouble():
        raise FlatwaterError(emulator.trouble() or "")


def _users(mount: Path) -> str:
    from flatwater.runner.stack.served.mounts import loop_devices

    return ", ".join(f"{name} stands on it" for name in loop_devices(mount.absolute() / "device"))


def _status(emulator: Emulator) -> None:
    from rich.control import Control
    from rich.segment import ControlType

    for sample in emulator.samples():
        for time_s, text in sample["incidents"]:
            _note(f"at {time_s:.1f} s: {text}")
        if sys.stdout.isatty():
            series = sample["series"]
            shown = [f"{sample['end_s']:7.0f} s"]
            if "reads_per_s" in series:
                shown.append(f"{series['reads_per_s']:,.0f} reads/s  {series['writes_per_s']:,.0f} writes/s")
            if "lag_p95_us" in series:
                shown.append(f"behind the model {series['lag_p95_us']:,.0f} us (p95)")
            if "write_amplification" in series:
                shown.append(f"write amplification {series['write_amplification']:.2f}")
            console = make_console()
            console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 0)))
            console.print("  ".join(shown), end="", soft_wrap=True)


def _summarise(told: Any) -> None:
    from flatwater.runner.stack.storage.modelled.emulation import lag_warning

    if sys.stdout.isatty():
        print()
    counts = ("reads", "writes", "flushes", "trims", "failed")
    print(f"{told['running_s']:.0f} s: " + ", ".join(f"{told[name]:,} {name}" for name in counts))
    lag = told["lag"]
    if lag["answers"]:
        print(
            f"behind the model: p50 {lag['lag_p50_us']:,.0f} us, p95 {lag['lag_p95_us']:,.0f} us, "
            f"p99 {lag['lag_p99_us']:,.0f} us, max {lag['lag_max_us']:,.0f} us; {lag['lag_late_pct']:.1f} % late"
        )
        warning = lag_warning(lag["lag_late_pct"], lag["answers"], lag["lag_p95_us"])
        if warning:
            print(f"warning: {warning}")
