from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server import Binary, Instance, describe


def test_a_server_says_what_it_is(make_instance: Callable[..., Instance], binary: Binary) -> None:
    instance = make_instance({"innodb_io_capacity": "345"})
    instance.start()
    found = describe(instance.login())
    assert (found.flavour, found.version, found.title) == (binary.flavour, binary.version, binary.title)
    assert found.version_comment == instance.version_comment
    assert found.variables["innodb_io_capacity"] == "345"


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
