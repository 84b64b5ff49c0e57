"""What bounded a run: the evidence of one cell, one file a bound, and the diagnosis that ranks what they find."""

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.gather import experiment_of, gather, read_evidence

__all__ = ["Evidence", "experiment_of", "gather", "read_evidence"]
