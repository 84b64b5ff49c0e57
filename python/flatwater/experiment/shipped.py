"""Files of flatwater or of the user that experiments refer to by name: machines, measured workloads."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from flatwater.errors import UserError
from flatwater.experiment.named_file import require_may_open
from flatwater.experiment.parse import expanded
from flatwater.experiment.problem import Table, explain_error, quote
from flatwater.spelling import suggest

Kind = TypeVar("Kind", bound=Table)


@dataclass(frozen=True)
class Shipped(Generic[Kind]):
    """One kind of such files: the TOML files of a folder of the package, by their names."""

    kind: type[Kind]
    folder: str
    #: What a message calls such a file.
    called: str
    #: The field that refers to it, and the hint for an invalid file.
    where: str
    hint: str

    def files(self) -> dict[str, Path]:
        """Name -> file, by name."""
        folder = Path(__file__).parents[1] / self.folder
        return {path.stem: path for path in sorted(folder.glob("*.toml"))}

    def load(self, written: str) -> Kind:
        """The content of a file by its name or its path. Errors: UserError, with the nearest name as its hint."""
        files = self.files()
        if "/" in written or written.endswith(".toml"):
            path = expanded(written)
            require_may_open(path)
        elif written in files:
            path = files[written]
        else:
            what = f"there is no {self.called} {quote(written)}"
            raise UserError(what, where=self.where, hint=suggest(written, list(files)))
        return self._parsed(path)

    @lru_cache(maxsize=64)  # noqa: B019 (each kind has one object, which lives as long as the program)
    def _parsed(self, path: Path) -> Kind:
        try:
            if path.exists() and not path.is_file():
                raise OSError(0, "is not a file")  # a pipe or a device may have no end
            return self.kind.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except ValidationError as error:
            details = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in details["loc"])
            why = ": ".join(part for part in (field, explain_error(details)[0]) if part)
        except OSError as error:
            why = str(error.strerror or error)
        except ValueError as error:
            why = str(error)
        raise UserError(f"{path} is no {self.called}: {why}", where=self.where, hint=self.hint)
