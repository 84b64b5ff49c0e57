from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from flatwater.experiment.storage.file import FileStorage


def test_the_defaults_destroy_nothing() -> None:
    storage = FileStorage()
    assert (storage.overwrite, storage.purge, storage.keep, storage.path, storage.size) == (
        False,
        False,
        True,
        None,
        None,
    )


def test_a_home_directory_is_expanded() -> None:
    assert FileStorage.model_validate({"path": "~/flash"}).path == str(Path.home() / "flash")
    assert FileStorage.model_validate({"path": "./~x"}).path == "./~x"


@pytest.mark.parametrize("fill", [0, -0.1, 1.01, float("nan"), True, "half"])
def test_what_is_no_fill(fill: object) -> None:
    with pytest.raises(ValidationError):
        FileStorage.model_validate({"fill": fill})


def test_faults() -> None:
    storage = FileStorage.model_validate({"fault": {"kind": "stall", "after_ops": 100, "duration_s": "5s"}})
    assert storage.fault is not None
    assert (storage.fault.kind, storage.fault.after_ops, storage.fault.duration_s) == ("stall", 100, 5.0)
    with pytest.raises(ValidationError):
        FileStorage.model_validate({"fault": {"kind": "explode"}})
