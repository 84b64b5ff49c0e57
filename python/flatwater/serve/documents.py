"""Pages of several results that other commands print: what was published beside ours, and what runs cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatwater.cost import Asked, Candidate, candidates_of, compare_costs, read_book
from flatwater.cost.alike import not_comparable
from flatwater.cost.page import as_document
from flatwater.errors import UserError
from flatwater.report.document import Block, Document, Paragraph
from flatwater.report.published import published_document
from flatwater.results import Result, open_result
from flatwater.serve.listed import Listed

#: Results that are beside published figures on one page.
PUBLISHED_MAX = 100


def newest_published(listed: Sequence[Listed]) -> list[Listed]:
    """Of each experiment of which something was published, the newest complete run, in the order of the names."""
    found: dict[str, Listed] = {}
    for one in sorted(listed, key=lambda one: (one.created_at, one.place.name)):
        if one.published and one.status == "complete":
            found[one.name] = one
    return [found[name] for name in sorted(found)]


def published(listed: Sequence[Listed], unread: int = 0) -> Document:
    """What `flatwater report --published` writes, of these runs. Those that cannot be read are told at the end.

    `unread`: results of which nobody knows yet whether they belong here.
    """
    named: list[tuple[str, Result]] = []
    left_out: list[Block] = []
    for one in listed[:PUBLISHED_MAX]:
        try:
            named.append((one.name, open_result(one.place.path)))
        except UserError as error:
            left_out.append(Paragraph(f"Left out: {one.place.name}: {error.what}"))
    if len(listed) > PUBLISHED_MAX:
        left_out.append(Paragraph(f"Left out: {len(listed) - PUBLISHED_MAX} experiments more than a page has."))
    found = published_document(named)
    which = Paragraph("Of each experiment the newest complete run; the report of each has its own figures.")
    return Document(found.title, found.headline, (*still_read(unread), which, *found.blocks, *left_out))


def still_read(unread: int) -> list[Paragraph]:
    """That the page is not whole yet."""
    told = f"{unread:,} result{' is' if unread == 1 else 's are'} still being read: reload in a moment."
    return [Paragraph(told)] if unread else []


def cost(listed: Sequence[Listed]) -> Document:
    """What `flatwater cost` writes of these runs, with the prices that come with flatwater.

    Errors: UserError where no part of a run has a price.
    """
    results = [open_result(one.place.path) for one in listed]
    names = [one.place.name if len(listed) > 1 else "" for one in listed]
    found = [row for one, result, name in zip(listed, results, names, strict=True) for row in _rows(one, result, name)]
    comparison = compare_costs(found, read_book([]), Asked(None, None, None, (), not_comparable(results, alone=False)))
    document = as_document(comparison)
    return Document(document.title, document.headline, (*_own_prices(results), *document.blocks))


def _rows(listed: Listed, result: Result, name: str) -> list[Candidate]:
    """The rows of a result. Errors: UserError, with the name that the list has in place of a path of this machine."""
    try:
        return candidates_of(result, name, None)
    except UserError as error:
        what = error.what.replace(f"{listed.place.path}/", "")
        raise UserError(f"{listed.place.name}: {what}", hint=error.hint) from None


def _own_prices(results: Sequence[Result]) -> Iterator[Block]:
    """A result may come from anywhere: no file that it names is opened for it."""
    asked = [result for result in results if (result.experiment.get("cost") or {}).get("prices") is not None]
    if asked:
        what = "Price files that the experiments name are not read here: flatwater cost in a terminal reads them."
        yield Paragraph(what, "Other prices. ")
