"""tpcc-mysql: tpcc_load and tpcc_start, if somebody built them."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass

from benchmarks.database.work import Address, Outcome, Setting, Work
from benchmarks.job import Finished
from benchmarks.loopback import HOST
from flatwater.errors import FlatwaterError


@dataclass(frozen=True)
class TpccMysql:
    """Percona's tpcc-mysql. It knows no seed, and wants the password on its command line."""

    name: str = "tpcc-mysql"

    def missing(self) -> str | None:
        """It is in no distribution: built from https://github.com/Percona-Lab/tpcc-mysql."""
        absent = [program for program in ("tpcc_load", "tpcc_start") if shutil.which(program) is None]
        return f"{' and '.join(absent)} of tpcc-mysql not on the PATH" if absent else None

    def version(self) -> str:
        """It has none to tell."""
        return "tpcc-mysql (which tells no version)"

    def environment(self, address: Address) -> dict[str, str]:
        """tpcc_load has no option for a socket, but its client library reads this."""
        return {"MYSQL_UNIX_PORT": address.socket}

    def command(self, work: Work, setting: Setting, seed: int) -> list[str]:
        """No ramp-up, as the others have none: all CPU time is of transactions that are counted."""
        return self._start(work, setting, setting.seconds, 1)

    def idle_command(self, work: Work, setting: Setting, number: int) -> list[str]:
        """With -l below -i it connects, prepares its statements and ends (and prints -nan)."""
        return self._start(work, setting, 1, 2)

    def load_command(self, address: Address, schema: str, warehouses: int) -> list[str]:
        """tpcc_load in one process."""
        return ["tpcc_load", *_login(address, schema), "-w", str(warehouses)]

    def outcome(self, work: Work, finished: Finished, start_cpu_s: float) -> Outcome:
        """Reads the totals of the five transactions (in time and late); the CPU time is the process's."""
        raw = finished.output.partition("<Raw Results>")[2].partition("<Raw Results2")[0]
        kinds = [int(ok) + int(late) for ok, late in re.findall(r"\[\d\] sc:(\d+) lt:(\d+)", raw)]
        seconds = re.search(r"in (\d+) sec", raw)
        if len(kinds) != 5 or seconds is None or not int(seconds[1]) or not kinds[0]:
            raise FlatwaterError("tpcc_start's output is not understood")
        cpu_s = max(0.0, finished.cpu_s - start_cpu_s)
        return Outcome(kinds[0] * 60 / int(seconds[1]), sum(kinds), cpu_s, cpu_s)

    def _start(self, work: Work, setting: Setting, seconds: int, interval: int) -> list[str]:
        address = setting.address
        command = ["tpcc_start", *_login(address, work.schema)]
        command += ["-S", address.socket] if address.port is None else ["-P", str(address.port)]
        command += ["-w", str(setting.warehouses), "-c", str(work.connections)]
        return [*command, "-r", "0", "-l", str(seconds), "-i", str(interval)]


def _login(address: Address, schema: str) -> list[str]:
    host = "localhost" if address.port is None else HOST
    return ["-h", host, "-d", schema, "-u", address.user, "-p", address.password]
