"""The charts as image files, drawn by a headless browser through kaleido."""

from __future__ import annotations

import errno
import math
import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flatwater.errors import FlatwaterError
from flatwater.owned import make_folder, require_replaceable, unwritten, write_atomic
from flatwater.report.drawing import alone, draw, sweep_figures
from flatwater.report.figure import TEMPLATE, Figure, Json
from flatwater.report.units import plain
from flatwater.results import Result

#: Browsers that kaleido can use, by their names in Linux distributions.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Pixels of a chart before the scale; a scale of 2 is sharp in print.
WIDTH, SCALE = 1200, 2

#: Pixels of a legend: of a row, of an entry without its name, and of a character of it, with the font of `LEGEND`.
_ROW_PX, _KEY_PX, _CHARACTER_PX = 19, 45, 6.5
#: The mark in the head of every image.
SIGNATURE = "drawn by flatwater"
#: A PNG's signature, and the end of its header chunk (PNG specification, 5.2 and 11.2.2).
_PNG, _PNG_HEADER_END = b"\x89PNG\r\n\x1a\n", 33

Format = Literal["png", "svg"]


def find_browser() -> str:
    """The browser that draws; `BROWSER_PATH` names another one."""
    asked = os.environ.get("BROWSER_PATH")
    if asked:
        if wrong := _why_no_program(Path(asked)):
            raise FlatwaterError(wrong, where=f"BROWSER_PATH={asked}", hint="unset it, or name a Chromium")
        return asked
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise FlatwaterError(
        "image files are drawn by Chromium or Chrome, and neither was found",
        hint="apt-get install chromium, or name one in BROWSER_PATH; the HTML page needs none",
    )


def _why_no_program(path: Path) -> str:
    """Why a path is no program; empty for one."""
    if not path.exists():
        return "no such file"
    if not path.is_file():
        return "is a folder, and no program" if path.is_dir() else "is no file"
    return "" if os.access(path, os.X_OK) else "is no program: it may not be executed"


def export_images(result: Result, folder: Path, image: Format, *, force: bool = False) -> list[Path]:
    """Writes every chart of every cell to `folder`: `throughput.png`, or `0003-throughput.png` if there are several
    cells.

    It replaces images that flatwater wrote, and other files only with `force`.

    Errors: FlatwaterError if there is no browser or if it fails; UserError if the folder cannot be written.
    """
    browser = find_browser()
    many = len(result.cells) > 1
    wanted = [_Wanted("", figure) for figure in sweep_figures(result)]
    for drawn in draw(result):
        prefix = f"{drawn.recorded.cell.index:04}-" if many else ""
        wanted += [_Wanted(prefix, alone(drawn, figure)) for figure in drawn.figures]
    return _export(wanted, folder, image, browser, force=force)


def export_figure(figure: Figure, folder: Path, image: Format, *, force: bool = False) -> Path:
    """Writes one figure whose points are filled in to `folder`, under its key.

    It replaces an image that flatwater wrote, and another file only with `force`.

    Errors: as of `export_images`.
    """
    (path,) = _export([_Wanted("", figure)], folder, image, find_browser(), force=force)
    return path


@dataclass(frozen=True)
class _Wanted:
    """A figure whose points are filled in, and what comes before its key in the name of its file."""

    prefix: str
    figure: Figure


def _export(wanted: Sequence[_Wanted], folder: Path, image: Format, browser: str, *, force: bool) -> list[Path]:
    # Here, because a page needs no processes.
    from flatwater.report.drawing_process import draw_images

    make_folder(folder, str(folder))
    paths = [folder / f"{one.prefix}{one.figure.key}.{image}" for one in wanted]
    for path in paths:
        require_replaceable(path, SIGNATURE, force=force, where=f"--{image}")
    with tempfile.TemporaryDirectory(prefix="flatwater-") as name:
        beside = [Path(name) / path.name for path in paths]
        if wanted:
            orders = [_order(one, path, image) for one, path in zip(wanted, beside, strict=True)]
            draw_images(orders, browser, Path(name))
        for source, path in zip(beside, paths, strict=True):
            try:
                _require_whole(source, image)
                write_atomic(path, _signed(source.read_bytes()), durable=False)
            except OSError as error:
                raise unwritten("cannot write an image", error, str(path)) from None
    return paths


def _signed(image: bytes) -> bytes:
    """An image with flatwater's mark, so that a later image may replace it."""
    if not image.startswith(_PNG):
        return f"<!-- {SIGNATURE} -->\n".encode() + image
    # A tEXt chunk after the header's: length, type, keyword and text, CRC (PNG specification, 11.3.4.3).
    content = b"tEXt" + b"Software\0" + SIGNATURE.encode()
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    return image[:_PNG_HEADER_END] + chunk + image[_PNG_HEADER_END:]


def _require_whole(path: Path, image: Format) -> None:
    """Raises OSError if an image was not written to its end."""
    with path.open("rb") as drawn:
        end = drawn.seek(0, os.SEEK_END)
        drawn.seek(max(0, end - 16))
        tail = drawn.read()
    if (b"IEND" if image == "png" else b"</svg>") not in tail:
        raise OSError(errno.ENOSPC, "No space left on device")


def _legend_rows(figure: Figure) -> int:
    """Rows of the legend that is below the title. plotly gives each entry the room of the widest."""
    names = [str(trace.get("name") or "") for trace in figure.data if _in_first_legend(trace)]
    if len(names) < 2:
        return 1
    margin = TEMPLATE["layout"]["margin"]
    entry_px = _KEY_PX + _CHARACTER_PX * max(map(len, names))
    return math.ceil(len(names) / max(1, int((WIDTH - margin["l"] - margin["r"]) / entry_px)))


def _in_first_legend(trace: Json) -> bool:
    return trace.get("showlegend", True) is True and trace.get("legend", "legend") == "legend"


def _order(wanted: _Wanted, path: Path, image: Format) -> Json:
    figure = wanted.figure
    legend_px = _ROW_PX * (_legend_rows(figure) - 1)
    # On the page the title is above the chart; an image file needs its own.
    title = {"text": plain(figure.title), "x": 0.01, "y": 0.985, "yanchor": "top", "font": {"size": 15}}
    margin = {**TEMPLATE["layout"]["margin"], "t": 64 + legend_px}
    layout = {**figure.layout, "template": TEMPLATE, "title": title, "margin": margin}
    return {
        "fig": {"data": figure.data, "layout": layout},
        "path": str(path),
        "opts": {
            "format": image,
            "width": WIDTH,
            "height": figure.height + 30 + legend_px,
            "scale": SCALE if image == "png" else 1,
        },
    }
