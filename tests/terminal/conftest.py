from __future__ import annotations

import sys
from pathlib import Path

# the import mode of pytest does not
sys.path.insert(0, str(Path(__file__).parent))
