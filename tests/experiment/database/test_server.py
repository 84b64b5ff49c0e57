from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment.database import Server
from flatwater.experiment.database.login import Login, Socket, Tcp, Tls
from flatwater.experiment.database.tls import PARAMETERS
from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer


def server(**fields: Any) -> Server:
    return Server.model_validate(fields)


def test_the_defaults_start_one_server_and_change_none() -> None:
    database = server()
    assert (database.binary, database.url, database.settings, database.instances) == (None, None, {}, 1)
    assert (database.on_crash, database.fault, database.schema_name, database.attached) == ("stop", None, None, False)


def test_settings_stay_as_they_are_written() -> None:
    written = {"innodb_log_file_size": "24M", "innodb_doublewrite": False, "innodb_max_dirty_pages_pct": 0.5, "x": ""}
    database = server(settings=written)
    assert database.settings == written
    assert [type(value) for value in database.settings.values()] == [str, bool, float, str]


def test_dashes_are_underscores() -> None:
    assert server(settings={"innodb-io-capacity": 200}).settings == {"innodb_io_capacity": 200}


def test_a_home_directory_is_expanded() -> None:
    assert server(binary="~/mysql/bin/mysqld").binary == str(Path.home() / "mysql/bin/mysqld")


def test_a_server_that_runs_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLATWATER_PASSWORD", raising=False)
    database = server(url="mysql://me@db:3307/tpcc")
    assert database.attached
    assert database.login() == Login(Tcp(("db", 3307)), "me", "", "tpcc")
    assert server(url="mysql:///my.sock?user=me").login("sbtest") == Login(Socket("/my.sock"), "me", "", "sbtest")
    assert server(url="mysql://me@db/", schema_name="mine").login("sbtest").schema == "mine"


def test_the_password_is_the_url_s_or_the_environment_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLATWATER_PASSWORD", "from the environment")
    assert server(url="mysql://me@db/").login().password == "from the environment"
    database = server(url="mysql://me:from%20the%20url@db/")
    assert database.login().password == "from the url"
    assert database.url == "mysql://me@db/"
    assert "from" not in repr(database) + database.model_dump_json()


def test_a_server_of_ours_has_no_login_here() -> None:
    with pytest.raises(ValueError, match="with a url"):
        server().login()


def test_a_password_is_inherited_with_the_same_url_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLATWATER_PASSWORD", raising=False)
    parent = server(url="mysql://me:pw@db/")
    same, other = server(url="mysql://me@db/"), server(url="mysql://me@elsewhere/")
    same, other = same.with_password_of(parent), other.with_password_of(parent)
    assert (same.login().password, other.login().password) == ("pw", "")


@pytest.mark.parametrize(
    ("fields", "tls"),
    [
        ({}, None),
        ({"ssl_mode": "DISABLED"}, None),
        ({"ssl_mode": "preferred"}, Tls("PREFERRED")),
        ({"ssl_mode": "REQUIRED"}, Tls("REQUIRED")),
        ({"ssl_ca": "/ca"}, Tls("VERIFY_CA", "/ca")),
        ({"ssl_ca": "/ca", "ssl_mode": "VERIFY_IDENTITY"}, Tls("VERIFY_IDENTITY", "/ca")),
        ({"ssl_mode": "VERIFY_CA"}, Tls("VERIFY_CA")),
        ({"ssl_cert": "/c", "ssl_key": "~/k"}, Tls("REQUIRED", None, "/c", str(Path.home() / "k"))),
    ],
)
def test_tls_is_what_the_file_or_the_url_says(fields: dict[str, str], tls: Tls | None) -> None:
    assert server(url="mysql://me@db/", **fields).login().tls == tls
    said = "&".join(f"{name.replace('_', '-')}={value}" for name, value in fields.items())
    assert server(url=f"mysql://me@db/?{said}").login().tls == tls


def test_the_url_and_the_file_may_share_it() -> None:
    database = server(url="mysql://me@db/?ssl-ca=/ca&server-public-key-path=/p", ssl_mode="VERIFY_IDENTITY")
    assert (database.login().tls, database.login().server_public_key) == (Tls("VERIFY_IDENTITY", "/ca"), "/p")


def test_faults() -> None:
    database = server(fault={"kind": "freeze", "at_s": "10s", "duration_s": 2})
    assert database.fault is not None
    assert (database.fault.kind, database.fault.at_s, database.fault.duration_s) == ("freeze", 10.0, 2.0)


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"fault": {"kind": "freeze", "at_s": 1}}, ("fault", "duration_s"), "how long"),
        ({"fault": {"kind": "kill", "at_s": 1, "duration_s": 1}}, ("fault", "duration_s"), "stays dead"),
        ({"load": True}, ("load",), "always"),
        ({"settings": {"datadir": "/x"}}, ("settings", "datadir"), "storage.path"),
        ({"settings": {"a": [1]}}, ("settings", "a"), "one value"),
        ({"instances": 0}, ("instances",), "at least"),
        ({"url": "http://x"}, ("url",), "mysql://"),
        ({"url": "mysql://me@db/", "binary": "mysqld"}, ("binary",), "did not start"),
        ({"url": "mysql://me@db/", "settings": {"a": 1}}, ("settings",), "did not start"),
        ({"url": "mysql://me@db/", "instances": 2}, ("instances",), "one server"),
        ({"url": "mysql://me@db/", "on_crash": "restart"}, ("on_crash",), "did not start"),
        ({"url": "mysql://me@db/", "fault": {"kind": "kill", "at_s": 1}}, ("fault",), "did not start"),
        ({"url": "mysql://me@db/a", "schema_name": "b"}, ("schema_name",), "contradict"),
        ({"url": "mysql://me@db/", "ssl_mode": "ON"}, ("ssl_mode",), "not a choice"),
        ({"url": "mysql://me@db/", "ssl_ca": ""}, ("ssl_ca",), "empty"),
        ({"url": "mysql://me@db/?ssl-mode=REQUIRED", "ssl_mode": "REQUIRED"}, ("ssl_mode",), "too"),
        ({"url": "mysql://me@db/?ssl-ca=/ca", "ssl_mode": "REQUIRED"}, ("ssl_ca",), "looks at no certificate"),
        ({"url": "mysql://me@db/", "ssl_ca": "/ca", "ssl_mode": "DISABLED"}, ("ssl_ca",), "looks at no certificate"),
        ({"url": "mysql://me@db/", "ssl_cert": "/c"}, ("ssl_cert",), "ssl_key"),
        ({"url": "mysql://me@db/", "ssl_key": "/k"}, ("ssl_key",), "ssl_cert"),
        ({"url": "mysql://me@db/?ssl-mode=disabled", "ssl_cert": "/c", "ssl_key": "/k"}, ("ssl_cert",), "DISABLED"),
        *(({name: "REQUIRED"}, (name,), "have no TLS") for name in PARAMETERS),
    ],
)
def test_what_does_not_go_together(fields: dict[str, Any], place: tuple[str, ...], words: str) -> None:
    (problem,) = read_layer("database", {"kind": "server", **fields}, ANY).problems
    assert problem.field == ".".join(("database", *place))
    assert words in problem.what


def test_files_of_tls_are_looked_at_by_who_logs_in() -> None:
    """A result is read where they are not: on the machine of somebody else."""
    server = Server(kind="server", url="mysql://me@10.0.0.1/", ssl_mode="VERIFY_CA", ssl_ca="/none/ca.pem")
    assert not list(server.conflicts())
