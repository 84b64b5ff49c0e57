"""A flushing policy of one's own: the oldest change stays at a share of the log, whatever that costs.

[database]
kind = "innodb-model"
flushing = "docs/policies/steady.py:Steady"
"""

#: Where the oldest change is to be, as a share of the asynchronous age.
TARGET = 0.6


class Steady:
    """Ten times a second it writes every page whose first change has come to be too old, and no other."""

    #: Time between two rounds.
    period_s = 0.1

    def round(self, view):
        """Pages to write now, oldest change first; here with an LSN: only those changed first before it."""
        limit_lsn = view.lsn - int(TARGET * view.async_age)
        return view.dirty_pages, max(limit_lsn, 0)
