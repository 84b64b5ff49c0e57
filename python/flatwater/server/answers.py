"""Checks of servers' answers before they are used: a proxy or a broken server may answer anything."""

from __future__ import annotations

from flatwater._engine import Connection, EngineError

Row = tuple[str | None, ...]


def rows_of(connection: Connection, sql: str, *, columns: int, rows_min: int = 0) -> list[Row]:
    """Rows of a statement: at least `rows_min`, each of at least `columns` values.

    Errors: EngineError if the server refuses, is gone, or answers with fewer rows or values.
    """
    rows = connection.query(sql)
    if len(rows) < rows_min or any(len(row) < columns for row in rows):
        what = f"{len(rows)} rows" if len(rows) < rows_min else "rows that are too short"
        raise EngineError(f"the server's answer to {sql.partition(' FROM ')[0]} is not understood: {what}")
    return rows
