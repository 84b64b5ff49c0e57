from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.server import Binary, Instance, describe
from flatwater.server.attach import Attached


def test_a_server_says_what_it_is(make_instance: Callable[..., Instance], binary: Binary) -> None:
    instance = make_instance({"innodb_io_capacity": "345"})
    instance.start()
    found = describe(instance.login())
    assert (found.flavour, found.version, found.title) == (binary.flavour, binary.version, binary.title)
    assert found.version_comment == instance.version_comment
    assert found.variables["innodb_io_capacity"] == "345"


@pytest.mark.parametrize(
    "other",
    [
        {"host": "there"},
        {"version_text": "11.4.3-MariaDB"},
        {"variables": {"datadir": "/elsewhere/", "port": "3306", "server_id": "1"}},
        {"variables": {"datadir": "/var/lib/mysql/", "port": "3307", "server_id": "1"}},
        {"variables": {"datadir": "/var/lib/mysql/", "port": "3306", "server_id": "2"}},
    ],
)
def test_servers_are_told_apart(other: dict[str, Any]) -> None:
    """Also two of one package on two machines, which have all but the machine's name in common."""
    variables = {"datadir": "/var/lib/mysql/", "port": "3306", "server_id": "1"}
    one = Attached("mariadb", (11, 4, 2), "11.4.2-MariaDB", "", variables, host="here")
    assert replace(one, **other).identity != one.identity == replace(one, tls="TLSv1.3").identity
    assert "here" not in one.identity


def test_the_name_of_the_machine_is_known_and_not_kept(make_instance: Callable[..., Instance]) -> None:
    instance = make_instance()
    instance.start()
    found = describe(instance.login())
    assert found.host == socket.gethostname() and "hostname" not in found.variables


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    login = {"address": {"socket": str(tmp_path / "absent.sock")}, "user": "u", "password": "secret", "schema": None}
    with pytest.raises(UserError, match=r"database\.url: cannot connect to .*absent\.sock") as caught:
        describe(login)
    assert "secret" not in str(caught.value)


def test_a_server_that_lets_nobody_in(make_instance: Callable[..., Instance]) -> None:
    instance = make_instance()
    instance.start()
    with pytest.raises(UserError, match="Access denied"):
        describe(replace(instance.login(), password="wrong"))
