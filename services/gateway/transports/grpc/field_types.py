"""Protobuf types of the fields of public models, used by the proto file and the mapper."""

import types
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo

Kind = Literal[
    "string", "int", "double", "bool", "bytes", "uuid", "timestamp", "enum", "message", "value", "struct"
]
Label = Literal["one", "optional", "repeated", "map"]

_SCALARS: dict[Any, tuple[Kind, str]] = {
    str: ("string", "string"),
    int: ("int", "int64"),
    float: ("double", "double"),
    bool: ("bool", "bool"),
    bytes: ("bytes", "bytes"),
    UUID: ("uuid", "string"),
    datetime: ("timestamp", "google.protobuf.Timestamp"),
}
_WITH_PRESENCE: set[Kind] = {"timestamp", "message", "value", "struct"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The protobuf type of a field: its kind, type name, label, and its model or enum."""

    kind: Kind
    proto: str
    label: Label = "one"
    model: type[BaseModel] | None = None
    enum: type[StrEnum] | None = None

    @property
    def has_presence(self) -> bool:
        """True if an absent field is distinguishable from an empty one."""
        return self.label == "optional" or (self.label == "one" and self.kind in _WITH_PRESENCE)


def shape_of(field: FieldInfo) -> Shape:
    """Return the protobuf type of a model's field. A scalar that is not required becomes `optional`.

    Raises:
        TypeError: the type has no protobuf equivalent.
    """
    shape = _shape(field.annotation)
    if shape.label == "one" and shape.kind not in _WITH_PRESENCE and not field.is_required():
        return _labelled(shape, "optional")
    return shape


def _shape(annotation: Any) -> Shape:
    if annotation is JsonValue:
        return Shape("value", "google.protobuf.Value")
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(arguments[0])
    if origin in (Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        if len(inner) != 1:
            raise TypeError(f"{annotation} is a union of several types")
        shape = _shape(inner[0])
        return shape if shape.kind in _WITH_PRESENCE else _labelled(shape, "optional")
    if origin is list:
        return _labelled(_shape(arguments[0]), "repeated")
    if origin is dict:
        if arguments[1] is JsonValue:
            return Shape("struct", "google.protobuf.Struct")
        return _labelled(_shape(arguments[1]), "map")
    return _plain(annotation)


def _plain(annotation: Any) -> Shape:
    if annotation in _SCALARS:
        kind, proto = _SCALARS[annotation]
        return Shape(kind, proto)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape("message", annotation.__name__, model=annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return Shape("enum", annotation.__name__, enum=annotation)
    raise TypeError(f"{annotation} has no protobuf type")


def _labelled(shape: Shape, label: Label) -> Shape:
    if shape.label != "one":
        raise TypeError(f"{shape} cannot be nested in a list or map")
    return Shape(shape.kind, shape.proto, label, shape.model, shape.enum)
