"""The page that lives: `flatwater serve` shows results, and runs while they are made. It only reads.

    app.py          the addresses, and what each answers
    answers.py      a page, as an answer
    guard.py        who may ask: this machine's names, one origin, a token where others reach it
    port.py         the port, and who has it
    server.py       the server, from its start until it is ended
    folders.py      the results in the served folders
    listed.py       one result in the list
    catalogue.py    all results: found, read once, filtered, in pages
    sparkline.py    the small line of a result in the list
    documents.py    pages of several results that other commands print: published figures, costs
    trends.py       the page of repeated runs of an experiment
    drawn.py        reports and comparisons, drawn when they are asked for and kept for a while
    writers.py      which process writes a result
    alive.py        whether a run still lives
    tail.py         what the journal of a cell has said so far
    followed.py     a run under way: its cell, what it recorded, whether it lives
    watch.py        one run while it is made, as messages for its page
    hub.py          who watches which run
    metrics.py      the runs under way, as OpenMetrics
    grafana.py      a dashboard of them for Grafana
    exporter.py     --metrics: a run that serves its own
    launch/         with `--allow-run`: experiments of the library, started and stopped

Nothing is written into a result, and nothing that is not a result is shown. Results come from anywhere: all text is
escaped, and no text of an address becomes a path.
"""

from flatwater.serve.server import Served, serve

__all__ = ["Served", "serve"]
