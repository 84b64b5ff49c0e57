"""Cases for rules: evidence of a minute, made of the quantities that a test names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from flatwater.advise.rule import Case
from flatwater.analysis.bound import Diagnosis, Evidence, Finding
from flatwater.analysis.bound.device import Device
from flatwater.analysis.bound.evidence import Cache, Database, Layers, Load, Machine, Variables
from flatwater.analysis.bound.line import Line
from flatwater.experiment import Experiment
from flatwater.experiment import load as load_experiment

SAMPLES = 60
GIB = 1 << 30


def line(*values: float) -> Line:
    """A minute of a quantity: the values, repeated."""
    return Line(np.resize(np.array(values, dtype=np.float64), SAMPLES))


def database(server: str = "mariadb 10.11.6", settings: dict[str, str] | None = None, **quantities: Any) -> Database:
    """A server by flavour and version. A quantity is a number or a list of them."""
    flavour, version = server.split()
    release = tuple(int(part) for part in version.split("."))
    return Database(
        flavour=flavour,
        version=version,
        release=release,
        generation=quantities.pop("generation", "mariadb-10.11"),
        servers=quantities.pop("servers", 1),
        variables=Variables(settings or {}),
        each=tuple(Variables(one) for one in quantities.pop("each", ())),
        **_lines(quantities),
    )


def device(kind: str = "file", **quantities: Any) -> Device:
    """The storage."""
    return Device(kind=kind, **_lines(quantities))


def cache(mode: str = "write-back", **quantities: Any) -> Cache:
    """The flash cache."""
    return Cache(mode=mode, **_lines(quantities))


def machine(**quantities: Any) -> Machine:
    """The machine; 8 cores and 64 GiB unless the test says otherwise."""
    facts = quantities.pop("facts", {})
    cores, memory = quantities.pop("cores", 8), quantities.pop("memory_bytes", 64 * GIB)
    return Machine(cores=cores, memory_bytes=memory, facts=facts, **_lines(quantities))


def load(**quantities: Any) -> Load:
    """The workload: tpcc with 16 connections unless the test says otherwise."""
    told: dict[str, Any] = {
        "kind": "tpcc",
        "unit": "NOTPM",
        "concurrency": 16,
        "rate_per_s": None,
        "pause_s": 0.0,
        "read_fraction": None,
        "latency_us": {},
        "client_cpu_us_per_op": None,
    }
    told |= {name: quantities.pop(name) for name in list(quantities) if name in told}
    return Load(**told, **_lines(quantities))


def on_storage(facts: dict[str, Any] | None = None, **storage: Any) -> Machine:
    """A machine of iron whose data are on such storage: ext4 on an NVMe drive unless the test says otherwise."""
    told = {
        "path": "/data",
        "device": "/dev/nvme0n1",
        "rotational": False,
        "scheduler": "[none] mq-deadline bfq",
        "write_cache": "write back",
        "physical_block_bytes": 4096,
        "file_system": "ext4",
        "mount_options": "rw,relatime",
    }
    return machine(facts={"hypervisor": False, "storage": told | storage, **(facts or {})})


def experiment(text: str) -> Experiment:
    """An experiment of a file's text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "case.toml"
        path.write_text(text)
        return load_experiment(path)


def served(told: Case) -> Case:
    """The same case, in which the load that was asked for was served."""
    return replace(told, diagnosis=replace(told.diagnosis, name="nothing"))


def finding(name: Any, share: float = 0.6, *evidence: str) -> Finding:
    """A bound that was at work."""
    return Finding(name, share, "seconds", evidence or (f"{name} was at work",))


def case(*findings: Finding, **parts: Any) -> Case:
    """A case: what bounded it, the largest first, and the layers that the test names."""
    layers = parts.pop("layers", Layers("real", "real" if "database" in parts else "none", "none", "real", "disk"))
    evidence = Evidence(
        cell=0,
        experiment=parts.pop("experiment", None),
        layers=layers,
        time_s=np.arange(1.0, SAMPLES + 1),
        interval_s=1.0,
        load=parts.pop("load", load()),
        machine=parts.pop("machine", machine()),
        device=parts.pop("device", None),
        database=parts.pop("database", None),
        cache=parts.pop("cache", None),
        verdict=parts.pop("verdict", "flat"),
        **parts,
    )
    name = findings[0].name if findings else "not told"
    main = findings[0] if findings else None
    return Case.of(evidence, Diagnosis(name, main, findings[1:], "" if findings else "nothing was planted"))


def _lines(quantities: dict[str, Any]) -> dict[str, Any]:
    return {
        name: line(*value) if isinstance(value, list) else line(value) if isinstance(value, int | float) else value
        for name, value in quantities.items()
    }
