"""An experiment: four layers, their timing, and a sweep. It is a value: `validation.py` makes it from tables."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PrivateAttr, model_validator

from flatwater.experiment.cache import Cache, FlashCache, NoCache
from flatwater.experiment.cache.flash import DATA
from flatwater.experiment.cost import Cost
from flatwater.experiment.database import Database, NoDatabase, Server
from flatwater.experiment.database.address import SCHEMA_NAME
from flatwater.experiment.expected import Expectation
from flatwater.experiment.kinds import BUILT, Kinds
from flatwater.experiment.load_hosts import Load
from flatwater.experiment.placing import Places
from flatwater.experiment.problem import Table
from flatwater.experiment.published import PublishedFigure
from flatwater.experiment.record import Record
from flatwater.experiment.report import Report
from flatwater.experiment.scale import SCALE_MAX
from flatwater.experiment.storage import FileStorage, ModelledStorage, Storage
from flatwater.experiment.sweep import Sweep
from flatwater.experiment.thresholds import Thresholds
from flatwater.experiment.twin import Twin
from flatwater.experiment.workload import Fileio, QueryLog, Workload
from flatwater.experiment.workload.transactions import Transactions

#: The number of a cell must fit in 32 bits in a result.
MAX_REPEAT = 10_000


class Heading(Table):
    """The fields above the tables of a file."""

    #: Default: the stem of the file name.
    name: str = ""
    title: str = ""
    about: str = ""
    #: The publication of the experiment.
    source: str = ""
    #: The number of measurements of each cell.
    repeat: int = Field(default=1, ge=1, le=MAX_REPEAT)
    #: The factor of the file. `scale_tables` has applied it already, and the result is in `scaled_by`.
    scale: Annotated[float, Field(gt=0, le=SCALE_MAX)] = Field(default=1.0, exclude=True)
    scaled_by: Annotated[float, Field(gt=0)] = 1.0
    #: The seed of all random numbers. 53 bits, like the seeds of the cells.
    seed: int = Field(default=1, ge=0, lt=2**53)


class Experiment(Heading):
    """A whole experiment, resolved. A swept field has the first of its values in its layer."""

    workload: Workload
    database: Database = NoDatabase()
    cache: Cache = NoCache()
    storage: Storage = FileStorage()
    #: None: this machine makes the load.
    load: Load | None = None
    record: Record = Record()
    sweep: Sweep = Sweep()
    twin: Twin | None = None
    report: Report = Report()
    cost: Cost | None = None
    thresholds: Thresholds | None = None
    published: list[PublishedFigure] = Field(default_factory=list)
    #: Expectations compare several cells, so a single cell has none.
    expected: list[Expectation] = Field(default_factory=list)
    #: No file can say it: whoever loads the experiment does. Copies of it, and its cells, have it too.
    _lets_programs_run: bool = PrivateAttr(default=False)
    #: Where its fields are written, if it is of a file. Copies of it, and its cells, have it too.
    _places: Places | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _is_made_of_values(cls, parts: Any) -> Any:
        if isinstance(parts, dict) and any(isinstance(parts.get(layer), dict) for layer in BUILT):
            raise TypeError("layers are values here: make_experiment reads tables")
        return parts

    @property
    def lets_programs_run(self) -> bool:
        """Whether the programs that it names may run (`programs.py`)."""
        return self._lets_programs_run

    def letting_programs_run(self) -> Experiment:
        """The same experiment, whose programs may run: it is the user's own."""
        allowed = self.model_copy()
        allowed._lets_programs_run = True
        return allowed

    def written_at(self, places: Places) -> Experiment:
        """The same experiment, whose fields are written there."""
        placed = self.model_copy()
        placed._places = places
        return placed

    def placed(self, text: str) -> str:
        """A text with the places of the fields that it speaks of (`workload.setup.0: ...`), where they are known."""
        return text if self._places is None else self._places.tell(text)

    @property
    def kinds(self) -> Kinds:
        """The kind of each layer."""
        return Kinds(self.workload.kind, self.database.kind, self.cache.kind, self.storage.kind)

    @property
    def layers(self) -> dict[str, str]:
        """Layer -> `real`, `modelled` or `none`."""
        told = {layer: getattr(self, layer).REALITY for layer in BUILT}
        if self.in_virtual_time:
            told["workload"] = "modelled"
        if told["cache"] != "none":
            told["cache"] = "none" if self.any_cache is None else "modelled" if self.in_virtual_time else "real"
        return told

    @property
    def in_virtual_time(self) -> bool:
        """Whether all layers are modelled: no real clock is read, and nothing on this machine is measured."""
        return isinstance(self.storage, ModelledStorage) and not self.storage.real_time

    @property
    def files(self) -> FileStorage:
        """The storage as files or a block device; for callers that know that it is."""
        if not isinstance(self.storage, FileStorage):
            raise TypeError(f"the storage is a modelled {self.storage.kind}, not files")
        return self.storage

    @property
    def flash_cache(self) -> FlashCache | None:
        """The flash cache in front of the storage of the data; None if there is none, or if this cell runs without."""
        cache = self.any_cache
        return cache if cache is not None and cache.before == DATA else None

    @property
    def any_cache(self) -> FlashCache | None:
        """The flash cache, whichever storage it is in front of."""
        return self.cache if isinstance(self.cache, FlashCache) and self.cache.enabled else None

    def cache_before(self, name: str) -> FlashCache | None:
        """The flash cache in front of one of `database.storages`; None if there is none."""
        cache = self.any_cache
        return cache if cache is not None and cache.before == name != DATA else None

    @property
    def modelled(self) -> ModelledStorage:
        """The storage as a modelled one; for callers that know that it is."""
        if not isinstance(self.storage, ModelledStorage):
            raise TypeError("the storage is not modelled")
        return self.storage

    @property
    def fileio(self) -> Fileio:
        """The workload as reads and writes of files; for callers that know that it is."""
        if not isinstance(self.workload, Fileio):
            raise TypeError(f"the workload is {self.workload.kind}, not fileio")
        return self.workload

    @property
    def transactions(self) -> Transactions:
        """The workload as one on a database; for callers that know that it is."""
        if not isinstance(self.workload, Transactions):
            raise TypeError(f"the workload {self.workload.kind} uses no server")
        return self.workload

    @property
    def server(self) -> Server:
        """The database as a server; for callers that know that it is."""
        if not isinstance(self.database, Server):
            raise TypeError(f"the database is {self.database.kind}, not a server")
        return self.database

    @property
    def schema_name(self) -> str:
        """The schema of the workload's tables on the server."""
        server, workload, address = self.server, self.transactions, self.server.address
        # What a log names is the schema of somebody else's server: there flatwater makes none of that name.
        named = workload.SCHEMA if address is not None else workload.default_schema
        default = named if SCHEMA_NAME.fullmatch(named) else workload.SCHEMA
        return server.schema_name or (address.schema if address else None) or default

    @property
    def session_schema(self) -> str | None:
        """The schema that the workload's sessions open. None: a recorded log says the schema of each of its statements,
        and a server that is already running need not have one of the workload's name.
        """
        server = self.server
        if isinstance(self.workload, QueryLog) and server.address is not None and not server.load:
            return server.login().schema
        return self.schema_name

    @property
    def size_per_file(self) -> int | None:
        """Used bytes of each file; None for a block device whose size the experiment does not give."""
        used = self.storage.used_bytes
        return None if used is None else used // self.fileio.files
