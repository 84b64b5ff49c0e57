"""What may be asked of a twin, of servers of several versions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from recorded import SETTINGS, recorded

from flatwater.errors import UserError
from flatwater.results.schema import ServerFacts
from flatwater.what_if import Base, parse_changes, read_base, usual_questions
from flatwater.what_if.twin import Twin

MIB = 2**20
_NO_DOUBLEWRITE = "database.settings.innodb_doublewrite=false"
_CAPACITY = "database.settings.innodb_redo_log_capacity=256M"
#: What servers tell of a log of two files, and of a flush method that nobody chose.
_FILES = {"innodb_log_file_size": str(48 * MIB), "innodb_log_files_in_group": "2"}
_POOL = {"innodb_buffer_pool_size": str(96 * MIB)}
SERVERS = {
    "5.6.24": _POOL | _FILES | {"innodb_flush_method": ""},
    "5.7.22": _POOL | _FILES | {"innodb_flush_method": ""},
    "8.0.15": _POOL | _FILES | {"innodb_flush_method": "fsync"},
    "8.0.36": _POOL | {"innodb_redo_log_capacity": str(96 * MIB), "innodb_flush_method": "fsync"},
}


def base_of(path: Path, version: str) -> Base:
    variables = SERVERS[version]
    facts = [ServerFacts(flavour="mysql", version=version)]
    return read_base(str(recorded(path / version, variables=variables, servers=facts)))


@pytest.mark.parametrize("version", SERVERS)
def test_a_server_at_its_default_flush_method_has_a_twin(tmp_path: Path, version: str) -> None:
    base = base_of(tmp_path, version)
    assert base.settings.get("innodb_flush_method") != "" and (base.flavour, base.server) == (
        "mysql",
        f"mysql {version}",
    )
    with Twin(base) as twin:
        (change,) = parse_changes(twin, [_NO_DOUBLEWRITE])
        assert change.not_comparable == ()


@pytest.mark.parametrize(("ran", "asked"), [("O_DIRECT", "fsync"), ("fsync", "O_DIRECT"), ("fsync", "O_DSYNC")])
def test_a_flush_method_that_the_model_does_not_know_is_refused(tmp_path: Path, ran: str, asked: str) -> None:
    """Of the run, or of the change: no effect would be told of either."""
    facts = [ServerFacts(flavour="mysql", version="8.0.36")]
    variables = SERVERS["8.0.36"] | {"innodb_flush_method": ran}
    with Twin(read_base(str(recorded(tmp_path / "run", variables=variables, servers=facts)))) as twin:
        with pytest.raises(UserError, match="innodb_flush_method has no effect in the model"):
            parse_changes(twin, [f"database.settings.innodb_flush_method={asked}"])
        assert parse_changes(twin, [_NO_DOUBLEWRITE]), "other changes are predicted"


def test_a_page_cache_of_the_run_is_not_forgotten(tmp_path: Path) -> None:
    """MySQL before 8.0 tells its default, fsync, as no value."""
    facts = [ServerFacts(flavour="mysql", version="5.7.22")]
    with Twin(read_base(str(recorded(tmp_path / "run", variables=SERVERS["5.7.22"], servers=facts)))) as twin:
        with pytest.raises(UserError, match="another innodb_flush_method cannot be predicted"):
            parse_changes(twin, ["database.settings.innodb_flush_method=O_DIRECT"])
        assert parse_changes(twin, [_NO_DOUBLEWRITE])


@pytest.mark.parametrize("version", SERVERS)
def test_the_redo_log_is_named_as_the_server_names_it(tmp_path: Path, version: str) -> None:
    name = "innodb_redo_log_capacity" if version == "8.0.36" else "innodb_log_file_size"
    with Twin(base_of(tmp_path, version)) as twin:
        redo = next(one for one in usual_questions(twin) if "redo" in one.text or "log_file" in one.text)
        assert redo.written[0].startswith(f"database.settings.{name}=")


def test_a_setting_that_the_generation_got_later_is_refused(tmp_path: Path) -> None:
    with Twin(base_of(tmp_path, "8.0.15")) as twin:
        with pytest.raises(UserError) as refused:
            parse_changes(twin, [_CAPACITY])
        text = str(refused.value)
        assert "mysql 8.0.15 does not have" in text and "MySQL since 8.0.30" in text and "--set" in text
    with Twin(base_of(tmp_path, "8.0.36")) as twin:
        assert parse_changes(twin, [_CAPACITY])[0].not_comparable == ()


def test_what_is_wrong_with_the_run_is_not_said_of_the_change(tmp_path: Path) -> None:
    facts = [ServerFacts(flavour="mysql", version="5.7.22")]
    broken = SERVERS["5.7.22"] | {"innodb_flush_method": "unheard_of"}
    run = recorded(tmp_path / "run", variables=broken, servers=facts)
    with Twin(read_base(str(run))) as twin, pytest.raises(UserError) as refused:
        parse_changes(twin, [_NO_DOUBLEWRITE])
    assert str(refused.value).startswith(str(run)) and "--set" not in str(refused.value)


def test_a_run_without_variables_has_the_settings_of_its_experiment(tmp_path: Path) -> None:
    assert read_base(str(recorded(tmp_path / "run"))).settings.items() >= SETTINGS.items()
