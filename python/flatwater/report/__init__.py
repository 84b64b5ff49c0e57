"""The report: one self-contained HTML page of a result, and its charts as image files.

    page.py         the page: text, tables and the charts' data, put into templates/
    images.py       PNG and SVG files, drawn by a headless browser
    charts/         one file per chart
    recorded.py     the series that a cell recorded, thinned by downsample.py
    swept.py        the cells of a sweep as lines
    sentences.py    the sentences at the top
    figure.py       the result of a chart, colours and axes
    units.py        numbers as text

The report only reads results. All judgements were made when the cell finished, and are in its `CellSummary`.
"""

from flatwater.report.images import export_images
from flatwater.report.page import write_page

__all__ = ["export_images", "write_page"]
