"""Calibrating a modelled device: free parameters from a table of measurements.

table.py        the measurements: from a CSV file, from result folders, from an experiment with [[published]]
evaluate.py     the model's figures under the same conditions: on a small copy of the device, with fixed random numbers
solve.py        least squares on the logarithms of model / measured
identify.py     the parameters that the measurements cannot tell apart
device_file.py  the fitted device as a TOML file
"""

from flatwater.fit.device_file import fitted_names, to_device_toml
from flatwater.fit.evaluate import Evaluator, free_value, with_free
from flatwater.fit.identify import Confusion, confusions
from flatwater.fit.solve import Fit, Parameter, fit
from flatwater.fit.table import METRICS, Condition, Measurement, read_measurements

__all__ = [
    "METRICS",
    "Condition",
    "Confusion",
    "Evaluator",
    "Fit",
    "Measurement",
    "Parameter",
    "confusions",
    "fit",
    "fitted_names",
    "free_value",
    "read_measurements",
    "to_device_toml",
    "with_free",
]
