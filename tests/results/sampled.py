"""Outputs of programs that sample, written here in their formats, with figures that are known.

Each interval has user 10 %, system 4 %, waiting 6 %, idle 80 %; the disk sda reads 100 requests of 16 KiB a second in
0.5 ms each; the server commits 50 transactions a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

#: 2026-03-13 23:59:30 UTC: half a minute before midnight.
BEGIN = datetime(2026, 3, 13, 23, 59, 30, tzinfo=UTC)
EPOCH = int(BEGIN.timestamp())


def at(second: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return (BEGIN + timedelta(seconds=second)).strftime(form)


def vmstat(n: int, step: int = 1, *, stamped: bool = False, zone: str = "UTC") -> str:
    heads = [
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----",
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st" + f" {zone}" * stamped,
    ]
    boot = " 9  9      0   9999     99   9999    0    0   999   999  999  999 99  1  0  0  0"
    row = " 3  1      0   2048     10   1024    0    0  1600     0  500  900 10  4 80  6  0"
    lines = [*heads, boot + f" {at(0)}" * stamped]
    for number in range(1, n + 1):
        lines += heads if number % 20 == 0 else []
        lines.append(row + f" {at(number * step)}" * stamped)
    return "\n".join(lines) + "\n"


HEADING = (
    "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  %wrqm w_await "
    "wareq-sz     f/s f_await  aqu-sz  %util"
)


def iostat(n: int, step: int = 1, *, stamped: bool = False, form: str = "%m/%d/%Y %I:%M:%S %p") -> str:
    lines = [f"Linux 6.8.0 (host) \t{at(0, '%m/%d/%Y')} \t_x86_64_\t(8 CPU)", ""]
    for number in range(n + 1):
        lines += [at(number * step, form)] * stamped
        lines += ["avg-cpu:  %user   %nice %system %iowait  %steal   %idle"]
        lines += ["          10.00    0.00    4.00    6.00    0.00   80.00", "", HEADING]
        rate = "100.00" if number else "999.00"
        zeros = "0.00 " * 9
        lines.append(f"loop0 {'0.00 ' * 16}")
        lines.append(f"sda   {rate} 1.5625 0.00 0.00 0.50 16.00 {zeros[:-1]} 5.00")
        lines += [f"sdb   1.00 0.01 0.00 0.00 9.00 16.00 {zeros[:-1]} 1.00", "", ""]
    return "\n".join(lines)


def mpstat(n: int, step: int = 1, *, hours: str = "%H:%M:%S") -> str:
    lines = [f"Linux 6.8.0 (host) \t{at(0, '%m/%d/%Y')} \t_x86_64_\t(8 CPU)", ""]
    names = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"
    for number in range(1, n + 1):
        time = at(number * step, hours)
        lines += [f"{time}  {names}"]
        for cpu in ("all", "0"):
            lines.append(
                f"{time}  {cpu:>3}   10.00    0.00    3.00    6.00    0.50    0.50    0.00    0.00    0.00   80.00"
            )
        lines.append("")
    lines.append("Average:     all   10.00    0.00    3.00    6.00    0.50    0.50    0.00    0.00    0.00   80.00")
    return "\n".join(lines) + "\n"


def mpstat_topology(n: int) -> str:
    """With `-T`, each processor has its place, and all together have none."""
    text = mpstat(n).replace("CPU    %usr", "CPU CORE SOCK NODE    %usr")
    return text.replace("    0   10.00", "    0    0    0    0   10.00")


def sysstat_json(n: int, step: int = 1) -> str:
    cpu = {"user": 10.0, "nice": 0.0, "system": 4.0, "iowait": 6.0, "steal": 0.0, "idle": 80.0}
    disk = {"disk_device": "sda", "r/s": 100.0, "rkB/s": 1600.0, "r_await": 0.5, "w/s": 0.0, "wkB/s": 0.0, "util": 5.0}
    reports = [
        {"timestamp": at(number * step, "%m/%d/%Y %H:%M:%S"), "avg-cpu": cpu, "disk": [disk]} for number in range(n + 1)
    ]
    host = {"nodename": "host", "date": at(0, "%m/%d/%Y"), "number-of-cpus": 8, "statistics": reports}
    return json.dumps({"sysstat": {"hosts": [host]}}, indent=1)


def mpstat_json(n: int, step: int = 1) -> str:
    load = {"usr": 10.0, "nice": 0.0, "sys": 3.0, "iowait": 6.0, "irq": 0.5, "soft": 0.5, "steal": 0.0, "idle": 80.0}
    reports = [
        {"timestamp": at(number * step, "%H:%M:%S"), "cpu-load": [{"cpu": "all", **load}, {"cpu": "0", **load}]}
        for number in range(1, n + 1)
    ]
    host = {"nodename": "host", "date": at(0, "%m/%d/%Y"), "statistics": reports}
    return json.dumps({"sysstat": {"hosts": [host]}})


def dstat_csv(n: int, step: int = 1, *, form: str = "epoch") -> str:
    heads = [
        '"Dstat 0.7.4 CSV output"',
        '"Author:","Dag Wieers <dag@wieers.com>",,,,"URL:","http://dag.wieers.com/home-made/dstat/"',
        '"Host:","host",,,,"User:","root"',
        f'"Cmdline:","dstat -tcd --output x.csv {step}",,,,"Date:","{at(0, "%d %b %Y %H:%M:%S")} UTC"',
        '"epoch","total cpu usage",,,,,"dsk/sda","","io/sda",""'
        if form == "epoch"
        else '"system","total cpu usage",,,,,"dsk/sda","","io/sda",""',
        '"epoch","usr","sys","idl","wai","stl","read","writ","read","writ"'
        if form == "epoch"
        else '"time","usr","sys","idl","wai","stl","read","writ","read","writ"',
    ]
    rows = []
    for number in range(n + 1):
        time = f"{EPOCH + number * step}.125" if form == "epoch" else at(number * step, form)
        rows.append(f"{time},10.0,4.0,80.0,6.0,0.0,1638400.0,0.0,100.0,0.0")
    return "\n".join([*heads, *rows]) + "\n"


def dstat_text(n: int, step: int = 1) -> str:
    heads = ["--total-cpu-usage-- -dsk/total- ---system--", "usr sys idl wai stl| read  writ| int   csw "]
    rows = [" 10   4  80   6   0|1600k    0 | 500   900 "] * (n + 1)
    del step
    return "\n".join([*heads, *rows]) + "\n"


def mysqladmin(n: int, step: int = 1, *, relative: bool = False) -> str:
    lines = []
    rates = {"Com_commit": 50, "Questions": 500, "Queries": 600, "Innodb_pages_written": 70, "Uptime": 1}
    gauges = {
        "Innodb_buffer_pool_pages_dirty": 30,
        "Innodb_buffer_pool_pages_data": 80,
        "Innodb_buffer_pool_pages_free": 19,
        "Threads_running": 5,
        "Aborted_clients": 0,
        "Ssl_cipher": "",
    }
    for number in range(n + 1):
        lines += ["+----------+-----+", "| Variable_name | Value |", "+----------+-----+"]
        for name, rate in sorted(rates.items()):
            value = rate * step if relative and number else 10_000 + rate * step * number
            lines.append(f"| {name} | {value} |")
        for name, gauge in gauges.items():
            lines.append(f"| {name} | {0 if relative and number and gauge else gauge} |")
        lines += ["+----------+-----+", ""]
    return "\n".join(lines)


def counters(n: int, step: int = 1) -> str:
    lines = ["timestamp,questions,qps,com_commit,tps,threads_running,my_own"]
    lines += [f"{at(number * step)},{500 * step * number},0,{50 * step * number},0,5,1" for number in range(n + 1)]
    return "\n".join(lines) + "\n"


def counters_since(n: int) -> str:
    """With the seconds since the beginning for times."""
    head, *rows = counters(n).splitlines()
    return "\n".join([head, *(f"{number}{row[row.index(',') :]}" for number, row in enumerate(rows))]) + "\n"


def hammerdb_counter(n: int, step: int = 1) -> str:
    lines = [f"Hammerdb Transaction Counter Log @ {at(0, '%a %b %d %H:%M:%S')} UTC 2026", "+-+-+-+-+-+-+"]
    lines += [f"3000 MySQL tpm @ {at(number * step, '%a %b %d %H:%M:%S')} UTC 2026" for number in range(1, n + 1)]
    return "\n".join(lines) + "\n"


def nopm_samples(n: int, step: int = 1) -> str:
    lines = [f"1:NOPM_SAMPLE:,{EPOCH + number * step},3000" for number in range(1, n + 1)]
    return "\n".join(["timestamp,nopm,tpm", *lines]) + "\n"


def sysbench(n: int, step: int = 1, *, prefix: Callable[[int], str] = lambda second: "") -> str:
    lines = ["sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)", "", "Number of threads: 4"]
    lines += [f"Report intermediate results every {step} second(s)", "Threads started!", ""]
    for number in range(1, n + 1):
        second = number * step
        lines.append(
            f"{prefix(second)}[ {second}s ] thds: 4 tps: 50.00 qps: 1000.00 (r/w/o: 700.00/200.00/100.00) "
            "lat (ms,95%): 12.00 err/s: 0.00 reconn/s: 0.00"
        )
    lines += ["", f"    total time:                          {n * step:.4f}s"]
    return "\n".join(lines) + "\n"


def sysbench_csv(n: int, step: int = 1) -> str:
    rows = [f"{number * step},4,50.00,1000.00,700.00,200.00,100.00,12.00,1.00,0.00" for number in range(1, n + 1)]
    return "\n".join(rows) + "\n"


HAMMERDB = """\
Vuser 1:Beginning rampup time of 1 minutes
Vuser 2:RUNNING
Vuser 1:Rampup 1 minutes complete ...
Vuser 1:Rampup complete, Taking start Transaction Count.
Vuser 1:Timing test period of 2 in minutes
Vuser 1:1  ...,
Vuser 1:2  ...,
Vuser 1:Test complete, Taking end Transaction Count.
Vuser 1:16 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 3000 NOPM from 6900 MySQL TPM
"""

#: Each sampler -> a file of n intervals. A test holds them against the registry.
SAMPLES: dict[str, Callable[[int], str]] = {
    "vmstat": vmstat,
    "iostat": iostat,
    "mpstat": mpstat,
    "sysstat-json": sysstat_json,
    "dstat": dstat_csv,
    "mysqladmin": mysqladmin,
    "counters": counters,
    "hammerdb-counter": hammerdb_counter,
}
#: Further forms of the same.
FORMS: dict[str, Callable[[int], str]] = {
    "vmstat -t": lambda n: vmstat(n, stamped=True),
    "iostat -t": lambda n: iostat(n, stamped=True),
    "iostat -t, ISO": lambda n: iostat(n, stamped=True, form="%Y-%m-%dT%H:%M:%S+0000"),
    "iostat -t, German": lambda n: iostat(n, stamped=True, form="%d.%m.%Y %H:%M:%S"),
    "mpstat, AM and PM": lambda n: mpstat(n, hours="%I:%M:%S %p"),
    "mpstat -T": mpstat_topology,
    "mpstat -o JSON": mpstat_json,
    "dstat text": dstat_text,
    "dstat -t": lambda n: dstat_csv(n, form="%d-%m %H:%M:%S"),
    "dool -t": lambda n: dstat_csv(n, form="%b-%d %H:%M:%S"),
    "mysqladmin -r": lambda n: mysqladmin(n, relative=True),
    "counters, seconds": counters_since,
    "NOPM samples": nopm_samples,
}
