"""What a file says, before it is checked."""

from __future__ import annotations

from typing import Any

#: Tables of a file, or a part of them: as TOML has them, which may be wrong in any way.
Tables = dict[str, Any]
