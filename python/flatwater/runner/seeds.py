"""Seeds that are derived from the seed of a cell."""

from __future__ import annotations

import hashlib


def derived_seed(seed: int, purpose: str) -> int:
    """The seed for a part of a cell, so that it does not repeat the data and addresses of another part."""
    return int.from_bytes(hashlib.sha256(f"flatwater:{seed}:{purpose}".encode()).digest()[:8], "big") >> 11
