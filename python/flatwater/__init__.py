"""flatwater: a laboratory for OLTP databases on flash.

For notebooks and scripts: `import flatwater as fw`, then `fw.load(PATH)`. What stands behind a name is imported when it
is first used: the program, which imports this file too, starts fast. `__init__.pyi` has the types.
"""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

#: What `import flatwater` gives, and the module that has it. Modules are named as text: rooms below import this file.
_FROM = {
    "Chart": "flatwater.notebook",
    "Comparison": "flatwater.notebook.verbs",
    "FlatwaterError": "flatwater.errors",
    "LoadedRun": "flatwater.notebook",
    "UserError": "flatwater.errors",
    "WhatIf": "flatwater.notebook.verbs",
    "compare": "flatwater.notebook.verbs",
    "load": "flatwater.notebook",
    "run": "flatwater.notebook.verbs",
    "what_if": "flatwater.notebook.verbs",
}

__all__ = [
    "Chart",
    "Comparison",
    "FlatwaterError",
    "LoadedRun",
    "UserError",
    "WhatIf",
    "__version__",
    "compare",
    "load",
    "run",
    "what_if",
]


class _Door(_ModuleType):
    """A module whose names are not taken by the rooms of the same name (`what_if`) when something imports these."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _FROM and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Door


def __getattr__(name: str) -> object:
    if name == "__version__":
        found: object = _version()
    elif name in _FROM:
        found = getattr(_import_module(_FROM[name]), name)
    else:
        raise AttributeError(f"module 'flatwater' has no attribute {name!r}")
    globals()[name] = found
    return found


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("flatwater")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "0+source"


def __dir__() -> list[str]:
    return __all__
