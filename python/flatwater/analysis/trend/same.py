"""Whether two runs repeat one experiment on one machine: otherwise their figures do not belong to one series."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flatwater.analysis.alike import experiment_differences
from flatwater.analysis.trend.runs import Run
from flatwater.results.facts import MachineFacts, StorageFacts

#: Fields of an experiment that say where things are, and the seed: a repeated run may have others. What a path of a
#: trace or of statements leads to is the workload itself, so these count.
_PLACES = re.compile(
    r"seed|(storage|cache\.storage|database\.storages\.[^.]+)\.path|database\.(binary|ssl_ca|ssl_cert|ssl_key"
    r"|server_public_key_path)"
)
#: Memory that the kernel keeps for itself is not in MemTotal, and differs from kernel to kernel.
_MEMORY_SHARE = 0.02


def why_not_comparable(ours: Run, theirs: Run) -> list[str]:
    """What keeps two runs out of one series, each in a few words with both values; empty if they belong together."""
    found = []
    if ours.name != theirs.name:
        found.append(f"name ({ours.name} / {theirs.name})")
    if ours.schema_version != theirs.schema_version:
        found.append(f"schema version ({ours.schema_version} / {theirs.schema_version})")
    found += _machines_differ(ours.machine, theirs.machine)
    if ours.swept != theirs.swept:
        found.append(f"swept fields ({_listed(ours.swept)} / {_listed(theirs.swept)})")
    elif ours.content != theirs.content:
        differing = experiment_differences(ours.experiment, theirs.experiment, ours.swept)
        found += [one.text for one in differing if not _PLACES.fullmatch(one.field)]
    return found


def _listed(fields: frozenset[str]) -> str:
    return ", ".join(sorted(fields)) or "none"


def _machines_differ(ours: MachineFacts, theirs: MachineFacts) -> list[str]:
    if bool(ours) != bool(theirs):
        return ["machine (one of them is not known)"]
    found = list(_differences("", ours, theirs))
    for kind, a, b in (
        ("worker", ours.get("workers", []), theirs.get("workers", [])),
        ("load host", ours.get("load_hosts", []), theirs.get("load_hosts", [])),
    ):
        if len(a) != len(b):
            found.append(f"{kind}s ({len(a)} / {len(b)})")
        else:
            pairs = zip(_ordered(a), _ordered(b), strict=True)
            found += [one for first, second in pairs for one in _differences(f"{kind} ", first, second)]
    return found


def _ordered(machines: Sequence[MachineFacts]) -> list[MachineFacts]:
    return sorted(machines, key=lambda one: (one.get("cpu", ""), one.get("cores", 0), one.get("memory_bytes", 0)))


def _differences(kind: str, ours: MachineFacts, theirs: MachineFacts) -> Iterator[str]:
    a, b = _made_of(ours), _made_of(theirs)
    for name in a:
        first, second = a[name], b[name]
        if isinstance(first, int) and isinstance(second, int) and name == "memory":
            differ = abs(first - second) > _MEMORY_SHARE * max(first, second)
        else:
            differ = first != second
        if differ:
            yield f"{kind}{name} ({_shown(name, first)} / {_shown(name, second)})"


def _made_of(machine: MachineFacts) -> dict[str, str | int | None]:
    """What makes a machine another one. A machine has no name in a result, so two of the same parts are one."""
    storage: StorageFacts = machine.get("storage", {})
    return {
        "CPU": machine.get("cpu"),
        "cores": machine.get("cores"),
        "memory": machine.get("memory_bytes"),
        # A drive may be found under another name after a start; one without a model has nothing but its name.
        "storage": storage.get("model") or storage.get("device") or storage.get("mount_source"),
        "size of the storage": storage.get("device_bytes"),
        "file system": storage.get("file_system"),
    }


def _shown(name: str, value: str | int | None) -> str:
    if value is None:
        return "not known"
    if isinstance(value, int) and name != "cores":
        return f"{value / 2**30:.1f} GiB"
    return str(value)


def machine_text(machine: MachineFacts) -> str:
    """A machine in a few words: `AMD EPYC, 2 cores, 23.5 GiB, /dev/vda, ext4`."""
    made = _made_of(machine)
    parts = [
        str(made["CPU"] or ""),
        f"{made['cores']} cores" if made["cores"] else "",
        _shown("memory", made["memory"]) if made["memory"] else "",
        str(made["storage"] or ""),
        str(made["file system"] or ""),
    ]
    return ", ".join(part for part in parts if part) or "a machine that is not known"
