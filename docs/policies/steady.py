"""An example of your own flushing policy: the oldest change stays at a share of the log, whatever that costs.

[database]
kind = "innodb-model"
flushing = "docs/policies/steady.py:Steady"
"""

#: The age at which the policy keeps the oldest change, as a share of the asynchronous age.
TARGET = 0.6


class Steady:
    """Ten times a second it writes every page whose first change is too old, and no other page."""

    #: Time between two rounds.
    period_s = 0.1

    def round(self, view):
        """The number of pages to write now, oldest change first; and an LSN: only pages first changed before it."""
        limit_lsn = view.lsn - int(TARGET * view.async_age)
        return view.dirty_pages, max(limit_lsn, 0)
