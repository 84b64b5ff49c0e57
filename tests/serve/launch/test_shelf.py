from __future__ import annotations

from flatwater.experiment.library import library_files
from flatwater.serve.launch.shelf import Shelf


def test_the_library_with_what_each_needs() -> None:
    shelf = Shelf()
    assert [one.name for one in shelf.entries()] == list(library_files())
    quick, tpcc, modelled = (shelf.find(name) for name in ("quick", "tpcc-quick", "fill-level-tachion-400"))
    assert quick is not None and quick.real and quick.needs == ["storage.path"] and quick.layers_text == "real"
    program = "a program of MariaDB, MySQL or Percona Server on this machine"
    assert tpcc is not None and tpcc.real and tpcc.needs == ["storage.path", program]
    assert modelled is not None and not modelled.real and not modelled.needs
    assert modelled.time.endswith(" of virtual time") and modelled.layers_text == "modelled"


def test_no_other_text_becomes_a_path() -> None:
    shelf = Shelf()
    for name in ("", "..", "../experiments/quick", "quick.toml", "/etc/passwd", "quick\0"):
        assert shelf.find(name) is None
