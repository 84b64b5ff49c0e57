"""The runs below some folders, as tables: what `flatwater ls` lists and `flatwater query` asks.

find.py       the result folders below a folder
tables.py     the tables, their columns and units
rows.py       the rows of one result
index.py      what was read before, in the user's cache folder
catalogue.py  all of it together
listing.py    the runs as a list, chosen and sorted
sql.py        questions in SQL
"""

from flatwater.catalogue.catalogue import Catalogue, read_catalogue
from flatwater.catalogue.tables import RUN, TABLES, Column, Table

__all__ = ["RUN", "TABLES", "Catalogue", "Column", "Table", "read_catalogue"]
