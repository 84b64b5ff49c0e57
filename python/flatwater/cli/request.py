"""What a run is asked to be: the words of the command line, once, for everything that carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: Where cells run if nothing else is asked for: this machine.
HERE = "local"


@dataclass(frozen=True)
class RunRequest:
    """One call of `flatwater run` or `flatwater resume`."""

    #: Experiment files, names of the library or folders of them.
    files: tuple[str, ...]
    #: What `--set` replaces, as written: `storage.path=/mnt/flash`.
    overrides: tuple[str, ...] = ()
    #: Replaces the experiment's own.
    seed: int | None = None
    #: The result folder; None: a new one below `results/`.
    out: Path | None = None
    #: The executor's name.
    on: str = HERE
    #: Modelled cells at once; None: as many as there are cores.
    jobs: int | None = None
    #: Print JSON and nothing else.
    as_json: bool = False
    #: Run thousands of cells without asking.
    yes: bool = False
    #: Run only what `out` does not have yet.
    resume: bool = False

    @property
    def file(self) -> str:
        """The only file of a run of one experiment."""
        (file,) = self.files
        return file

    @property
    def scaling(self) -> tuple[str, ...]:
        """Of the overrides those that make the whole experiment larger or smaller."""
        return tuple(one for one in self.overrides if one.partition("=")[0].strip() == "scale")

    @property
    def resume_options(self) -> list[str]:
        """Options with which `flatwater resume` prints as this run did."""
        return ["--json"] if self.as_json else []
