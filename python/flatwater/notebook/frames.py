"""A table in the library that the caller works with: Arrow is always there, polars and pandas where installed."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa

from flatwater.errors import UserError
from flatwater.spelling import suggest

#: The libraries of a table.
Library = Literal["arrow", "polars", "pandas"]


def converted(table: pa.Table, to: Library) -> Any:
    """The table as a `pyarrow.Table`, a `polars.DataFrame` or a `pandas.DataFrame`.

    Errors: UserError for another word, and where the library is not installed.
    """
    try:
        if to == "arrow":
            return table
        if to == "polars":
            import polars

            return polars.from_arrow(table)
        if to == "pandas":
            import pandas  # noqa: F401 - pyarrow's own error takes three lines

            return table.to_pandas()
    except ImportError as error:
        what = f"{to} is not installed ({error})"
        raise UserError(what, where=f'to="{to}"', hint=f'pip install {to}, or to="arrow"') from None
    raise UserError(f"there is no library {to!r}", where="to", hint=suggest(str(to), ("arrow", "polars", "pandas")))
