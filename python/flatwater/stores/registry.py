"""Which store an address is of. To add a store: a file beside this one, its line here, an example in `address.py`."""

from __future__ import annotations

from collections.abc import Callable

from flatwater.stores.address import Address
from flatwater.stores.store import Store


def _s3(address: Address) -> Store:
    # Only who uses it needs its library.
    from flatwater.stores.s3 import open_s3

    return open_s3(address)


#: By the scheme of the address.
STORES: dict[str, Callable[[Address], Store]] = {"s3": _s3}


def open_store(address: Address) -> Store:
    """The store of an address. Asks nothing of it yet. Errors: UserError where its library or its login is missing."""
    return STORES[address.scheme](address)
