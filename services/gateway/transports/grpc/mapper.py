"""Converts public models to protobuf messages and back, with converters that are compiled once per model.

`google.protobuf.Value` stores JSON numbers as doubles; whole numbers are converted back to integers.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar, cast

from google.protobuf.message import DecodeError, Message
from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.unknown_fields import UnknownFieldSet
from pydantic import BaseModel, JsonValue

from muster.errors import Rejected
from services.gateway.platform.json_documents import MAX_DEPTH
from services.gateway.transports.grpc.field_types import Shape, shape_of
from services.gateway.transports.grpc.proto import UPLOAD_FIELD, enum_value

M = TypeVar("M", bound=BaseModel)
_EXACT = 2**53

Writer = Callable[[Message, Any], None]
Reader = Callable[[Any, str], Any]


class Mapper:
    """Converts between models and the messages of a generated module, matched by name."""

    def __init__(self, stubs: Any) -> None:
        self._stubs = stubs
        self._writers: dict[type[BaseModel], list[tuple[str, Writer]]] = {}
        self._readers: dict[type[BaseModel], list[tuple[str, Shape, Reader]]] = {}

    def message_type(self, model: type[BaseModel]) -> type[Message]:
        """Return the generated message class of a model."""
        return cast(type[Message], getattr(self._stubs, model.__name__))

    def to_message(self, model: BaseModel) -> Message:
        """Convert a model to a message. Fields that are None stay absent."""
        message = self.message_type(type(model))()
        self._write(message, model)
        return message

    def to_values(self, model: type[BaseModel], message: Message, place: str = "") -> dict[str, Any]:
        """Convert a message to field values for pydantic.

        Raises:
            Rejected: the message contains a field or enum value that this version does not know.
        """
        if len(UnknownFieldSet(message)):
            number = next(iter(UnknownFieldSet(message))).field_number
            raise Rejected(
                "unknown_field", f"{model.__name__} has no field with number {number}", place or "request"
            )
        values: dict[str, Any] = {}
        for name, shape, read in self._readers_of(model):
            if shape.has_presence and not message.HasField(name):
                continue
            raw = getattr(message, name)
            if shape.label in ("repeated", "map") and not raw:
                continue
            values[name] = read(raw, f"{place}.{name}" if place else name)
        return values

    def _write(self, message: Message, model: BaseModel) -> None:
        for name, write in self._writers_of(type(model)):
            value = getattr(model, name)
            if value is not None:
                write(message, value)

    def _writers_of(self, model: type[BaseModel]) -> list[tuple[str, Writer]]:
        if model not in self._writers:
            shapes = [(name, shape_of(info)) for name, info in model.model_fields.items()]
            self._writers[model] = [(name, self._writer(name, shape)) for name, shape in shapes]
        return self._writers[model]

    def _writer(self, name: str, shape: Shape) -> Writer:
        fill = self._filler(shape)
        if fill is None:
            scalar = self._scalar_out(shape)
            if shape.label == "repeated":
                return lambda message, value: getattr(message, name).extend([scalar(item) for item in value])
            if shape.label == "map":
                return lambda message, value: getattr(message, name).update(
                    {key: scalar(item) for key, item in value.items()}
                )
            return lambda message, value: setattr(message, name, scalar(value))
        return self._nested_writer(name, shape, fill)

    def _nested_writer(self, name: str, shape: Shape, fill: Callable[[Any, Any], None]) -> Writer:
        def write_one(message: Message, value: Any) -> None:
            target = getattr(message, name)
            target.SetInParent()
            fill(target, value)

        def write_list(message: Message, value: Any) -> None:
            target = getattr(message, name)
            for item in value:
                fill(target.add(), item)

        def write_map(message: Message, value: Any) -> None:
            target = getattr(message, name)
            for key, item in value.items():
                target[key].SetInParent()
                fill(target[key], item)

        return {"repeated": write_list, "map": write_map}.get(shape.label, write_one)

    def _filler(self, shape: Shape) -> Callable[[Any, Any], None] | None:
        match shape.kind:
            case "message":
                return self._write
            case "timestamp":
                return lambda target, value: cast(Timestamp, target).FromDatetime(value)
            case "value":
                return fill_value
            case "struct":
                return fill_struct
            case _:
                return None

    def _scalar_out(self, shape: Shape) -> Callable[[Any], Any]:
        if shape.kind == "uuid":
            return str
        if shape.enum is not None:
            numbers = self._enum_numbers(shape.enum)
            return lambda value: numbers[str(value)]
        return lambda value: value

    def _enum_numbers(self, enum: type[StrEnum]) -> dict[str, int]:
        wrapper = getattr(self._stubs, enum.__name__)
        return {str(value): wrapper.Value(enum_value(enum.__name__, str(value))) for value in enum}

    def _readers_of(self, model: type[BaseModel]) -> list[tuple[str, Shape, Reader]]:
        if model not in self._readers:
            rows = []
            for name, info in model.model_fields.items():
                shape = shape_of(info)
                rows.append((name, shape, self._reader(shape)))
            self._readers[model] = rows
        return self._readers[model]

    def _reader(self, shape: Shape) -> Reader:
        one = self._read_one(shape)
        if shape.label == "repeated":
            return lambda raw, place: [one(item, f"{place}[{index}]") for index, item in enumerate(raw)]
        if shape.label == "map":
            return lambda raw, place: {key: one(item, f"{place}.{key}") for key, item in raw.items()}
        return one

    def _read_one(self, shape: Shape) -> Reader:
        if shape.model is not None:
            model = shape.model
            return lambda raw, place: self.to_values(model, raw, place)
        if shape.enum is not None:
            names = {number: value for value, number in self._enum_numbers(shape.enum).items()}
            return lambda raw, place: _named(names, raw, place)
        match shape.kind:
            case "timestamp":
                return _read_time
            case "value":
                return read_value
            case "struct":
                return read_struct
            case _:
                return lambda raw, place: raw


class Unreadable(Message):
    """Placeholder for bytes that could not be decoded. The error is raised after authentication."""


def reader_of(kind: type[Message]) -> Callable[[bytes], Message]:
    """Return a decoder for messages of a kind. gRPC itself would report undecodable bytes as a server error."""

    def read(raw: bytes) -> Message:
        try:
            return kind.FromString(raw)
        except DecodeError:
            return Unreadable()

    return read


def readable(message: Message) -> Message:
    """Return the message. Raises Rejected if it could not be decoded."""
    if isinstance(message, Unreadable):
        raise Rejected("invalid_request", "the bytes are not a valid message of this type", "request")
    return message


def upload_data(message: Message) -> bytes:
    """Return the bytes in one message of an upload."""
    return cast(bytes, getattr(message, UPLOAD_FIELD))


def fill_value(target: Value, value: JsonValue) -> None:
    """Set `target` to a JSON value."""
    match value:
        case None:
            target.null_value = NULL_VALUE
        case bool():
            target.bool_value = value
        case int() | float():
            target.number_value = value
        case str():
            target.string_value = value
        case list():
            target.list_value.SetInParent()
            _fill_list(target.list_value, value)
        case dict():
            target.struct_value.SetInParent()
            fill_struct(target.struct_value, value)


def fill_struct(target: Struct, value: dict[str, JsonValue]) -> None:
    """Set `target` to a JSON object."""
    for key, item in value.items():
        fill_value(target.fields[key], item)


def read_value(value: Value, place: str, depth: int = 1) -> JsonValue:
    """Convert to JSON; an empty Value is null."""
    if depth > MAX_DEPTH:
        raise Rejected("too_deep", f"the value is nested deeper than {MAX_DEPTH} levels", place)
    match value.WhichOneof("kind"):
        case "bool_value":
            return value.bool_value
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() and abs(number) < _EXACT else number
        case "string_value":
            return value.string_value
        case "list_value":
            return [read_value(item, place, depth + 1) for item in value.list_value.values]
        case "struct_value":
            return read_struct(value.struct_value, place, depth + 1)
        case _:
            return None


def read_struct(value: Struct, place: str, depth: int = 1) -> dict[str, JsonValue]:
    """Convert to a JSON object."""
    return {key: read_value(item, f"{place}.{key}", depth + 1) for key, item in value.fields.items()}


def _fill_list(target: ListValue, value: list[JsonValue]) -> None:
    for item in value:
        fill_value(target.values.add(), item)


def _named(names: dict[int, str], number: int, place: str) -> str:
    if number not in names:
        raise Rejected("invalid_request", f"{number} is not a value of this enumeration", place)
    return names[number]


def _read_time(value: Timestamp, place: str) -> datetime:
    try:
        return value.ToDatetime(UTC)
    except (ValueError, OverflowError):
        raise Rejected("invalid_request", "the timestamp is out of range", place) from None
