"""The engine's settings: as text, as `flatwater cache set` takes them; what is not said is not told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment.cache.settings import Settings


def test_what_is_not_said_is_the_presets() -> None:
    assert Settings().said() == {}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"mode": "write-around"}, "write-around"),
        ({"sequential_bytes": "512KiB"}, "524288"),
        ({"sequential_bytes": 0}, "0"),
        ({"dirty_high_pct": 12.5}, "12.5"),
        ({"flush_period_s": "1m30s"}, "90.0"),
        ({"allow_processes": [12, 13]}, "12,13"),
        ({"deny_processes": []}, "none"),
        ({"ordered": True}, "on"),
        ({"verify": False}, "off"),
        ({"write_back_depth": 8}, "8"),
    ],
)
def test_as_the_engine_takes_it(said: dict[str, Any], told: str) -> None:
    assert Settings.model_validate(said).said() == {next(iter(said)): told}


@pytest.mark.parametrize(
    "said", [{"mode": "back"}, {"dirty_high_pct": -1}, {"fallow_delay_s": -1}, {"fallow_speed": 0}, {"verify": "on"}]
)
def test_what_cannot_be(said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(said)
