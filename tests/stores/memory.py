"""A store in memory: names that a folder of a server cannot hold, and faults at will. It keeps to conditions or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path

from flatwater.stores.store import Found, Mark, Missing, Taken


@dataclass
class Memory:
    """Objects by their names (`Store`)."""

    objects: dict[str, tuple[bytes, str, Mark | None]] = field(default_factory=dict)
    #: Raised by the next so many calls of a method.
    faults: list[tuple[str, Exception]] = field(default_factory=list)
    #: The methods that were called.
    calls: list[str] = field(default_factory=list)
    _etags: Iterator[int] = field(default_factory=lambda: count(1))

    def _called(self, name: str) -> None:
        self.calls.append(name)
        for fault in self.faults:
            if fault[0] == name:
                self.faults.remove(fault)
                raise fault[1]

    def head(self, key: str) -> Found | None:
        self._called("head")
        found = self.objects.get(key)
        return None if found is None else Found(len(found[0]), found[1], found[2])

    def read(self, key: str, bytes_max: int) -> tuple[bytes, str] | None:
        self._called("read")
        found = self.objects.get(key)
        return None if found is None else found[:2]

    def pieces(self, key: str) -> Iterator[bytes]:
        self._called("pieces")
        if key not in self.objects:
            raise Missing(key)
        body = self.objects[key][0]
        yield from (body[at : at + 1000] for at in range(0, len(body), 1000))

    def names(self, prefix: str, most: int) -> list[tuple[str, int]]:
        self._called("names")
        return [(key, len(one[0])) for key, one in sorted(self.objects.items()) if key.startswith(prefix)][:most]

    def etags(self, prefix: str, most: int) -> dict[str, str]:
        self._called("etags")
        return {key: one[1] for key, one in sorted(self.objects.items())[:most] if key.startswith(prefix)}

    def put(self, key: str, body: Path | bytes, mark: Mark, etag: str | None) -> str:
        self._called("put")
        there = self.objects.get(key)
        if (there[1] if there is not None else None) != etag:
            raise Taken(key)
        content = body if isinstance(body, bytes) else body.read_bytes()
        assert sha256(content).hexdigest() == mark.sha256
        self.objects[key] = content, f"e{next(self._etags)}", mark
        return self.objects[key][1]

    def delete(self, key: str) -> None:
        self._called("delete")
        self.objects.pop(key, None)

    def plant(self, key: str, body: bytes) -> None:
        """An object of somebody else's."""
        self.objects[key] = body, f"e{next(self._etags)}", None
