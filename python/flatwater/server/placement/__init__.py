"""Parts of a server that are on other storages than its data.

means.py  which servers can place what, by which setting, and where their manuals say so
parts.py  the parts of one server: their folders, the lines of its my.cnf, the files of a snapshot that belong to them
told.py   where a server that runs already says that its parts are
"""

from flatwater.server.placement.means import MEANS, Means, why_not
from flatwater.server.placement.parts import Parts, Placing, copied_bytes, copy_placed
from flatwater.server.placement.told import told_places

__all__ = ["MEANS", "Means", "Parts", "Placing", "copied_bytes", "copy_placed", "told_places", "why_not"]
