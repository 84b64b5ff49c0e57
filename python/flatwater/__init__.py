"""flatwater: a laboratory for OLTP databases on flash."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("flatwater")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+source"

__all__ = ["__version__"]
