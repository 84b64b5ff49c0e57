"""Every way in which a file can be wrong, against golden/errors.txt: one line a problem.

After a change of wording: `UPDATE_GOLDEN=1 pytest tests/experiment/test_faults.py`, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment import InvalidExperimentError, load

GOLDEN = Path(__file__).parent / "golden" / "errors.txt"

W = '[workload]\nmode = "rndrd"\n'
U = W + 'engine = "io_uring"\n'
FIGURE = 'value = 1\nunit = "IOPS"\nsource = "s"\n'

#: Name -> text of a file.
CASES = {
    # TOML
    "empty": "",
    "only-comments": "# nothing yet\n",
    "not-toml": "[workload\nmode = 3\n",
    "not-toml-at-all": "workload: {mode: rndrd}\n",
    "unfinished-text": 'title = "x\n',
    "key-twice": W + 'mode = "rndwr"\n',
    "table-twice": W + W,
    "number-too-long": f"seed = {'9' * 5000}\n",
    "nested-deep": f"a = {'[' * 20_000}\n",
    "tables-deep": f"{'a.' * 2000}b = 1\n",
    # shape
    "no-workload": "title = 'x'\n",
    "no-mode": "[workload]\nthreads = 3\n",
    "values-for-tables": "workload = 3\nsweep = 4\npublished = 5\nstorage = []\nreport = 1\nrecord = 2\nname = 5\n",
    "array-of-workloads": '[[workload]]\nmode = "rndrd"\n',
    # unknown names
    "unknown-top-level": "titel = 'x'\nthreads = 4\n[worklod]\n" + W,
    "unknown-field": W + "tread = 1\nthread = 1\nfill = 0.5\nxyzzy = 1\n",
    "field-of-another-layer": W + "[storage]\nthreads = 4\nfiles = 3\n",
    "unknown-in-record": W + "[record]\ninterval = 1\n[report]\ny = 'x'\n",
    "unknown-in-fault": W + "[storage.fault]\nkind = 'stal'\nafter = 1\n",
    # kinds
    "kinds-not-built": "[workload]\nkind = 'tpcc'\nwarehouses = 10\n[database]\nkind = 'server'\nserver = 'x'\n"
    "[cache]\nkind = 'flash'\n[storage]\nkind = 'ssd'\ndevice = 'x'\n[sweep]\n'workload.warehouses' = [1, 2]\n"
    "[[published]]\nset = { 'workload.warehouses' = 1 }\n" + FIGURE,
    "kinds-unknown": "[workload]\nkind = 'fileoi'\n[database]\nkind = 'oracle'\n[storage]\nkind = 3\n",
    "kind-swept": U + "[sweep]\n'storage.kind' = ['file', 'raid']\n",
    # values
    "choices": "[workload]\nmode = 'rndwx'\nengine = 'io_urng'\nsync = true\nfsync = 'never'\nunit = 'MB/s'\n"
    "distribution = 'gauss'\narrival = 'possion'\nsteady_state = 'SNIA'\n",
    "choices-equally-near": "[workload]\nmode = 'rndrq'\n",
    "types": W + "threads = true\nfiles = 1.0\nqueue_depth = '4'\ndirect = 1\nverify = 'yes'\nread_pct = '50'\n",
    "dates": "title = 2020-01-01\n" + W + "block_size = 2020-01-01\nduration_s = 10:00:00\n",
    "sizes": W + "block_size = '12Q'\n[storage]\nsize = 0\n",
    "sizes-of-other-kinds": W + "block_size = true\nprecondition_block_size = 1.5\n[storage]\nsize = '-1GiB'\n",
    "sizes-huge": W + "block_size = '2GiB'\n[storage]\nsize = '9300PB'\n",
    "size-nothing": W + "[storage]\nsize = '0KiB'\nfill = 0\npath = ''\n",
    "durations": W + "duration_s = 0\nwarmup_s = -1\nround_s = '5 minutes'\n[record]\ninterval_s = 0.01\n",
    "not-finite": W + "rate_per_s = nan\nduration_s = inf\nwarmup_s = nan\nzipf_theta = -inf\npareto_h = 1\n",
    "numbers-huge": W + f"duration_s = {'9' * 400}\nfiles = {'9' * 4000}\n",
    "out-of-range": "repeat = 0\nseed = -1\n"
    + W
    + "files = 0\nread_pct = 101\nhotspot_data_pct = 0\nrate_per_s = -1\n",
    "threads": W + "threads = 100000\n",
    "threads-none": W + "threads = 0\nqueue_depth = 100000\n",
    "mixtures": W + "block_size = { '4KiB' = 50, '8KiB' = 40 }\n",
    "mixture-empty": W + "block_size = {}\n",
    "mixture-twice": W + "block_size = { '4KiB' = 50, '4096' = 50 }\n",
    # what does not go together
    "psync-with-a-queue": W + "queue_depth = 32\n",
    "block-larger-than-file": W + "block_size = '1MiB'\nfiles = 4\n[storage]\nsize = '4MiB'\nfill = 0.5\n",
    "unaligned": W + "block_size = 1000\n",
    "verify-mixed": W + "verify = true\nblock_size = { '4KiB' = 50, '8KiB' = 50 }\n",
    "verify-small": W + "verify = true\ndirect = false\nblock_size = 256\n",
    "verify-large": W + "verify = true\nblock_size = '128MiB'\n",
    "ratio-and-percent": W + "read_pct = 50\nrw_ratio = 1\n",
    "fsync-twice": W + "fsync = 'every-write'\nfsync_every = 10\n",
    "snia-few-rounds": W + "steady_state = 'snia'\nrounds_max = 3\n",
    "shorter-than-an-interval": W + "duration_s = 0.5\n",
    # sweeps
    "sweep-unknown-field": W + "[sweep]\n'workload.thread' = [1]\n'storage.threads' = [1]\nthreads = [1]\nseed = [1]\n",
    "sweep-lists": W + "[sweep]\n'workload.threads' = []\n'workload.files' = 3\n",
    "sweep-values": W
    + "[sweep]\n'storage.fill' = [0.5, 2.0, 'x']\n'workload.block_size' = ['4KiB', '12Q', { a = 1 }]\n",
    "sweep-values-many": W + f"[sweep]\n'workload.threads' = {[0] * 100}\n",
    "sweep-value-twice": W + "[sweep]\n'workload.block_size' = ['4KiB', '8KiB', 4096]\n",
    "sweep-table": W + "[sweep]\n'storage.fault' = [{ kind = 'stall' }, { kind = 'x' }, {}]\n",
    "sweep-field-twice": W + "[sweep]\n'workload.threads' = [1]\n[sweep.zip]\nworkload.threads = [1]\n",
    "zip-unequal": W + "[sweep.zip]\n'workload.threads' = [1, 2]\n'storage.fill' = [0.5]\n",
    "zip-values": W + "[[sweep.zip]]\nworkload.threads = [1, 0]\n[[sweep.zip]]\nworkload.file = [1]\n",
    "zip-no-table": W + "[sweep]\nzip = [3]\n",
    "sweep-conflict": U + "[sweep]\n'workload.engine' = ['io_uring', 'psync']\n'workload.queue_depth' = [1, 8, 32]\n",
    "sweep-conflict-first": W + "[sweep]\n'workload.queue_depth' = [8, 1]\n",
    "sweep-conflict-of-layers": W + "[sweep]\n'storage.size' = ['1GiB', '4KiB']\n",
    # report, published
    "report-axes": W + "[sweep]\n'workload.threads' = [1]\n[report]\nx = 'workload.thread'\nseries = 'storage.fill'\n",
    "report-axis-twice": W + "[sweep]\n'workload.threads' = [1]\n[report]\nx = 'workload.threads'\n"
    "series = 'workload.threads'\n",
    "published-without": W + "[[published]]\nvalue = 3\nunit = 'IOPS'\n[[published]]\nsource = ''\n",
    "published-wrong": W
    + "[[published]]\nset = 3\nmetric = 'men'\nvalue = true\nunit = 'IOPS'\nsource = 's'\nnote = 1\n",
    "published-set-unknown": W + "[[published]]\nset = { 'workload.thread' = 3, storage = { fill = 3 } }\n" + FIGURE,
    "published-no-cell": W + "[sweep]\n'workload.threads' = [1, 2]\n[[published]]\n" + FIGURE + "[[published]]\n"
    "set = { 'workload.threads' = 3 }\n" + FIGURE + "[[published]]\nset = { 'storage.fill' = 0.5 }\n" + FIGURE,
    "published-zip": U + "[sweep.zip]\n'workload.threads' = [1, 2]\n'workload.queue_depth' = [2, 1]\n[[published]]\n"
    "set = { 'workload.threads' = 1, 'workload.queue_depth' = 1 }\n" + FIGURE,
    "published-units": W + "[[published]]\nvalue = 1\nunit = 'MiB/s'\nsource = 's'\n"
    "[[published]]\nmetric = 'latency_us.p95'\nvalue = 1\nunit = 'ms'\nsource = 's'\n",
    # everything at once, and nothing that only follows from something else
    "all-at-once": "titel = 'x'\n[workload]\nmode = 'rndwx'\nengine = 'io_urng'\nqueue_depth = 32\n"
    "block_size = '2MiB'\nfsync = 'every-write'\nfsync_every = 2\n[storage]\nsize = '1MiB'\n"
    "[sweep]\n'workload.threads' = [1, 0]\n[report]\nx = 'workload.threads'\n"
    "[[published]]\nset = { 'workload.threads' = 7 }\nvalue = 1\nunit = 'MiB/s'\nsource = 's'\n",
    "broken-sweep-hides-nothing-else": "[workload]\nqueue_depth = 32\n[storage]\nsize = '4KiB'\n"
    "[sweep]\nworkload.mode = ['rndrd']\nworkload.engine = ['io_uring']\nworkload.threads = []\n",
}


def told(path: Path) -> list[str]:
    with pytest.raises(UserError) as caught:
        load(path)
    assert caught.value.exit_code == 2
    problems = caught.value.problems if isinstance(caught.value, InvalidExperimentError) else [caught.value]
    return [str(problem) for problem in problems]


def test_every_problem_of_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []
    for name, text in CASES.items():
        path = Path(f"{name}.toml")
        path.write_text(text)
        lines += told(path)
    text = "\n".join(lines) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_every_case_is_told_on_one_line_of_its_own() -> None:
    golden = GOLDEN.read_text().splitlines()
    for name in CASES:
        assert any(line.startswith(f"{name}.toml:") for line in golden), name
    assert all(len(line) < 330 for line in golden)
