"""The request of a run: the options of the command line, for all functions that carry it out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: The default place for cells: this machine.
HERE = "local"


@dataclass(frozen=True)
class RunRequest:
    """One call of `flatwater run` or `flatwater resume`."""

    #: Experiment files, names of the library or folders of them.
    files: tuple[str, ...]
    #: The texts of `--set`: `storage.path=/mnt/flash`.
    overrides: tuple[str, ...] = ()
    #: Replaces the seed of the experiment.
    seed: int | None = None
    #: The result folder; None: a new one below `results/`.
    out: Path | None = None
    #: The executor's name.
    on: str = HERE
    #: The scheduler of the hosts that make the load; None: this machine makes it.
    load_on: str | None = None
    #: Modelled cells in parallel; None: one for each core.
    jobs: int | None = None
    #: Where the metrics of the run are served: [HOST]:PORT; None: nowhere.
    metrics: str | None = None
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
        """Options with which `flatwater resume` prints, and is asked, as this run was."""
        from flatwater.results.started import shell_word

        metrics = ["--metrics", shell_word(self.metrics)] if self.metrics is not None else []
        return [*(["--json"] if self.as_json else []), *metrics]
