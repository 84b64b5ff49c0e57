"""The report: one self-contained HTML page of a result, and its charts as image files.

    page.py         the page: text, tables and the charts' data, put into templates/
    images.py       PNG and SVG files, drawn by a headless browser
    charts/         one file per chart
    recorded.py     the series that a cell recorded, thinned by downsample.py
    swept.py        the cells of a sweep as lines
    sentences.py    the sentences at the top
    figure.py       the result of a chart, colours and axes
    units.py        numbers as text

Nothing is imported here: the terminal needs the units alone, and a page is half of what a short command would load.
The report only reads results. All judgements were made when the cell finished, and are in its `CellSummary`.
"""
