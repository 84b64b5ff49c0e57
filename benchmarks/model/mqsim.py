"""MQSim (Tavakkol et al., FAST 2018), where `MQSim` is on the PATH."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.job import run_child
from flatwater.errors import FlatwaterError

#: The write flow of its example `workload.xml`: 4 KiB at random, 16 outstanding, with its write cache. Without
#: preconditioning, so nothing is ever collected: with it, and garbage to collect, its program aborted here.
FLOW = """\
<?xml version="1.0" encoding="us-ascii"?>
<MQSim_IO_Scenarios><IO_Scenario><IO_Flow_Parameter_Set_Synthetic>
<Priority_Class>HIGH</Priority_Class><Device_Level_Data_Caching_Mode>WRITE_CACHE</Device_Level_Data_Caching_Mode>
<Channel_IDs>0,1,2,3,4,5,6,7</Channel_IDs><Chip_IDs>0,1,2,3</Chip_IDs><Die_IDs>0,1</Die_IDs><Plane_IDs>0,1</Plane_IDs>
<Initial_Occupancy_Percentage>75</Initial_Occupancy_Percentage><Working_Set_Percentage>50</Working_Set_Percentage>
<Synthetic_Generator_Type>QUEUE_DEPTH</Synthetic_Generator_Type><Read_Percentage>0</Read_Percentage>
<Address_Distribution>RANDOM_UNIFORM</Address_Distribution><Percentage_of_Hot_Region>0</Percentage_of_Hot_Region>
<Generated_Aligned_Addresses>true</Generated_Aligned_Addresses><Address_Alignment_Unit>16</Address_Alignment_Unit>
<Request_Size_Distribution>FIXED</Request_Size_Distribution><Average_Request_Size>8</Average_Request_Size>
<Variance_Request_Size>0</Variance_Request_Size><Seed>798</Seed>
<Average_No_of_Reqs_in_Queue>16</Average_No_of_Reqs_in_Queue><Intensity>32768</Intensity>
<Stop_Time>0</Stop_Time><Total_Requests_To_Generate>{requests}</Total_Requests_To_Generate>
</IO_Flow_Parameter_Set_Synthetic></IO_Scenario></MQSim_IO_Scenarios>
"""
#: Requests of the longer and the shorter of two runs: what is the start's falls out of the difference.
REQUESTS = (600_000, 200_000)
#: The kernel counts the memory of whoever starts a program as the program's (`ru_maxrss` outlives `exec`), and a
#: benchmark may hold more than MQSim: a small process starts it, and tells its exit code and its KiB in a last line.
_SMALL = """\
import resource, subprocess, sys
try:
    code = subprocess.call(sys.argv[1:], stderr=subprocess.STDOUT, timeout=120)
except subprocess.TimeoutExpired:
    code = print("it did not end within two minutes") or 1
print(f"\\n{code} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
"""


@dataclass(frozen=True)
class Peer:
    """What MQSim gave: requests a CPU second, and bytes of memory that each request adds."""

    requests_per_cpu_s: float
    bytes_per_request: float


def missing() -> str | None:
    """Why it is not measured."""
    if shutil.which("MQSim") is None:
        return "MQSim is not on the PATH (github.com/CMU-SAFARI/MQSim)"
    return None if _configuration().is_file() else "MQSim's ssdconfig.xml is not beside it, where its build leaves it"


def _configuration() -> Path:
    """Of its example; the one that it writes by itself preconditions the drive, and did not end here."""
    return Path(shutil.which("MQSim") or "MQSim").resolve().parent / "ssdconfig.xml"


def measure_mqsim(folder: Path) -> Peer:
    """Two runs on the configuration of its example. Errors: FlatwaterError."""
    shutil.copy(_configuration(), folder / "ssd.xml")
    cpu_s, rss_bytes = zip(*(_run(folder, requests) for requests in REQUESTS), strict=True)
    requests = REQUESTS[0] - REQUESTS[1]
    return Peer(requests / (cpu_s[0] - cpu_s[1]), (rss_bytes[0] - rss_bytes[1]) / requests)


def _run(folder: Path, requests: int) -> tuple[float, int]:
    (folder / "flow.xml").write_text(FLOW.format(requests=requests))
    words = ["MQSim", "-i", "ssd.xml", "-w", "flow.xml"]
    finished = run_child([sys.executable, "-I", "-S", "-c", _SMALL, *words], folder)
    *said, told = finished.output.splitlines()
    code, rss_kib = map(int, told.split())
    if code != 0:
        last = next((line for line in reversed(said) if line.strip()), "no output")
        raise FlatwaterError(f"MQSim failed ({code}): {last}")
    serviced = re.search(r"total requests serviced:(\d+)", finished.output)
    if serviced is None or int(serviced[1]) != requests:
        raise FlatwaterError("MQSim did not do the requests that it was asked for")
    return finished.cpu_s, rss_kib * 1024
