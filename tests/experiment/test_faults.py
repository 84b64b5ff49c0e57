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
#: TPC-C and sysbench's OLTP on a server.
S = "[database]\nkind = 'server'\n"
T = S + "[workload]\nkind = 'tpcc'\n"
Q = S + "[workload]\nkind = 'oltp'\nmode = 'read_write'\n"
ATTACHED = "[workload]\nkind = 'tpcc'\n[database]\nkind = 'server'\nurl = 'mysql://me@db/'\n"
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
    "kinds-not-built": "[workload]\nkind = 'replay'\ntrace = 'x'\n[database]\nkind = 'innodb'\npool = 'x'\n"
    "[cache]\nkind = 'ram'\n[storage]\nkind = 'ssd'\ndevice = 'x'\n[sweep]\n'workload.trace' = ['x', 'y']\n"
    "[[published]]\nset = { 'workload.trace' = 'x' }\n" + FIGURE,
    "kinds-unknown": "[workload]\nkind = 'fileoi'\n[database]\nkind = 'oracle'\n[storage]\nkind = 3\n",
    "kinds-swept": T + "[sweep]\n'workload.kind' = ['tpcc', 'oltp']\n",
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
    # workloads on a server
    "tpcc-ranges": T + "warehouses = 0\nconnections = 0\nunit = 'tpmC'\n",
    "tpcc-warehouses": T + "warehouses = 40000\nconnections = 100000\n",
    "tpcc-types": T + "warehouses = 1.5\nconnections = '8'\npipeline = 1\nkeying_and_think = 'yes'\n",
    "tpcc-other-names": T + "threads = 8\nusers = 8\nwarmup = 5\nscale = 10\nwarehouse = 3\nmode = 'read_write'\n"
    "rows = 10\nblock_size = '16KiB'\nfsync = 'end'\nxyzzy = 1\n",
    "tpcc-two-paces": T + "keying_and_think = true\nrate_per_s = 100\n",
    "tpcc-snia": T + "steady_state = 'snia'\nrounds_max = 3\n",
    "tpcc-short": T + "duration_s = 0.5\n",
    "oltp-no-mode": S + "[workload]\nkind = 'oltp'\ntable_size = 1000\n",
    "oltp-choices": S + "[workload]\nkind = 'oltp'\nmode = 'read-write'\ndistribution = 'zipf'\nunit = 'NOTPM'\n",
    "oltp-scripts": S + "[workload]\nkind = 'oltp'\nmode = 'oltp_redd_only.lua'\n",
    "oltp-ranges": Q + "tables = 0\nrows = 0\nrange_size = 0\nspec_pct = 0\nspec_res = 100\nspec_iter = 0\n"
    "pareto_h = 1\nzipfian_exp = -1\npoint_selects = -1\nindex_updates = 1.0\n",
    "oltp-large": Q + "tables = 100000\nrows = 3000000000\ndelete_inserts = 100000\nspec_pct = 101\n",
    "oltp-other-names": Q + "threads = 4\nrand_type = 'uniform'\nwarehouses = 1\nrow = 5\nzipf_theta = 0.9\n",
    "oltp-nothing-to-do": Q + "point_selects = 0\nrange_selects = false\nindex_updates = 0\nnon_index_updates = 0\n"
    "delete_inserts = 0\n",
    "no-server-and-more": "[workload]\nkind = 'tpcc'\n[storage]\nsize = '1GiB'\n[[published]]\n" + FIGURE,
    "server-for-files-and-more": S + W + "block_size = '1MiB'\n[storage]\nsize = '1KiB'\n[[published]]\n" + FIGURE,
    "no-server": "[workload]\nkind = 'tpcc'\n",
    "no-server-but-settings": "[workload]\nkind = 'oltp'\nmode = 'insert'\n[database]\ninstances = 2\n"
    "settings = { innodb_doublewrite = 0 }\n",
    "server-for-files": S + W,
    "server-for-a-wrong-workload": S + "[workload]\nkind = 'tpc'\n",
    # servers
    "server-types": T + "[database.settings]\na = [1, 2]\nb = { c = 1 }\nd = nan\ne = 2020-01-01\nf = 1e999\n"
    f'g = {2**64}\nh = "two\\nlines"\n',
    "server-names": T
    + "[database.settings]\nInnoDB_doublewrite = 0\n'innodb io' = 1\n'' = 1\n9 = 1\n"
    + f"{'x' * 65} = 1\n",
    "server-set-twice": T + "[database.settings]\ninnodb_doublewrite = 0\ninnodb-doublewrite = 1\n",
    "server-reserved": T + "[database.settings]\ndatadir = '/x'\nport = 3307\nsocket = '/x'\nskip-networking = true\n"
    "loose_init_file = 'x'\nuser = 'root'\ninnodb_log_group_home_dir = '/x'\nskip_grant_tables = true\n"
    "basedir = '/x'\n",
    "server-elsewhere": T + "[database.settings]\naudit_log_file = '/x'\nlog_bin = '../x'\nlog_isam = '~'\n"
    "[sweep]\n'database.settings.slave_load_tmpdir' = ['a', '..']\n",
    "server-settings-no-table": S.replace("'server'", "'server'\nsettings = 3") + T.partition(S)[2],
    "server-out-of-range": T + "warehouses = 10\n" + "[storage]\n" + "keep = 1\n",
    "instances-none": S + "instances = 0\non_crash = 'retry'\nbinary = ''\n" + T.partition(S)[2],
    "instances-many": S + "instances = 65\nschema_name = 'a b'\nschema = 'x'\nserver = 'mysqld'\n" + T.partition(S)[2],
    "instances-idle": S + "instances = 4\n" + T.partition(S)[2] + "connections = 2\n",
    "fault-wrong": S + "fault = { kind = 'kil', at_s = -1, after_s = 3 }\n" + T.partition(S)[2],
    "fault-empty": S + "fault = {}\n" + T.partition(S)[2],
    "fault-lengths": S + "fault = { kind = 'freeze', at_s = 5 }\n" + T.partition(S)[2],
    "fault-killed-for-a-time": S + "fault = { kind = 'kill', at_s = 5, duration_s = 5 }\n" + T.partition(S)[2],
    "fault-too-late": S + "fault = { kind = 'kill', at_s = '1m' }\n" + T.partition(S)[2] + "duration_s = 30\n",
    "server-and-files": T + "[storage]\nsize = '1GiB'\nfill = 0.5\noverwrite = true\npurge = true\n"
    "fault = { kind = 'stall' }\n",
    **{
        f"url-{number}": S + f"url = '{url}'\n" + T.partition(S)[2]
        for number, url in enumerate(
            (
                "http://me@db/",
                "db:3306",
                "mysql://db:3306/tpcc",
                "mysql://me@db:port/",
                "mysql://me@db:99999/",
                "mysql://me@db:0/",
                "mysql://me:p/q@db/",
                "mysql://me:p#q@db/",
                "mysql://me@db/a/b",
                "mysql://me@:3306/tpcc",
                "mysql://me@[::1/",
                "mysql:///?user=me",
                "mysql:///run/my.sock",
                "mysql:///run/my.sock?user=me&colour=red",
                "mysql:///run/my.sock?user=me&user=you",
                "mysql:///run/my.sock?user",
                "mysql://me@db/?user=you",
                f"mysql:///{'x' * 108}?user=me",
                "mysql://me@d b/",
                "",
                "mysql://me@db/?ssl-mode=on",
                "mysql://me@db/?ssl-ca=",
                "mysql://me@db/?ssl-mode=REQUIRED&ssl_mode=REQUIRED",
                "mysql://me@db/?ssl-mode=REQUIRED&ssl-ca=/ca.pem",
            )
        )
    },
    "tls-of-our-own": S + "ssl_mode = 'REQUIRED'\nssl_ca = '/ca.pem'\n" + T.partition(S)[2],
    "tls-twice": ATTACHED.replace("db/", "db/?ssl-mode=REQUIRED") + "ssl_mode = 'REQUIRED'\nssl_cert = '/c.pem'\n",
    "tls-wrong": ATTACHED + "ssl_mode = 'yes'\nssl_ca = ''\nssl_key = 3\nsslmode = 'REQUIRED'\n",
    "tls-for-nothing": ATTACHED + "ssl_mode = 'disabled'\nssl_cert = '/c.pem'\nssl_key = '/k.pem'\n",
    "url-number": S + "url = 3306\n" + T.partition(S)[2],
    "url-changes-nothing": ATTACHED + "binary = 'mysqld'\ninstances = 2\non_crash = 'restart'\n"
    "fault = { kind = 'kill', at_s = 1 }\nsettings = { innodb_doublewrite = 0 }\n[storage]\npath = '/x'\n"
    "keep = false\n",
    "load-of-our-own": S + "load = true\n" + T.partition(S)[2],
    # a load of several hosts
    "load-table": ATTACHED + "[load]\nhosts = 0\nhost = 2\n",
    "load-too-few-sessions": ATTACHED.replace("'tpcc'", "'tpcc'\nconnections = 2") + "[load]\nhosts = 3\n",
    "load-swept-too-far": ATTACHED + "[load]\n[sweep]\n'load.hosts' = [1, 9, 10]\n",
    "load-of-the-same-ids": "[workload]\nkind = 'oltp'\nmode = 'insert'\nauto_inc = false\n"
    "[database]\nkind = 'server'\nurl = 'mysql://me@db/'\n[load]\nhosts = 2\n",
    "load-through-a-socket": ATTACHED.replace("me@db/", "/run/a.sock?user=me") + "[load]\n",
    "load-on-loopback": ATTACHED.replace("@db/", "@127.0.0.2/") + "[load]\n",
    "load-on-localhost": ATTACHED.replace("@db/", "@LOCALHOST/") + "[load]\n",
    "load-on-a-started-server": T + "[load]\n",
    "load-of-too-few-threads": W + "[load]\nhosts = 2\n",
    "load-of-sequential-fileio": "[workload]\nmode = 'seqrd'\nthreads = 2\n[load]\nhosts = 2\n",
    "load-of-verified-writes": "[workload]\nmode = 'rndrw'\nthreads = 2\nverify = true\n[load]\n",
    "load-of-faults": W + "threads = 2\n[storage.fault]\nkind = 'stall'\n[load]\nhosts = 2\n",
    "load-on-a-cache": W + "[cache]\nkind = 'flash'\nstorage = { path = '/a' }\n[load]\n",
    "load-on-emulated": W + "[storage]\nkind = 'ssd'\ndevice = 'fusion-io-iodrive-320-mlc'\nreal_time = true\n[load]\n",
    "cache-before-nothing": W + "[cache]\nkind = 'flash'\nbefore = 'log'\nstorage = { path = '/a' }\n",
    "load-on-models": W + "[storage]\nkind = 'ssd'\ndevice = 'fusion-io-iodrive-320-mlc'\n[load]\n",
    "url-two-schemas": ATTACHED.replace("db/", "db/tpcc1000") + "schema_name = 'tpcc'\n",
    "url-swept-password": T + "[sweep]\n'database.url' = ['mysql://me:secret@db/', 'mysql://me@db/']\n",
    "url-published-password": ATTACHED
    + "[[published]]\nset = { 'database.url' = 'mysql://me:secret@db/' }\nvalue = 1\n"
    "unit = 'NOTPM'\nsource = 's'\n",
    # sweeps of settings
    "settings-swept": T + "[sweep]\n'database.settings.port' = [1, 2]\n'database.settings.Upper' = [1]\n"
    "'database.settings.a.b' = [1]\n'database.settings.innodb-io-capacity' = [200, [1], 200]\n",
    "settings-swept-twice": T + "[sweep]\n'database.settings.sync-binlog' = [0, 1]\n"
    "[sweep.zip]\n'database.settings.sync_binlog' = [0, 1]\n",
    "settings-swept-whole-and-part": T + "[sweep]\n'database.settings' = [{ a = 1 }, { a = 2 }]\n"
    "'database.settings.b' = [0, 1]\n",
    "settings-swept-of-no-server": W + "[sweep]\n'database.settings.sync_binlog' = [0, 1]\n",
    "sweep-of-another-kind": T
    + "[sweep]\n'workload.threads' = [1]\n'workload.rows' = [1]\n'workload.mode' = ['rndrd']\n",
    "sweep-instances": T + "[sweep]\n'database.instances' = [1, 8, 16]\n",
    "published-settings": T
    + "[database.settings]\nsync_binlog = 1\n"
    + "".join(
        f"[[published]]\nset = {{ 'database.settings.{name}' = {value} }}\nvalue = 1\nunit = 'NOTPM'\nsource = 's'\n"
        for name, value in (("sync_binlog", 0), ("log_bin", 1), ("sync_binlog", 1), ("port", 1))
    ),
    "published-units-of-servers": T + "[[published]]\n" + FIGURE,
    "published-units-of-oltp": Q + "[[published]]\n" + FIGURE,
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
    "published-ratios": W
    + "[sweep]\n'workload.threads' = [1, 2]\n"
    + "".join(
        f"[[published]]\nset = {{ 'workload.threads' = 2 }}\nvalue = 2\nunit = 'x'\nsource = 's'\n{relative_to}\n"
        for relative_to in (
            "relative_to = { 'workload.threads' = 3 }",
            "relative_to = {}",
            "relative_to = { 'workload.threads' = 2 }",
        )
    ),
    "published-ratio-to-nothing": W + "[[published]]\nvalue = 2\nunit = 'x'\nsource = 's'\n",
    "published-ratio-of-rates": W + "[[published]]\nrelative_to = { 'workload.threads' = 1 }\n" + FIGURE,
    "published-bounds": W + "[[published]]\nup_to = 9\nat_least = true\n" + FIGURE,
    "published-units": W + "[[published]]\nvalue = 1\nunit = 'MiB/s'\nsource = 's'\n"
    "[[published]]\nmetric = 'latency_us.p95'\nvalue = 1\nunit = 'ms'\nsource = 's'\n",
    # everything at once, and nothing that only follows from something else
    "all-at-once": "titel = 'x'\n[workload]\nmode = 'rndwx'\nengine = 'io_urng'\nqueue_depth = 32\n"
    "block_size = '2MiB'\nfsync = 'every-write'\nfsync_every = 2\n[storage]\nsize = '1MiB'\n"
    "[sweep]\n'workload.threads' = [1, 0]\n[report]\nx = 'workload.threads'\n"
    "[[published]]\nset = { 'workload.threads' = 7 }\nvalue = 1\nunit = 'MiB/s'\nsource = 's'\n",
    "model-without-a-device": W + "[storage]\nkind = 'ssd'\nparameters = { 'timing.read_us' = 3 }\n",
    "model-unknown-device": W + "[storage]\nkind = 'ssd'\ndevice = './card.tom'\n",
    "model-of-no-kind": W + "[storage]\nkind = 'ssb'\ndevice = 'x'\n",
    "model-with-fields-of-files": W + "[storage]\nkind = 'memory'\npurge = true\npath = '/x'\ncapacity_scale = 0\n",
    "model-workload": "[workload]\nmode = 'rndwr'\ndirect = false\nverify = true\n[storage]\nkind = 'hdd'\n",
    "model-parameters": W + "[storage]\nkind = 'ssd'\n[storage.parameters]\ntiming = { read_us = [1, 2] }\nx = nan\n",
    "model-events": W
    + "[storage]\nkind = 'raid'\nevents = [{ kind = 'fail', at_s = 1 }, { kind = 'melt', at_s = 'x' }]\n",
    "model-and-server": "[workload]\nkind = 'tpcc'\n[database]\nkind = 'server'\n[storage]\nkind = 'ssd'\n",
    # the cache
    "cache-fields-without-a-cache": W + "[cache]\nsize = '1GiB'\ndirty_high_pct = 20\n",
    "cache-values": W + "[cache]\nkind = 'flash'\npreset = 'bcache'\nmode = 'writeback'\npolicy = 'arc'\n"
    "admission = 'nhit'\nblock_size = '10KiB'\nsequential_bytes = -1\ndirty_high_pct = 101\nflush_period_s = 'soon'\n"
    "verify = 1\nwrite_back_depth = 0\nallow_processes = [0]\ndirty_thresh_pct = 20\n",
    "cache-marks": W + "[cache]\nkind = 'flash'\nsize = '1KiB'\ndirty_high_pct = 20\ndirty_low_pct = 30\n"
    "allow_processes = [7]\ndeny_processes = [7]\n",
    "cache-storage-kind": W + "[cache]\nkind = 'flash'\n[cache.storage]\nkind = 'sdd'\ndevice = 'x'\n",
    "cache-storage-fields": W + "[cache]\nkind = 'flash'\nsize = '1TiB'\n[cache.storage]\nkind = 'ssd'\n"
    "device = 'intel-x25-e'\nsize = '1GiB'\nexclusive_writes = true\n[storage]\nkind = 'hdd'\n",
    "cache-storage-device": W + "[cache]\nkind = 'flash'\n[cache.storage]\nkind = 'ssd'\ndevice = 'disk-15k'\n"
    "[storage]\nkind = 'hdd'\n",
    "cache-storage-parameters": W + "[cache]\nkind = 'flash'\n[cache.storage]\nkind = 'ssd'\ndevice = 'intel-x25-e'\n"
    "parameters = { 'timing.read' = 3 }\n[storage]\nkind = 'hdd'\n",
    "cache-modelled-on-real": W + "[cache]\nkind = 'flash'\n[cache.storage]\nkind = 'ssd'\n[storage]\nsize = '1GiB'\n",
    "cache-real-on-modelled": W + "[cache]\nkind = 'flash'\n[cache.storage]\npath = '/x'\n[storage]\nkind = 'hdd'\n",
    "cache-in-virtual-time": "[workload]\nmode = 'rndwr'\nprecondition_passes = 1\n"
    "[cache]\nkind = 'flash'\nwarm = true\n"
    "deny_processes = [3]\n[cache.storage]\nkind = 'ssd'\n[storage]\nkind = 'hdd'\n",
    "cache-in-real-time": W + "[cache]\nkind = 'flash'\nwarm = true\n[cache.storage]\npath = '/x'\n"
    "[storage]\npurge = true\nsize = '4KiB'\n",
    "cache-of-a-foreign-server": "[workload]\nkind = 'tpcc'\n[database]\nkind = 'server'\nurl = 'mysql://a@b/c'\n"
    "[cache]\nkind = 'flash'\n",
    "cache-swept": W + "[cache]\nkind = 'flash'\ndirty_low_pct = 10\n[cache.storage]\nkind = 'ssd'\n"
    "[storage]\nkind = 'hdd'\n[sweep]\n'cache.dirty_high_pct' = [5, 20, 101]\n'cache.enabled' = [true, 'no']\n"
    "'cache.storage.parameters.x' = [1, 1]\n",
    "sweep-of-parameters": W + "[storage]\nkind = 'ssd'\n[sweep]\n'storage.parameters.timing.read_us' = [1, 1, [2]]\n"
    "'storage.device' = ['a', 'b']\n",
    "published-transition": "[workload]\nmode = 'rndwr'\n[[published]]\nmetric = 'transition_s'\n"
    "value = 3\nunit = 'min'\nsource = 's'\n",
    "published-within": W + "[[published]]\nvalue = 'x'\nunit = 'IOPS'\nsource = 's'\nwithin = 0\n",
    "report-names": W + "[sweep]\n'workload.threads' = [1, 2]\n[report]\nnames = ['a', 'a']\n",
    "report-names-too-few": W + "[sweep]\n'workload.threads' = [1, 2]\n[report]\nnames = ['a']\n",
    "expected-nothing": W + "[[expected]]\nsource = 's'\n[[expected]]\nverdict = 'flat'\n",
    "expected-words": W + "[[expected]]\nverdict = 'smooth'\nsource = 's'\nverdikt = 1\n[[expected]]\nsource = 's'\n"
    "order = 'best'\n[[expected]]\nsource = 's'\nverdict = []\n[[expected]]\nsource = 's'\ntau = 2\norder = [3]\n",
    "expected-cells": W + "[sweep]\n'workload.threads' = [1, 2]\n"
    "[[expected]]\nsource = 's'\norder = [{ workload.threads = 1 }, { workload.threads = 9 }]\n"
    "[[expected]]\nsource = 's'\noptimum = { 'workload.files' = 2 }\n"
    "[[expected]]\nsource = 's'\noptimum = { 'workload.threds' = 2 }\n"
    "[[expected]]\nsource = 's'\nverdict = 'flat'\nset = { 'workload.threads' = 3 }\n",
    "innodb-model-devices": "[workload]\nkind = 'tpcc'\n[storage]\nkind = 'raid'\ndevice = 'raid10-8'\n"
    "[database]\nkind = 'innodb-model'\nmemory = '0G'\nbinlog_device = 'raid10-9'\ntables.stock = 'nothing'\n"
    "[database.settings]\ninnodb_log_block_size = 600\nmax_binlog_size = '2G'\ninnodb_flush_method = 'direct'\n",
    "innodb-model-direct": "[workload]\nkind = 'tpcc'\n[storage]\nkind = 'raid'\ndevice = 'raid10-8'\n"
    "[database]\nkind = 'innodb-model'\ngeneration = 'mysql-5.5'\n"
    "[database.settings]\ninnodb_flush_method = 'ALL_O_DIRECT'\n",
    "innodb-model-servers": "[workload]\nkind = 'oltp'\nmode = 'read_write'\ntables = 3\nconnections = 7\n"
    "[storage]\nkind = 'raid'\ndevice = 'raid10-8'\n"
    "[database]\nkind = 'innodb-model'\nservers = 2\n[database.settings]\ninnodb_buffer_pool_size = '8M'\n",
    "innodb-model-too-many-servers": "[workload]\nkind = 'tpcc'\n[storage]\nkind = 'raid'\ndevice = 'raid10-8'\n"
    "[database]\nkind = 'innodb-model'\nservers = 65\n",
    "innodb-model-servers-swept": "[workload]\nkind = 'tpcc'\nwarehouses = 4\n"
    "[storage]\nkind = 'raid'\ndevice = 'raid10-8'\n"
    "[database]\nkind = 'innodb-model'\n[sweep]\n'database.servers' = [1, 2, 3]\n",
    # The user's own statements.
    "sql-nothing": S + "[workload]\nkind = 'sql'\n",
    "sql-statements": S + "[workload]\nkind = 'sql'\n[workload.transactions.a]\nstatements = [\n'SELECT 1; SELECT 2',\n"
    "'SELECT ?',\n':lost',\n\"SELECT 'open\",\n]\n[workload.transactions.b]\nstatements = []\nwieght = 2\n",
    "sql-parameters": S + "[workload]\nkind = 'sql'\n[workload.transactions.a]\nstatements = ['SELECT :a, :b, :c']\n"
    "[workload.parameters]\na = { kind = 'zipfian', max = 9 }\nb = { kind = 'uniform', min = 9, max = 1 }\n"
    "c = { kind = 'uniform' }\nunused = { kind = 'now' }\n",
    "sql-writes": S + "url = 'mysql://me@db/'\n[workload]\nkind = 'sql'\n[workload.transactions.a]\n"
    "statements = ['SELECT 1', 'DELETE FROM t']\n",
    "sql-modelled": "[workload]\nkind = 'sql'\n[workload.transactions.a]\nstatements = ['SELECT 1']\n"
    "[storage]\nkind = 'raid'\ndevice = 'raid10-8'\n[database]\nkind = 'innodb-model'\n",
    "query-log-nowhere": S + "[workload]\nkind = 'query-log'\nlog = 'nowhere.log'\nrate_per_s = 5\n",
    "query-log-of-a-folder": S + "[workload]\nkind = 'query-log'\nlog = '.'\nreconnect_every = 5\n",
    "query-log-of-a-device": S + "[workload]\nkind = 'query-log'\nlog = '/dev/zero'\n",
    "query-log-on-hosts": "[workload]\nkind = 'query-log'\nlog = 'nowhere.log'\n"
    "[database]\nkind = 'server'\nurl = 'mysql://me@db/'\n[load]\nhosts = 2\n",
    "sql-sequence-on-hosts": "[workload]\nkind = 'sql'\n[workload.transactions.a]\nstatements = ['SELECT :newest']\n"
    "[workload.parameters]\nn = { kind = 'sequence' }\nnewest = { kind = 'latest', sequence = 'n' }\n"
    "[database]\nkind = 'server'\nurl = 'mysql://me@db/'\n[load]\nhosts = 2\n",
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
    assert text == GOLDEN.read_text(), "if this is on purpose: UPDATE_GOLDEN=1"


def test_every_case_is_told_on_one_line_of_its_own() -> None:
    golden = GOLDEN.read_text().splitlines()
    for name in CASES:
        assert any(line.startswith(f"{name}.toml:") for line in golden), name
    assert all(len(line) < 330 for line in golden)
