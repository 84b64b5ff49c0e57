"""A chart of the report, alone: shown in a notebook, or written to a file."""

from __future__ import annotations

import html
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from flatwater.errors import UserError
from flatwater.notebook.arguments import checked
from flatwater.owned import require_replaceable, unwritten, write_atomic
from flatwater.report.document import Document, Drawing, Paragraph, as_html, write_document
from flatwater.report.figure import TEMPLATE, Figure
from flatwater.report.images import SIGNATURE, export_figure

#: Pixels of the page around a chart: title, margins, footer.
_AROUND = 230


@dataclass(frozen=True)
class Chart:
    """A chart of the report. In a notebook it shows itself, without the network."""

    #: What it is of, for the title.
    of: str
    #: The report's figure, with its points.
    _figure: Figure

    @property
    def name(self) -> str:
        """Its name, as `LoadedRun.plot` takes it."""
        return self._figure.key

    @property
    def title(self) -> str:
        """What stands above it in the report."""
        return self._figure.title

    @property
    def about(self) -> str:
        """What it shows and how to read it."""
        return self._figure.about

    def figure(self) -> dict[str, object]:
        """Its traces and layout as plotly's JSON has them: `plotly.graph_objects.Figure(chart.figure())` takes them."""
        told = {"data": self._figure.data, "layout": self._figure.layout | {"template": TEMPLATE}}
        copied: dict[str, object] = json.loads(json.dumps(told, default=_plain))
        return copied

    def html(self) -> str:
        """A whole page of HTML with the chart, which opens offline and may reach nothing."""
        return as_html(self._document())

    @checked
    def save(self, path: Path | str, *, force: bool = False) -> Path:
        """Writes it as `.html`, or as `.png` or `.svg`, which takes a Chromium. Returns the path.

        It replaces a file that flatwater wrote, and another one only with `force`.

        Errors: UserError for another name, and where the file cannot be written; FlatwaterError without a browser.
        """
        path = Path(path)
        image = path.suffix.lower().removeprefix(".")
        if image not in ("png", "svg"):
            if image not in ("html", "htm"):
                raise UserError("is no chart's file", where=str(path), hint="a name that ends in .html, .png or .svg")
            return write_document(self._document(), path, force=force)
        require_replaceable(path, SIGNATURE, force=force, where=str(path))
        kind: Literal["png", "svg"] = "png" if image == "png" else "svg"
        with tempfile.TemporaryDirectory(prefix="flatwater-") as folder:
            drawn = export_figure(self._figure, Path(folder), kind)
            try:
                write_atomic(path, drawn.read_bytes(), durable=False)
            except OSError as error:
                raise unwritten("cannot write it", error, str(path)) from None
        return path

    def _document(self) -> Document:
        return Document(self.of, self.title, (Drawing(self._figure), Paragraph(self.about)))

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own, in which its policy holds."""
        page = html.escape(self.html(), quote=True)
        height = self._figure.height + _AROUND
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="{height}" style="border:0"></iframe>'
        )


def _plain(value: Any) -> object:
    return value.tolist()
