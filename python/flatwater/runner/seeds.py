"""Seeds that follow from a cell's own."""

from __future__ import annotations

import hashlib


def derived_seed(seed: int, purpose: str) -> int:
    """A seed of its own for a part of a cell that must not repeat another's data and addresses."""
    return int.from_bytes(hashlib.sha256(f"flatwater:{seed}:{purpose}".encode()).digest()[:8], "big") >> 11
