"""The charts as image files, drawn by a headless browser through kaleido."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Literal

from flatwater.errors import FlatwaterError, UserError
from flatwater.report.drawing import draw, sweep_figures
from flatwater.report.figure import TEMPLATE, Figure, Json
from flatwater.report.units import plain
from flatwater.results import Result

#: Browsers that kaleido can drive, by the names that Linux distributions give them.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Pixels of a chart before the scale; 2 is sharp in print.
WIDTH, SCALE = 1200, 2

Format = Literal["png", "svg"]


def find_browser() -> str:
    """The browser that draws; `BROWSER_PATH` names another one."""
    asked = os.environ.get("BROWSER_PATH")
    if asked:
        if not Path(asked).is_file():
            raise FlatwaterError("no such file", where=f"BROWSER_PATH={asked}", hint="unset it, or name a Chromium")
        return asked
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise FlatwaterError(
        "image files are drawn by Chromium or Chrome, and neither was found",
        hint="apt-get install chromium, or name one in BROWSER_PATH; the HTML page needs none",
    )


def export_images(result: Result, folder: Path, image: Format) -> list[Path]:
    """Writes every chart of every cell to `folder`: `throughput.png`, or `0003-throughput.png` where there are cells.

    Errors: FlatwaterError when there is no browser or it fails; UserError when the folder cannot be written.
    """
    browser = find_browser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder: {error.strerror}", where=str(folder)) from None
    many = len(result.cells) > 1
    wanted = [_order({"data": one.data, "layout": one.layout}, one, folder, "", image) for one in sweep_figures(result)]
    for drawn in draw(result):
        prefix = f"{drawn.recorded.cell.index:04}-" if many else ""
        wanted += [_order(drawn.resolved(figure), figure, folder, prefix, image) for figure in drawn.figures]
    if wanted:
        _write(wanted, browser, folder)
    return [Path(order["path"]) for order in wanted]


def _order(drawn: Json, figure: Figure, folder: Path, prefix: str, image: Format) -> dict[str, Any]:
    # In the page the title stands above the chart; an image travels alone.
    title = {"text": plain(figure.title), "x": 0.01, "y": 0.985, "yanchor": "top", "font": {"size": 15}}
    margin = {**TEMPLATE["layout"]["margin"], "t": 64}
    layout = {**drawn["layout"], "template": TEMPLATE, "title": title, "margin": margin}
    return {
        "fig": {"data": drawn["data"], "layout": layout},
        "path": str(folder / f"{prefix}{figure.key}.{image}"),
        "opts": {
            "format": image,
            "width": WIDTH,
            "height": figure.height + 30,
            "scale": SCALE if image == "png" else 1,
        },
    }


def _write(wanted: list[dict[str, Any]], browser: str, folder: Path) -> None:
    import kaleido  # here, because it starts an event loop's worth of modules that the page does not need

    # Without MathJax: it would be fetched from the network.
    page = kaleido.PageGenerator(mathjax=False)
    try:
        kaleido.write_fig_from_object_sync(wanted, kopts={"path": browser, "page_generator": page})
    except PermissionError as error:
        raise UserError(f"cannot write an image: {error.strerror}", where=str(folder)) from None
    except Exception as error:
        raise FlatwaterError(f"{browser} could not draw the charts: {error or type(error).__name__}") from error
