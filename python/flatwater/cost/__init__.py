"""What a run costs: price lines with their day and source, the parts that it stands on, and sums of them.

line.py, book.py     a price line; the files of `prices/` and one's own, their faults with their place
parts.py             an experiment's cell -> the parts that it stands on
candidate.py         a result -> candidates: throughput with its interval, parts, what is written
life.py              years until a drive is worn out
sums.py              a candidate and the lines -> its line items
frontier.py          which candidates nothing beats at their price
comparison.py        all of it side by side, by the same rules
words.py, page.py    as a table and JSON; as a page or Markdown
"""

from flatwater.cost.book import InvalidPricesError, PriceBook, Priced, prices_dir, read_book
from flatwater.cost.candidate import Candidate, candidate_of, candidates_of, read_price_files
from flatwater.cost.comparison import Asked, Comparison, Row, compare_costs
from flatwater.cost.line import PriceLine

__all__ = [
    "Asked",
    "Candidate",
    "Comparison",
    "InvalidPricesError",
    "PriceBook",
    "PriceLine",
    "Priced",
    "Row",
    "candidate_of",
    "candidates_of",
    "compare_costs",
    "prices_dir",
    "read_book",
    "read_price_files",
]
