"""Arrow's arrays and NumPy's. `pa.array` and `to_numpy` load pandas where it is installed: a third of a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def number_array(numbers: np.ndarray[Any, np.dtype[Any]]) -> pa.Array:
    """The array of numbers of NumPy's, with the same type."""
    type_ = pa.from_numpy_dtype(numbers.dtype)
    return pa.Array.from_buffers(type_, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def text_array(texts: Sequence[str]) -> pa.Array:
    """The array of texts."""
    return _of_bytes(pa.string(), [text.encode() for text in texts])


def binary_array(values: Sequence[bytes]) -> pa.Array:
    """The array of bytes."""
    return _of_bytes(pa.binary(), values)


def numbers_of(column: pa.ChunkedArray[Any] | pa.Array[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """The numbers of a column that lacks none, with the same type. They may be read only."""
    type_ = np.dtype(str(column.type))
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [
        np.frombuffer(chunk.buffers()[1], type_, len(chunk), chunk.offset * type_.itemsize)
        for chunk in chunks
        if len(chunk)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, type_), *parts])


def _of_bytes(type_: pa.DataType, values: Sequence[bytes]) -> pa.Array:
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])
