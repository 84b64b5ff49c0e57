from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.experiment.database.settings import SLASHED
from flatwater.server import Binary, shaping
from flatwater.server.lines import Server
from flatwater.server.settings import _HAVE, SHAPING, is_ignored, names_of, spans, who_has
from flatwater.server.translate import translate_for


def test_the_registry_agrees_with_the_server_at_hand(binary: Binary) -> None:
    has = binary.options().keys()
    expected = names_of(binary.flavour, binary.version)
    assert not expected - has - {"thread_pool_size"}
    ignored = {name for name in _HAVE if is_ignored(name, binary.flavour, binary.version)}
    # What it has without our knowing would be translated away, or its message would be wrong.
    assert not (has & set(_HAVE)) - expected - ignored


@pytest.mark.parametrize(
    ("name", "flavour", "version", "has"),
    [
        ("innodb_redo_log_capacity", "mysql", (8, 0, 29), False),
        ("innodb_redo_log_capacity", "percona", (8, 0, 30), True),
        ("innodb_buffer_pool_instances", "mariadb", (10, 4, 99), True),
        ("innodb_buffer_pool_instances", "mariadb", (10, 5, 1), False),
        ("innodb_log_write_ahead_size", "mariadb", (10, 9, 0), False),
        ("innodb_log_write_ahead_size", "mariadb", (10, 11, 9), True),
        ("innodb_adaptive_flushing_method", "percona", (5, 5, 8), True),
        ("innodb_adaptive_flushing_method", "mysql", (5, 5, 8), False),
        ("innodb_flush_neighbor_pages", "mariadb", (5, 5, 40), True),
        # As 5.1.65 lists them.
        ("innodb_adaptive_checkpoint", "percona", (5, 1, 65), True),
        ("innodb_adaptive_checkpoint", "percona", (5, 5, 8), False),
        ("innodb_adaptive_flushing_method", "percona", (5, 1, 65), False),
        ("innodb_doublewrite_file", "percona", (5, 1, 65), True),
        ("innodb_log_file_size", "percona", (5, 1, 65), True),
        ("innodb_buffer_pool_instances", "percona", (5, 1, 65), False),
        ("innodb_purge_threads", "percona", (5, 1, 65), False),
        ("performance_schema", "percona", (5, 1, 65), False),
    ],
)
def test_who_has_what(name: str, flavour: str, version: tuple[int, int, int], has: bool) -> None:
    assert (name in names_of(flavour, version)) is has


def test_spans_are_told_in_words() -> None:
    assert who_has("innodb_redo_log_capacity") == "MySQL since 8.0.30, Percona Server since 8.0.30"
    assert who_has("innodb_adaptive_checkpoint") == "Percona Server before 5.5"
    assert who_has("innodb_purge_threads") == "MySQL, Percona Server since 5.5, MariaDB"
    assert who_has("innodb_flush_neighbor_pages") == "Percona Server before 5.6, MariaDB before 10.0"
    assert who_has("innodb_page_cleaners").split(", ")[1] == "MariaDB since 10.2.2 and before 10.5.1"
    assert who_has("no_such_setting") == ""


def test_spans_are_in_order_and_do_not_overlap() -> None:
    for name in _HAVE:
        for one, other in zip(spans(name), spans(name)[1:], strict=False):
            if one.flavour == other.flavour:
                assert one.before is not None, name
                assert one.since < one.before <= other.since, name


def test_only_some_settings_shape_what_is_on_disk() -> None:
    settings = {"innodb_page_size": "4K", "innodb_io_capacity": "9", "innodb_file_per_table": "ON"}
    assert shaping(settings) == {"innodb_file_per_table": "ON", "innodb_page_size": "4K"}
    assert "innodb_log_file_size" not in SHAPING


@pytest.mark.parametrize("place", ["/tmp/elsewhere", "../elsewhere", "~/elsewhere", ".."])
def test_no_option_of_the_server_at_hand_takes_a_place_outside_its_folder(binary: Binary, place: str) -> None:
    """Every option that the program lists, so that one of its next version cannot be forgotten."""
    server = Server(binary.flavour, binary.version, binary.options().keys())
    taken = set()
    for name in binary.options():
        try:
            translate_for({name: place}, server)
        except UserError:
            continue
        taken.add(name)
    assert taken <= SLASHED


@pytest.mark.parametrize("name", sorted(SHAPING - {"innodb_checksums"}))
@pytest.mark.parametrize(
    "tail", [" --datadir=..", "$(touch x)", "`touch x`", '"', "'", ";touch x", "\\", "*", "&", "|x"]
)
def test_what_shapes_the_data_directory_is_a_word_of_a_shell(name: str, tail: str) -> None:
    """The server's tool that makes the directory may be a script, which does not quote what it is given.

    A switch takes nothing but true and false.
    """
    server = Server("mariadb", (10, 11, 0), {*SHAPING})
    with pytest.raises(UserError, match=rf"database\.settings\.{name}: its value has letters"):
        translate_for({name: f"ibdata1:12M:autoextend{tail}"}, server)


def test_the_parts_of_a_tablespace_are_words_of_a_shell() -> None:
    value = "ibdata1:12M;ibdata2:12M:autoextend:max:500M"
    server = Server("mariadb", (10, 11, 0), {*SHAPING})
    assert translate_for({"innodb_data_file_path": value}, server) == {"innodb_data_file_path": value}
