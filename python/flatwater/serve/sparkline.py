"""The small line of a result in the list: its throughput over time, or the means of its cells."""

from __future__ import annotations

import numpy as np

from flatwater.errors import FlatwaterError
from flatwater.report.downsample import Floats, kept
from flatwater.results import open_result
from flatwater.serve.listed import Listed

#: Pixels of the picture.
WIDTH, HEIGHT, ROOM = 120, 26, 2
BUCKETS = 60
#: Readable on light and on dark paper; a picture has no part in the colours of the page.
_STYLE = "path{fill:none;stroke:#0072b2;stroke-width:1.3}@media (prefers-color-scheme:dark){path{stroke:#5ab4f0}}"


def sparkline(listed: Listed) -> str:
    """The picture, as SVG; without a line where nothing is known."""
    return _drawn(np.array(listed.means) if listed.cells > 1 else _throughput(listed))


def _throughput(listed: Listed) -> Floats:
    if listed.status == "running" or not listed.done:
        return np.empty(0)
    try:
        result = open_result(listed.place.path)
        value = result.cells[0].measured("workload", "throughput").value
    except (FlatwaterError, IndexError):
        return np.empty(0)
    return value[kept(value, BUCKETS)]


def _drawn(value: Floats) -> str:
    value = value[np.isfinite(value)]
    path = ""
    if len(value):
        # From zero: on an axis that does not begin there, any ripple looks like a dip.
        top = max(float(value.max()), 1e-300)
        x = np.linspace(ROOM, WIDTH - ROOM, len(value)) if len(value) > 1 else np.array([ROOM, WIDTH - ROOM])
        y = np.broadcast_to(HEIGHT - ROOM - np.clip(value / top, 0, 1) * (HEIGHT - 2 * ROOM), len(x))
        points = (f"{one:.1f} {other:.1f}" for one, other in zip(x, y, strict=True))
        path = f'<path d="M{" L".join(points)}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><style>{_STYLE}</style>{path}</svg>'
    )
