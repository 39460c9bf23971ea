"""uqlib: the thin package behind the course on uncertainty in neural networks.

Every module is a handful of plain functions and frozen data. What a notebook is *about* is written out in the
notebook; what would be the same in any notebook is here. Importing the package changes no global state and loads
nothing: each module is loaded when it is first asked for, so the command line answers at once.
"""

import importlib

__version__ = "0.1.0"
_MODULES = (
    "datasets",
    "figures",
    "flows",
    "laplace",
    "losses",
    "metrics",
    "models",
    "plotting",
    "predictive",
    "runtime",
    "training",
)
__all__ = ["Predictive", "__version__", *_MODULES]


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"uqlib.{name}")
    if name == "Predictive":
        return importlib.import_module("uqlib.predictive").Predictive
    raise AttributeError(f"module 'uqlib' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
