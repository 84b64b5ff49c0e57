"""`flatwater serve --allow-run`: experiments of the library, started, watched, stopped and resumed from a page.

    shelf.py       the experiments that can be started, and what each needs
    wish.py        what a page asks for: its lines, checked as `flatwater check` does, and what no page may ask for
    child.py       one run that was started, as a process of its own
    resumption.py  a run that was stopped or died, held against what may be started: its result may be anybody's
    difference.py  the lines that make a result's experiment of the library's
    theirs.py      a result's folder, before a run writes into it
    launcher.py    all that were started: how many at once, and the end of them
    pages.py       the addresses

Without `--allow-run` nothing of this exists. A run from a page is `flatwater run`, with the same guards; what would
destroy what is not flatwater's, or reach a server of others, is asked for on the command line only.
"""
