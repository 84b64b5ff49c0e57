"""`flatwater observe` in tests: started, waited for by what its journal says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.servers.watched import said_to
from lab import Lab, Ran, Running
from watchedlab import WatchedServer


def observe(lab: Lab, url: str, *arguments: str, length: str = "3s") -> Ran:
    return start(lab, url, *arguments, length=length).wait()


def start(lab: Lab, url: str, *arguments: str, length: str = "10m") -> Running:
    out = lab.folder / f"observed{len(list(lab.folder.glob('observed*')))}"
    return lab.start(url, "--for", length, "--out", out, *arguments, verb="observe", out=out)


def seen(running: Running, enough: Callable[[list[dict[str, Any]]], bool]) -> None:
    """Waits until the journal has enough lines of intervals and events."""
    journal = running.out / "cells" / "0000" / "journal.jsonl"

    def looked() -> bool:
        lines = journal.read_text().splitlines() if journal.exists() else []
        return enough([json.loads(line) for line in lines if line.endswith("}")])

    running.until(looked)


def intervals(lines: list[dict[str, Any]]) -> int:
    return sum("metrics" in line for line in lines)


def events(lines: list[dict[str, Any]], kind: str) -> list[str]:
    told = [line["event"] for line in lines if "event" in line]
    return [one["text"] for one in told if one["kind"] == kind]


def observe_replica(lab: Lab, source: WatchedServer, replica: WatchedServer, position: str) -> Running:
    """Lets a server replicate another one, which has the table `t.a`, and observes it.

    `position`: where it begins, in the words of CHANGE MASTER.
    """
    source.query("CREATE DATABASE t")
    source.query("CREATE TABLE t.a (id INT PRIMARY KEY) ENGINE = InnoDB")
    replica.query(
        said_to(
            replica.binary,
            f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {source.port}, MASTER_USER = 'root', "
            f"MASTER_CONNECT_RETRY = 1, {position}",
        )
    )
    replica.query(said_to(replica.binary, "START SLAVE"))
    running = start(lab, replica.url())
    seen(running, lambda lines: any("database.replica_lag_s" in (line.get("metrics") or ()) for line in lines))
    running.until(lambda: replica.query("SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 't'"))
    return running


def stop_applier(running: Running, source: WatchedServer, replica: WatchedServer) -> None:
    """Stops the replica's applier with a row that is there already, waits until that is told, and lets it go on."""
    replica.query("INSERT INTO t.a VALUES (1)")
    source.query("INSERT INTO t.a VALUES (1)")
    seen(running, lambda lines: any("applier does not run: " in text for text in events(lines, "fault")))
    replica.query("DELETE FROM t.a")
    replica.query(said_to(replica.binary, "START SLAVE"))
    seen(running, lambda lines: any("applier runs again" in text for text in events(lines, "recovered")))


def told_of_applier(ran: Ran) -> str:
    """The event of an applier that stopped once, in one line."""
    assert ran.code == 0 and ran.summary.status == "complete", ran.stderr
    assert ran.summary.metrics["database.replica_appliers_stopped"].max == 1
    told = next(event.text for event in ran.summary.events if "applier does not run" in event.text)
    # It goes on: nothing is left to warn of.
    assert "\n" not in told and not any("applier" in warning for warning in ran.summary.warnings), ran.summary.warnings
    return told
