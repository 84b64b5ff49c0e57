from __future__ import annotations

import tomllib

from flatwater.experiment.lines import LineIndex

TEXT = """\
title = "x"  # 1
about = '''
[workload]
threads = 1
'''

[workload]  # 7
mode = "rndrd"
block_size = {
    "4KiB" = 50,
    "8KiB" = 50 }  # a trailing ] in a comment
threads=4 # 12

[storage.fault] # 14
"kind" = "error"

[sweep]
"workload.files" = [
    1,  # ]
    2,
]
workload . queue_depth = [1]  # 22
'storage.path' = ["]", "[", '\"']
storage.fill = [0.5]

[[sweep.zip]] # 26
workload.threads = [1, 2]

[[published]] # 29
set = { "storage.fill" = 0.5 }
value = 3
[[published]] # 32
value = 4
[published.set] # 34
storage.fill = 0.5
"""


def test_fields_are_found_on_their_lines() -> None:
    tomllib.loads(TEXT.replace('{\n    "4KiB" = 50,\n    "8KiB" = 50 }', '{ "4KiB" = 50, "8KiB" = 50 }'))
    lines = LineIndex(TEXT)
    assert {
        field: lines.line_of(field)
        for field in (
            "title",
            "workload",
            "workload.mode",
            "workload.block_size",
            "workload.threads",
            "storage.fault",
            "storage.fault.kind",
            "sweep.workload.files",
            "sweep.workload.queue_depth",
            "sweep.storage.path",
            "sweep.storage.fill",
            "sweep.zip",
            "sweep.zip.0.workload.threads",
            "published.0.set",
            "published.0.value",
            "published.1.value",
            "published.1.set.storage.fill",
        )
    } == {
        "title": 1,
        "workload": 7,
        "workload.mode": 8,
        "workload.block_size": 9,
        "workload.threads": 12,
        "storage.fault": 14,
        "storage.fault.kind": 15,
        "sweep.workload.files": 18,
        "sweep.workload.queue_depth": 22,
        "sweep.storage.path": 23,
        "sweep.storage.fill": 24,
        "sweep.zip": 26,
        "sweep.zip.0.workload.threads": 27,
        "published.0.set": 30,
        "published.0.value": 31,
        "published.1.value": 33,
        "published.1.set.storage.fill": 35,
    }


def test_what_is_missing_stands_where_it_should_have_been() -> None:
    lines = LineIndex(TEXT)
    assert lines.line_of("workload.duration_s") == 7
    assert lines.line_of("published.1.source") == 32
    assert lines.line_of("cache.kind") is None


def test_windows_line_ends() -> None:
    assert LineIndex("[a]\r\nb = 1\r\nc = 2\r\n").line_of("a.c") == 3


def test_entries_of_lists_are_found_on_their_lines() -> None:
    text = (
        "[workload.transactions.t]\n"
        "statements = [ # 2\n"
        "  'SELECT [1, 2]', # 3, and no more\n"
        '  { sql = "SELECT 1, 2", name = "a" }, "b", # 4\n'
        '  """\n'
        "  SELECT 5,\n"
        '  6""",\n'
        "  [\n"
        "    1.5e3, 2020-01-01, # 9\n"
        "    -inf, # 10\n"
        "  ],\n"
        "]\n"
        "weight = 13\n"
    )
    tomllib.loads(text)
    lines = LineIndex(text)
    list_ = "workload.transactions.t.statements"
    told = [lines.line_of(f"{list_}.{entry}") for entry in ("0", "1", "2", "3", "4", "4.0", "4.1", "4.2", "5")]
    assert told == [3, 4, 4, 5, 8, 9, 9, 10, 2]
    assert f"{list_}.0" in lines and f"{list_}.5" not in lines
    assert lines.line_of("workload.transactions.t.weight") == 13
