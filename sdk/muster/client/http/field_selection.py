"""Responses with selected fields: omitted fields raise AttributeError instead of looking absent."""

import types
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_partial(model: type[ModelT], content: bytes) -> ModelT:
    """Return a model with only the fields in the JSON; reading another field raises AttributeError.

    Raises:
        ValueError: A field does not match the model (`pydantic.ValidationError`), or the content is not JSON.
    """
    return cast(ModelT, _read(model, from_json(content)))


def _read(annotation: Any, value: Any) -> Any:
    kind = _plain(annotation)
    if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, Mapping):
        return _construct(kind, value)
    if get_origin(kind) is list and isinstance(value, list):
        (of,) = get_args(kind)
        return [_read(of, item) for item in value]
    return _adapter(annotation).validate_python(value)


def _construct(model: type[ModelT], given: Mapping[str, Any]) -> ModelT:
    known = {name: field.annotation for name, field in model.model_fields.items() if name in given}
    found = model.model_construct(
        set(known), **{name: _read(kind, given[name]) for name, kind in known.items()}
    )
    for name in model.model_fields.keys() - known.keys():  # otherwise they would have their defaults
        found.__dict__.pop(name, None)
    return found


def _plain(annotation: Any) -> Any:
    """Strip `Annotated` and `| None`."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [one for one in get_args(annotation) if one is not types.NoneType]
        return _plain(inner[0]) if len(inner) == 1 else annotation
    return annotation


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)
