"""Helpers for type annotations of public models."""

import types
from typing import Annotated, Any, Union, get_args, get_origin


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Return an annotation without `Annotated` and `| None`, and whether it allowed None."""
    if get_origin(annotation) is Annotated:
        return without_none(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [one for one in get_args(annotation) if one is not types.NoneType]
        if len(inner) == 1:
            return without_none(inner[0])[0], True
    return annotation, False
