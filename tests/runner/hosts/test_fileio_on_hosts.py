"""fileio from two hosts, each a network namespace, on files of this machine: one load, and nothing else is written."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from benchmarks.servers.network import NetCluster, Network
from fileiohosts import BASE
from lab import Lab, Ran

MakeDevice = Callable[..., Path]
MakeHosts = Callable[[str], NetCluster]
MIB = 2**20
ENDLESS_S = 3600
#: A worker that sees another folder, or another file, at the path: what its namespace of mounts is told first.
ELSEWHERE = 'mount --make-rprivate / && mount {what} && exec "$0" "$@"'


def write(lab: Lab, workload: Mapping[str, Any] = {}, *, hosts: int = 2, path: Path | None = None, **rest: Any) -> Path:
    content = {layer: dict(own) for layer, own in BASE.items()}
    content["workload"] |= {"duration_s": 1, **workload}
    content["storage"] |= {"path": str(path or lab.data), **rest.pop("storage", {})}
    file = lab.folder / "hosts.toml"
    file.write_text(tomli_w.dumps(content | {"load": {"hosts": hosts}} | rest))
    return file


def run(lab: Lab, file: Path, cluster: NetCluster, **more: Any) -> Ran:
    return lab.run(file, "--json", "--load-on", cluster.address, **more)


def refused(ran: Ran, network: Network, *words: str) -> None:
    """The second host was refused, in one line that names it."""
    assert ran.code in (1, 2), ran
    assert f"load host {network.address(1)}: " in ran.error
    for word in words:
        assert word in ran.error


def left(folder: Path) -> list[str]:
    """The names that flatwater left in a folder."""
    return sorted(path.name for path in folder.iterdir())


class TestTogether:
    def test_two_hosts_are_one_load(self, lab: Lab, two_hosts: NetCluster) -> None:
        ran = run(lab, write(lab, {"files": 2}), two_hosts)
        assert ran.code == 0, ran.stderr
        told = [(host["first"], host["sessions"]) for host in ran.cell["load_hosts"]]
        assert told == [(1, 2), (3, 1)]
        cell = ran.recorded
        both = cell.series("workload", "ops_per_s")
        own = [cell.series("workload", f"host{host}_ops_per_s") for host in (0, 1)]
        # On a busy machine one host ends its last requests after the other.
        together = np.intersect1d(own[0].time_s, own[1].time_s)
        values = [one.value[np.isin(one.time_s, together)] for one in (both, *own)]
        assert len(together) >= 10 and np.allclose(values[0], values[1] + values[2], rtol=1e-5)
        assert all(one.value.sum() > 0 for one in own)
        assert ran.cell["latency_us"]["count"] == ran.cell["operations"] > 0
        # The mark that the hosts looked for is gone.
        assert left(lab.data) == ["flatwater-fileio.0000", "flatwater-fileio.0001", "flatwater-fileio.json"]

    # On a busy machine one host falls behind the other, and then neither run is the beginning of the other.
    @pytest.mark.slow
    def test_each_thread_asks_for_what_it_asks_alone(self, lab: Lab, two_hosts: NetCluster) -> None:
        """Threads that write at a fixed rate: however long a run was, it wrote the first blocks of each thread."""
        changed = []
        for hosts in (1, 2):
            contents = []
            # The files are made by the first: which data a block gets then depends on which writer came to it.
            for mode in ("rndrd", "rndwr"):
                file = write(lab, {"mode": mode, "rate_per_s": 30}, hosts=hosts, seed=5)
                ran = run(lab, file, two_hosts, out=lab.folder / f"{mode}-on-{hosts}")
                assert ran.code == 0, ran.stderr
                contents.append((lab.data / "flatwater-fileio.0000").read_bytes())
            blocks = range(0, len(contents[0]), 16384)
            untouched, content = contents
            changed.append({at for at in blocks if content[at : at + 16384] != untouched[at : at + 16384]})
            for path in lab.data.iterdir():
                path.unlink()
        shorter, longer = sorted(changed, key=len)
        # One thread may have begun a request more in the run that is shorter for the others.
        assert len(shorter) >= 20 and len(shorter - longer) <= 3

    @pytest.mark.slow
    def test_a_rate_is_that_of_all(self, lab: Lab, two_hosts: NetCluster) -> None:
        file = write(lab, {"rate_per_s": 60, "duration_s": 3}, sweep={"load.hosts": [1, 2]})
        ran = run(lab, file, two_hosts)
        assert ran.code == 0, ran.stderr
        one, two = (cell["operations"] for cell in ran.cells)
        assert abs(one - two) <= 0.1 * one and abs(one - 180) <= 18

    @pytest.mark.slow
    def test_a_path_from_the_working_directory_on(self, lab: Lab, two_hosts: NetCluster) -> None:
        """The hosts have working directories of their own."""
        ran = run(lab, write(lab, path=Path("data")), two_hosts)
        assert ran.code == 0, ran.stderr
        assert "flatwater-fileio.0000" in left(lab.data)

    def test_one_file_and_its_device(self, lab: Lab, two_hosts: NetCluster) -> None:
        ran = run(lab, write(lab, path=lab.data / "file"), two_hosts)
        assert ran.code == 0, ran.stderr
        assert left(lab.data) == ["file", "file.flatwater.json"]

    def test_a_block_device(self, lab: Lab, two_hosts: NetCluster, device: MakeDevice) -> None:
        disk = device(16)
        ran = run(lab, write(lab, path=disk, storage={"overwrite": True}), two_hosts)
        assert ran.code == 0, ran.stderr
        assert ran.cell["operations"] > 0
        # Reading needs no permission, and leaves each byte as it was.
        before = disk.read_bytes()
        ran = run(lab, write(lab, {"mode": "rndrd"}, path=disk), two_hosts, out=lab.folder / "reads")
        assert ran.code == 0, ran.stderr
        assert disk.read_bytes() == before

    @pytest.mark.slow
    def test_preconditioning_is_done_once(self, lab: Lab, two_hosts: NetCluster) -> None:
        ran = run(lab, write(lab, {"precondition_passes": 1, "mode": "rndrd"}), two_hosts)
        assert ran.code == 0, ran.stderr
        assert ran.cell["operations"] > 0


class TestAnotherStorage:
    """Where the path of a host leads to something else, nothing is written: neither there nor here."""

    @pytest.fixture
    def astray(self, cluster: NetCluster) -> MakeHosts:
        """Two hosts, the second with something mounted over a path of its own."""

        def make(what: str) -> NetCluster:
            cluster.load_host(0)
            shell = ("unshare", "--mount", "sh", "-c", ELSEWHERE.format(what=what))
            cluster.load_host(1, through=shell)
            return cluster

        return make

    def test_an_empty_folder(self, lab: Lab, astray: MakeHosts, network: Network) -> None:
        cluster = astray(f"-t tmpfs none {lab.data}")
        ran = run(lab, write(lab), cluster)
        refused(ran, network, f"the folder {lab.data} is another one there", "storage.path must lead to one storage")
        assert left(lab.data) == []

    @pytest.mark.slow
    def test_a_copy_of_the_folder(self, lab: Lab, astray: MakeHosts, network: Network) -> None:
        """Also with the manifest: a copy is another storage."""
        other = lab.folder / "other"
        other.mkdir()
        cluster = astray(f"--bind {other} {lab.data}")
        ran = lab.run(write(lab, hosts=1), "--json", "--load-on", cluster.address)
        assert ran.code == 0, ran.stderr
        for path in lab.data.iterdir():
            (other / path.name).write_bytes(path.read_bytes())
        before = {path.name: path.read_bytes() for path in other.iterdir()}
        refused(run(lab, write(lab), cluster, out=lab.folder / "two"), network, "is another one there")
        assert {path.name: path.read_bytes() for path in other.iterdir()} == before

    def test_another_file_of_the_name(self, lab: Lab, astray: MakeHosts, network: Network) -> None:
        """The folder is the same one, and something is mounted over the file in it."""
        data, other = lab.data / "file", lab.folder / "other"
        other.write_bytes(b"precious" * MIB)
        data.touch()
        cluster = astray(f"--bind {other} {data}")
        ran = run(lab, write(lab, path=data, storage={"overwrite": True}), cluster)
        refused(ran, network, f"{data} is another file there")
        assert other.read_bytes() == b"precious" * MIB

    def test_another_device_of_the_name(
        self, lab: Lab, astray: MakeHosts, network: Network, device: MakeDevice
    ) -> None:
        """Both have the same size and the same bytes."""
        data, other = device(16), device(16)
        before = other.read_bytes()
        cluster = astray(f"--bind {other} {data}")
        ran = run(lab, write(lab, path=data, storage={"overwrite": True}), cluster)
        refused(ran, network, f"{data} holds other bytes there")
        assert other.read_bytes() == before and data.read_bytes() == before

    def test_no_folder(self, lab: Lab, astray: MakeHosts, network: Network) -> None:
        parent = lab.folder / "parent"
        (parent / "data").mkdir(parents=True)
        cluster = astray(f"-t tmpfs none {parent}")
        refused(run(lab, write(lab, path=parent / "data"), cluster), network, "data is not there")

    @pytest.mark.slow
    def test_a_read_only_mount(self, lab: Lab, astray: MakeHosts, network: Network) -> None:
        cluster = astray(f"--bind {lab.data} {lab.data} && mount -o remount,bind,ro {lab.data}")
        ran = run(lab, write(lab), cluster)
        refused(ran, network, "Read-only file system")
        assert ran.cell["status"] == "failed"


class TestLost:
    def test_a_killed_worker_ends_the_cell(self, lab: Lab, cluster: NetCluster) -> None:
        cluster.load_host(0)
        second = cluster.load_host(1)
        started = lab.start(write(lab, {"duration_s": ENDLESS_S}), "--json", "--load-on", cluster.address)
        started.until_recorded(5)
        second.kill()
        ran = started.wait()
        assert ran.code == 1
        assert f"load host {cluster.network.address(1)} with thread 3 of 3 is lost" in ran.error
        assert "a load of fewer threads" in ran.error
        assert ran.cell["status"] == "failed" and ran.cell["samples"] >= 5
        # The other host had ended when the state of the files was recorded: they are flatwater's still.
        again = lab.run(write(lab, hosts=1), "--json", "--load-on", cluster.address, out=lab.folder / "again")
        assert again.code == 0, again.stderr

    @pytest.mark.slow
    def test_ctrl_c_and_resume(self, lab: Lab, two_hosts: NetCluster) -> None:
        started = lab.start(write(lab, {"duration_s": 8}), "--json", "--load-on", two_hosts.address)
        started.until_recorded(5)
        ran = started.send(signal.SIGINT)
        assert ran.code == 130 and ran.cell["status"] == "interrupted" and ran.at_once
        rest = lab.run(ran.out, "--json", verb="resume")
        assert rest.code == 0, rest.stderr
        assert rest.cell["status"] == "complete" and len(rest.cell["load_hosts"]) == 2

    @pytest.mark.slow
    def test_a_killed_run_leaves_no_load(self, lab: Lab, two_hosts: NetCluster) -> None:
        """The hosts end by themselves, and the next run finds its files as it left them."""
        started = lab.start(write(lab, {"duration_s": ENDLESS_S}), "--json", "--load-on", two_hosts.address)
        started.until_recorded(3)
        started.process.kill()
        started.process.communicate()
        # The workers take one generator at a time: this one begins when those of before have ended.
        ran = run(lab, write(lab), two_hosts, out=lab.folder / "again")
        assert ran.code == 0, ran.stderr


class TestRefused:
    def test_a_load_without_hosts(self, lab: Lab) -> None:
        ran = lab.run(write(lab))
        assert ran.code == 2 and "other hosts make the load, and nothing says which" in ran.error

    def test_files_of_others_stay(self, lab: Lab, two_hosts: NetCluster) -> None:
        theirs = lab.data / "flatwater-fileio.0000"
        theirs.write_bytes(b"theirs")
        ran = run(lab, write(lab), two_hosts)
        assert ran.code == 2 and "was not made by flatwater" in ran.error
        assert theirs.read_bytes() == b"theirs" and left(lab.data) == [theirs.name]
