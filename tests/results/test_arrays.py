"""Arrow's arrays from NumPy's and back."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from flatwater.results.arrays import binary_array, number_array, numbers_of, text_array


@pytest.mark.parametrize("type_", [np.int32, np.int64, np.float64])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_numbers_there_and_back(type_: type[np.generic], count: int) -> None:
    numbers = np.arange(2 * count, dtype=type_)[::2]  # not one piece of memory
    made = number_array(numbers)
    made.validate(full=True)
    for column in (
        made,
        pa.chunked_array([made]),
        pa.chunked_array([made.slice(0, count // 3), made.slice(count // 3)]),
    ):
        back = numbers_of(column)
        assert back.dtype == type_ and np.array_equal(back, numbers)


@pytest.mark.parametrize("texts", [[], ["a"], ["", "é", "", "a longer one", ""]])
def test_texts_and_bytes(texts: list[str]) -> None:
    for made in (text_array(texts), binary_array([text.encode() for text in texts])):
        made.validate(full=True)
    assert text_array(texts).to_pylist() == texts
    assert binary_array([text.encode() for text in texts]).to_pylist() == [text.encode() for text in texts]


def test_writing_and_reading_series_load_no_pandas() -> None:
    """Each command would begin a third of a second later where it is installed."""
    pytest.importorskip("pandas")
    code = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from flatwater.results.sealed import list_metrics, read_series
from flatwater.results.series import PartWriter
with TemporaryDirectory() as folder:
    writer = PartWriter(0, Path(folder), Path("journal"))
    for second in range(5):
        writer.add({"time_s": float(second), "start_s": 0.0, "phase": "measure", "metrics": {"a.b": 1.0, "c.d": 2.0}})
    writer.close()
    (file,) = Path(folder).glob("series-*")
    assert list_metrics([file], 0) == [("a", "b"), ("c", "d")]
    assert read_series([file], 0, "c", "d").value.tolist() == [2.0] * 5
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
