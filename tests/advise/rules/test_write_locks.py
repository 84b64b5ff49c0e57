from __future__ import annotations

from cases import case, device, experiment, finding, load

from flatwater.advise.rule import Case
from flatwater.advise.rules.write_locks import WriteLocks
from flatwater.analysis.bound import diagnose
from flatwater.analysis.bound.evidence import Layers
from flatwater.results.schema import LatencyUs

EXPERIMENT = """
[workload]
kind = "fileio"
mode = "{mode}"
engine = "psync"
threads = 16
files = {files}
[storage]
kind = "raid"
device = "raid10-8"
exclusive_writes = {locks}
"""
RULE = WriteLocks()


def run(*, files: int = 1, locks: bool = True, mode: str = "rndwr", write_us: float | None = None) -> Case:
    evidence = case(
        device=device("raid", busy_pct=40, queue_depth=1),
        load=load(
            kind="fileio",
            ops_per_s=1000,
            throughput=1000,
            in_flight=16,
            write_ops_per_s=0 if mode == "rndrd" else 1000 if mode == "rndwr" else 400,
            read_fraction={"rndwr": 0.0, "rndrw": 0.6, "rndrd": 1.0}[mode],
            latency_us={"all": LatencyUs(p50=16_000), "write": LatencyUs(p50=write_us)},
        ),
        experiment=experiment(EXPERIMENT.format(files=files, locks=str(locks).lower(), mode=mode)),
        layers=Layers("modelled", "none", "none", "modelled", "raid10-8"),
    ).evidence
    return Case.of(evidence, diagnose(evidence))


def test_writes_to_one_file() -> None:
    asked = run()
    told = RULE.advise(asked)
    assert asked.diagnosis.name == "contention"
    assert told is not None
    assert told.share == 15 / 16
    assert told.evidence[:2] == (
        "1 file for 16 requests in flight",
        "15 of 16 requests in flight waited until another write to the same file was over",
    )
    assert told.change.overrides == ("storage.exclusive_writes=false",)


def test_writes_among_reads_are_counted_by_their_time() -> None:
    told = RULE.advise(run(mode="rndrw", write_us=20_000))
    assert told is not None
    assert told.evidence[1].startswith("7 of 16 requests"), "400 writes a second of 20 ms are 8, and one is let through"


def test_silent_without_the_lock_with_enough_files_and_of_reads() -> None:
    for silent in (run(locks=False), run(files=16), run(mode="rndrd"), case(finding("contention"))):
        assert RULE.advise(silent) is None


def test_who_waits_above_the_device_does_not_wait_for_it() -> None:
    found = {one.name: one.share for one in run().diagnosis.findings}
    assert found.get("device latency", 0.0) <= 1 / 16
