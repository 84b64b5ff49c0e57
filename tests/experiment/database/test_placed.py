"""`database.placement` and `database.storages`, of real and of modelled servers."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.experiment import cell_at
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.database.innodb_settings import defaults, has
from flatwater.experiment.database.lineage import GENERATIONS, engine_generation
from flatwater.experiment.database.placed import ITEMS, PlacedLayer
from flatwater.experiment.database.placement import Holding
from flatwater.experiment.problem import Problem, ProblemsError
from flatwater.experiment.runnable import require_runnable
from flatwater.experiment.validation import make_experiment
from flatwater.server.placement.means import TABLES, why_not

SERVER = {"kind": "server"}
MODEL = {"kind": "innodb-model"}
FILES = {"kind": "file", "path": "/data"}
CARD = {"kind": "ssd", "device": "fusion-io-iodrive-160-slc"}
ARRAY = {"kind": "raid", "device": "raid10-8"}
#: A version of each generation, as the registry of real servers knows it.
VERSIONS = {
    "mysql-5.1": ("mysql", (5, 5, 0)),
    "mysql-5.5": ("mysql", (5, 5, 8)),
    "percona-5.5": ("percona", (5, 5, 30)),
    "mysql-5.6": ("mysql", (5, 6, 24)),
    "mysql-5.7": ("mysql", (5, 7, 22)),
    "mysql-8.0.11": ("mysql", (8, 0, 15)),
    "mysql-8.0": ("mysql", (8, 0, 30)),
    "mysql-8.4": ("mysql", (8, 4, 8)),
    "mysql-9": ("mysql", (9, 6, 0)),
    "percona-8.4": ("percona", (8, 4, 0)),
    "mariadb-10.11": ("mariadb", (10, 11, 6)),
    "mariadb-11": ("mariadb", (11, 8, 6)),
    "mariadb-12": ("mariadb", (12, 3, 1)),
}


def tables(database: dict[str, Any], storage: dict[str, Any] = FILES, **rest: Any) -> dict[str, Any]:
    return {"workload": {"kind": "tpcc"}, "database": database, "storage": storage, **rest}


def problems_of(database: dict[str, Any], storage: dict[str, Any] = FILES, **rest: Any) -> dict[str, str]:
    try:
        make_experiment(tables(database, storage, **rest))
    except ProblemsError as error:
        return {problem.field: problem.what for problem in error.problems}
    return {}


def test_parts_and_tables_on_other_storages() -> None:
    said = {"redo_log": "array", "binary_log": "array", "doublewrite": "storage", "tables": {"stock": "ssd"}}
    storages = {"array": {"path": "/array"}, "ssd": {"path": "/ssd"}, "unused": {"path": "/unused"}}
    database = make_experiment(tables(SERVER | {"placement": said, "storages": storages})).database
    assert isinstance(database, PlacedLayer)
    assert {name: (other.items, other.tables) for name, other in database.others.items()} == {
        "array": (("redo_log", "binary_log"), ()),
        "ssd": ((), ("stock",)),
    }
    assert database.others["array"].text == "redo log, binary log"


def test_without_placement_nothing_is_elsewhere() -> None:
    database = make_experiment(tables(SERVER)).database
    assert isinstance(database, PlacedLayer) and database.others == {} and database.placement.said == {}


def test_a_sweep_says_with_the_data_by_a_word() -> None:
    swept = {"database.placement.redo_log": ["storage", "array"]}
    placed = SERVER | {"storages": {"array": {"path": "/array"}}}
    experiment = make_experiment(tables(placed, sweep=swept))
    cells = [cell_at(experiment, number).experiment.server.placement.items for number in range(2)]
    assert cells == [{}, {"redo_log": "array"}]


def test_tables_and_fields_of_storages_are_swept_too() -> None:
    swept = {"database.placement.tables.stock": ["storage", "ssd"], "database.storages.ssd.path": ["/one", "/two"]}
    experiment = make_experiment(tables(SERVER | {"storages": {"ssd": {"path": "/ssd"}}}, sweep=swept))
    last = cell_at(experiment, 3).experiment.server
    assert last.others["ssd"].tables == ("stock",) and last.storages["ssd"].path == "/two"


@pytest.mark.parametrize(
    ("database", "field", "what"),
    [
        ({"placement": {"redo_log": "aray"}, "storages": {"array": FILES}}, "placement.redo_log", "no storage 'aray'"),
        ({"placement": {"tables": {"stock": "ssd"}}}, "placement.tables.stock", "no storage 'ssd'"),
        ({"placement": {"redo": "a"}}, "placement.redo", "unknown field"),
        ({"placement": {"tables": {"../x": "a"}}}, "placement.tables", "no name of a table"),
        ({"storages": {"my-array": FILES}}, "storages.my-array", "a letter, then letters and digits"),
        ({"storages": {"storage": FILES}}, "storages.storage", "confused with others"),
        ({"storages": {"member3": FILES}}, "storages.member3", "confused with others"),
        ({"storages": {"a": {"kind": "tape"}}}, "storages.a", "no storage of the kind 'tape'"),
        ({"storages": {"a": 5}}, "storages.a", "must be a table"),
        ({"storages": {"a": FILES | {"nix": 1}}}, "storages.a.nix", "unknown field"),
        ({"storages": {"a": FILES | {"size": "4G"}}}, "storages.a.size", "has no meaning there"),
        ({"storages": {"a": FILES | {"keep": False}}}, "storages.a.keep", "has no meaning there"),
        ({"storages": {"a": FILES, "b": FILES}}, "storages.b.path", "is the directory of a, too"),
        ({"storages": {"a": ARRAY | {"device": "raid10-9"}}}, "storages.a.device", "there is no device"),
        ({"placement": {"redo_log": "a"}, "storages": {"a": ARRAY}}, "storages.a", "runs in real time"),
        ({"placement": {"redo_log": "a"}, "storages": {"a": FILES}, "url": "mysql://u@h/s"}, "placement", "changes"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(database: dict[str, Any], field: str, what: str) -> None:
    storage = {} if "url" in database else FILES
    told = problems_of(SERVER | database, storage)
    assert what in told.get(f"database.{field}", str(told))


def test_a_storage_with_a_problem_is_there() -> None:
    database = {"placement": {"redo_log": "a", "binary_log": "a"}, "storages": {"a": {"kind": "file", "path": ""}}}
    assert problems_of(SERVER | database, FILES) == {"database.storages.a.path": "must not be empty"}


def test_a_modelled_server_reads_the_same_fields() -> None:
    said = {"redo_log": "array", "binary_log": "array", "tables": {"stock": "card"}}
    storages = {"array": ARRAY, "card": {"kind": "ssd", "device": "fusion-io-iodrive-160-slc"}}
    newer = MODEL | {"generation": "mysql-5.7"}
    assert problems_of(newer | {"placement": said, "storages": storages}, CARD) == {}
    told = problems_of(MODEL | {"placement": {"redo_log": "a"}, "storages": {"a": FILES}}, CARD)
    assert "is in virtual time" in told["database.storages.a"]
    twice = {"placement": {"redo_log": "array"}, "storages": storages, "log_device": "raid10-8"}
    assert "says where it is, too" in problems_of(MODEL | twice, CARD)["database.placement.redo_log"]


@pytest.mark.parametrize("undo_tablespaces", [None, 0, 3])
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("item", ITEMS)
def test_the_model_places_what_servers_of_its_generation_can(
    generation: str, item: str, undo_tablespaces: int | None
) -> None:
    name = "innodb_undo_tablespaces"
    if undo_tablespaces is not None and not has(generation, name):
        pytest.skip(f"{generation} has no {name}")
    told = problems_of(on_array(generation, undo_tablespaces, {item: "array"}), CARD)
    refused = f"database.placement.{item}" in told
    undo_files = engine_generation(generation).startswith("mysql-8.0") or (
        defaults(generation).get(name) if undo_tablespaces is None else undo_tablespaces
    )
    is_empty = item == "system_tablespace" and engine_generation(generation) == "mysql-8.0"
    is_in_system = item == "undo_logs" and not undo_files
    unable = is_in_system or why_not(item, *VERSIONS[generation]) is not None
    assert refused == (item == "temporary_files" or is_empty or unable), told


def on_array(generation: str, undo_tablespaces: int | None, placement: dict[str, Any]) -> dict[str, Any]:
    """A modelled server with parts on an array."""
    settings = {} if undo_tablespaces is None else {"innodb_undo_tablespaces": undo_tablespaces}
    placed = {"placement": placement, "storages": {"array": ARRAY}, "settings": settings}
    return MODEL | {"generation": generation} | placed


#: Generation, innodb_undo_tablespaces, and what goes along with the system tablespace.
ALONG = [
    ("percona-5.5", None, Holding(("doublewrite",), ("undo",))),
    ("mysql-5.7", None, Holding(("doublewrite",), ("undo",))),
    ("mysql-5.7", 3, Holding(("doublewrite",))),
    ("mysql-8.0.11", None, Holding(("doublewrite",))),
    ("mariadb-10.11", None, Holding(("doublewrite",), ("undo",))),
    ("mariadb-11", None, Holding(("doublewrite",))),
    ("mariadb-11", 0, Holding(("doublewrite",), ("undo",))),
]


@pytest.mark.parametrize(("generation", "undo_tablespaces", "along"), ALONG)
def test_what_has_no_files_of_its_own_goes_along_with_the_system_tablespace(
    generation: str, undo_tablespaces: int | None, along: Holding
) -> None:
    database = on_array(generation, undo_tablespaces, {"system_tablespace": "array"})
    modelled = make_experiment({"workload": {"kind": "tpcc"}, "database": database, "storage": CARD}).database
    assert isinstance(modelled, InnodbModel)
    assert modelled.placed_storages == {"array": along}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_model_places_tables_where_servers_of_its_generation_can(generation: str) -> None:
    placed = {"generation": generation, "placement": {"tables": {"stock": "array"}}, "storages": {"array": ARRAY}}
    told = problems_of(MODEL | placed, CARD)
    assert ("database.placement.tables" in told) == (why_not(TABLES, *VERSIONS[generation]) is not None), told


def test_tables_need_files_of_their_own() -> None:
    placed = {"placement": {"tables": {"stock": "array"}}, "storages": {"array": ARRAY}, "generation": "mysql-5.7"}
    together = {"settings": {"innodb_file_per_table": False}}
    assert "innodb_file_per_table is off" in problems_of(MODEL | placed | together, CARD)["database.placement.tables"]


#: Workload, a table of it, a name that is none, and what the hint says.
NAMES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"kind": "tpcc"}, "new_orders", "stok", "did you mean stock?"),
    ({"kind": "tpcc"}, "order_line", "order_line#P#p0", ""),
    ({"kind": "tpcc", "variant": "sysbench-tpcc", "table_sets": 2}, "stock2", "stock3", "did you mean stock"),
    ({"kind": "tpcc", "variant": "tproc-c", "partitions": 4}, "new_order", "new_orders", "did you mean new_order?"),
    ({"kind": "oltp", "mode": "read_write", "tables": 3}, "sbtest3", "sbtest4", "did you mean sbtest"),
    ({"kind": "oltp", "mode": "read_write", "tables": 3}, "sbtest1", "zz", "it has sbtest1, sbtest2, sbtest3"),
]


@pytest.mark.parametrize(("workload", "there", "wrong", "hint"), NAMES)
def test_a_table_that_the_workload_does_not_have_is_told_by_check(
    workload: dict[str, Any], there: str, wrong: str, hint: str
) -> None:
    def told(name: str) -> list[Problem]:
        placed = SERVER | {"placement": {"tables": {name: "array"}}, "storages": {"array": {"path": "/array"}}}
        try:
            make_experiment({"workload": workload, "database": placed, "storage": FILES})
        except ProblemsError as error:
            return error.problems
        return []

    assert told(there) == []
    (problem,) = told(wrong)
    assert problem.field.startswith("database.placement.tables") and hint in (problem.hint or "")


def test_tables_of_the_users_own_statements_are_not_known_before() -> None:
    own = {"kind": "sql", "transactions": {"a": {"statements": ["SELECT 1"]}}}
    placed = SERVER | {"placement": {"tables": {"mine": "array"}}, "storages": {"array": {"path": "/array"}}}
    make_experiment({"workload": own, "database": placed, "storage": FILES})


def test_a_model_places_no_table_of_several_sets_by_itself() -> None:
    sets = {"workload": {"kind": "tpcc", "variant": "sysbench-tpcc"}}
    placed = {"placement": {"tables": {"stock1": "array"}}, "storages": {"array": ARRAY}, "generation": "mysql-5.7"}
    assert "several sets" in problems_of(MODEL | placed, CARD, **sets)["database.placement.tables.stock1"]
    card = "fusion-io-iodrive-160-slc"
    told = problems_of(MODEL | {"tables": {"undo": card, "stock1": card}}, CARD, **sets)
    assert list(told) == ["database.tables.stock1"]


def test_the_tables_of_a_model_are_known_too() -> None:
    """`undo` and `growth` are tables of a model only, and have a device of their own by `database.tables`."""
    card = "fusion-io-iodrive-160-slc"
    assert problems_of(MODEL | {"tables": {"undo": card, "growth": card, "stock": card}}, CARD) == {}
    assert "no table 'stok'" in problems_of(MODEL | {"tables": {"stok": card}}, CARD)["database.tables.stok"]
    placed = {"placement": {"tables": {"undo": "array"}}, "storages": {"array": ARRAY}, "generation": "mysql-5.7"}
    assert "database.placement.tables.undo" in problems_of(MODEL | placed, CARD)
    # Two servers of a machine have half of the tables each.
    shared = {"workload": {"kind": "oltp", "mode": "read_write", "tables": 4}}
    two = MODEL | {"servers": 2, "tables": {"sbtest3": card}}
    assert "database.tables.sbtest3" in problems_of(two, CARD, **shared)


def test_a_place_is_needed_where_something_is_placed() -> None:
    placed = SERVER | {"placement": {"redo_log": "array"}, "storages": {"array": {}}}
    with pytest.raises(UserError, match=r"database\.storages\.array\.path is missing"):
        require_runnable(make_experiment(tables(placed)))
    require_runnable(make_experiment(tables(SERVER | {"storages": {"array": {}}})))
