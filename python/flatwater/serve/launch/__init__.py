"""`flatwater serve --allow-run`: experiments of the library, started, watched and stopped from a page.

    shelf.py       the experiments that can be started, and what each needs
    wish.py        what a page asks for: its lines, checked as `flatwater check` does, and what no page may ask for
    child.py       one run that was started, as a process of its own
    launcher.py    all that were started: how many at once, and the end of them
    pages.py       the addresses

Without `--allow-run` nothing of this exists. A run from a page is `flatwater run`, with the same guards; what would
destroy what is not flatwater's, or reach a server of others, is asked for on the command line only.
"""
