"""Muster SDK. Use `muster.trial()` inside a trial, and `muster.load("digits@champion")` anywhere.

Attributes are imported on first use, so that a rank pays only for what it uses.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster._model_cache import load
    from muster._trial import Trial, trial

__all__ = ["Trial", "load", "trial"]

_HOME = {"trial": "muster._trial", "Trial": "muster._trial", "load": "muster._model_cache"}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'muster' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value
