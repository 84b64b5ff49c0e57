"""The report: one self-contained HTML page of a result, and its charts as image files.

    page.py         the page: text, tables and the charts' data, put into templates/
    images.py       PNG and SVG files, drawn by a headless browser
    charts/         one file a chart
    recorded.py     what a cell recorded, thinned by downsample.py
    swept.py        the cells of a sweep as lines
    sentences.py    the words at the top
    figure.py       what a chart gives back, colours and axes
    units.py        numbers as text

It reads results only: everything that is judged was judged when the cell finished, and is in its `CellSummary`.
"""

from flatwater.report.images import export_images
from flatwater.report.page import write_page

__all__ = ["export_images", "write_page"]
