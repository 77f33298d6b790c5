"""Derives the Python parameters of a method from the fields of the operation's request."""

import re
import types
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.operation import Operation

POSITIONAL = {
    "ForkExperiment": "overrides",
    "WatchEvents": "experiment",
    "ActOnExperiments": "experiments",
    "EditCheckpoint": "metadata",
    "SetModelStage": "reason",
    "ApproveModelStage": "reason",
    "RejectModelStage": "reason",
    "RecordModelUse": "metadata",
    "ListWorkers": "pool",
    "DrainWorker": "reclaim",
    "DrainWorkers": "pool reclaim",
    "UndrainWorkers": "pool",
    "ListLimits": "pool",
    "SetStorageLimit": "maximum_bytes",
    "SetRetention": "workspace",
    "ListQueue": "pool",
    "IssueJoinToken": "pool worker",
    "ListMachineCosts": "since until",
    "ListCostShares": "by since until",
    "WatchMachineEvents": "pool",
    "EditTemplate": "config",
    "SetPolicy": "workspace",
    "ListUsers": "group",
    "ListWebhooks": "workspace",
    "ListWebhookDeliveries": "state",
}
"""Optional parameters that may be passed by position; all other optional parameters are keyword-only."""

RENAMED = {
    ("GetLineage", "id"): "reference",
    ("ChangePassword", "old_password"): "old",
    ("ChangePassword", "new_password"): "new",
    ("DeleteView", "view"): "name",
}
"""Parameters whose name differs from the field."""

DEFAULTS = {("GetModelVersion", "version"): '"latest"', ("RevokeSession", "session"): '"current"'}
"""Defaults of path parameters."""

REFERENCE_CHARS = 200
"""Maximum length of fields that reference an entity by number, name or id."""
NAMED = frozenset(field for row in OPERATIONS for field in row.path_fields)
ALSO_REFERENCES = frozenset({"base", "other", "id", "pool"})

DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
PAGING = frozenset({"limit", "cursor"})
LAST_PARAMETERS = ("filter", "sort")
LEFT_OUT = frozenset({("FollowExperimentMetrics", "without_cursors")})
"""Fields that the client omits: it needs cursors to resume a stream."""
_PLAIN = {bool: "bool", int: "int", float: "float", str: "str", datetime: "datetime", UUID: "Reference"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method: `field` is its name in the request, `default` the source text of its default, None if required.

    `is_change`: omitted values stay unchanged.
    """

    field: str
    name: str
    annotation: str
    default: str | None
    description: str
    is_named: bool
    is_change: bool

    @property
    def declaration(self) -> str:
        """The parameter in the signature."""
        return f"{self.name}: {self.annotation}" + ("" if self.default is None else f" = {self.default}")

    @property
    def argument(self) -> str:
        """The expression passed to the call. References become strings; defaults of changes become None, which is not sent."""
        sent = self.name
        if "Reference" in self.annotation:
            sent = f"{'texts' if 'Sequence' in self.annotation else 'text'}({self.name})"
        return f"{sent} or None" if self.is_change and self.default in ("False", "()") else sent


def parameters_of(row: Operation[Any, Any]) -> list[Parameter]:
    """Return the path parameters, the required ones and the optional ones, in this order; `filter` and `sort` come last."""
    fields = [
        name
        for name in row.request.model_fields
        if not (_is_paged(row) and name in PAGING) and (row.name, name) not in LEFT_OUT
    ]
    found = {name: _parameter(row, name, row.request.model_fields[name]) for name in fields}
    by_position = POSITIONAL.get(row.name, "").split()
    required = [name for name, one in found.items() if one.default is None and name not in row.path_fields]
    required.sort(key=lambda name: name != "name")
    optional = [name for name in fields if name not in (*row.path_fields, *required, *by_position)]
    optional.sort(key=lambda name: LAST_PARAMETERS.index(name) + 1 if name in LAST_PARAMETERS else 0)
    return [found[name] for name in (*row.path_fields, *required, *by_position, *optional)]


def _is_paged(row: Operation[Any, Any]) -> bool:
    return "cursor" in row.request.model_fields


def _parameter(row: Operation[Any, Any], field: str, info: FieldInfo) -> Parameter:
    in_path = field in row.path_fields
    kind, metadata = _stripped(info.annotation)
    annotation = "Reference" if in_path else _annotation(field, kind, [*info.metadata, *metadata])
    default = DEFAULTS.get((row.name, field)) if in_path else _default(info)
    if default == "None":
        annotation += " | None"
    is_named = not in_path and default is not None and field not in POSITIONAL.get(row.name, "").split()
    name = RENAMED.get((row.name, field), _plural(field) if _is_repeated(row, kind) else field)
    return Parameter(
        field, name, annotation, default, _description(row, field, info, kind), is_named, row.verb == "PATCH"
    )


def _stripped(annotation: Any) -> tuple[Any, list[Any]]:
    """Return an annotation without `| None` and `Annotated`, and the latter's metadata."""
    if get_origin(annotation) is Annotated:
        inner, *annotations = get_args(annotation)
        kind, more = _stripped(inner)
        description = [
            one
            for field in annotations
            for one in (field.metadata if isinstance(field, FieldInfo) else [field])
        ]
        return kind, [*description, *more]
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [one for one in get_args(annotation) if one is not types.NoneType]
        return _stripped(rest[0]) if len(rest) == 1 else (annotation, [])
    return annotation, []


def _annotation(field: str, annotation: Any, metadata: list[Any]) -> str:
    kind, more = _stripped(annotation)
    if get_origin(kind) is list:
        return f"Sequence[{_annotation(field, get_args(kind)[0], [])}]"
    if get_origin(kind) is dict:
        _, value = get_args(kind)
        return "JsonObject" if value is JsonValue else f"Mapping[str, {_annotation('', value, [])}]"
    if any(DAY in str(getattr(one, "pattern", "")) for one in [*metadata, *more]):
        return "date"
    if kind is str and _names_something(field, [*metadata, *more]):
        return "Reference"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "str"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "JsonObject"
    return _PLAIN[kind]


def _names_something(field: str, metadata: list[Any]) -> bool:
    if field in ALSO_REFERENCES:
        return True
    lengths = [getattr(one, "max_length", None) for one in metadata]
    return bool({field, field.removesuffix("s")} & NAMED) and REFERENCE_CHARS in lengths


def _default(info: FieldInfo) -> str | None:
    if info.is_required():
        return None
    default = info.get_default(call_default_factory=True)
    if default is PydanticUndefined or default is None or isinstance(default, Mapping):
        return "None"
    if isinstance(default, list):
        return "()"
    if isinstance(default, Enum):
        return f"models.{type(default).__name__}.{default.name}"
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _is_repeated(row: Operation[Any, Any], kind: Any) -> bool:
    return get_origin(kind) is list and not row.has_body


def _plural(field: str) -> str:
    return field if field == "by" else f"{field}s"


def _description(row: Operation[Any, Any], field: str, info: FieldInfo, kind: Any) -> str:
    listing = getattr(row.request, "listing", None)
    if listing is not None and field == "filter":
        return f"An expression over {', '.join(f'`{name}`' for name in listing.names)}."
    if listing is not None and field == "sort":
        return "Up to four of these fields, separated by commas, with `-` for descending."
    description = (info.description or "").replace("Null:", "None:")
    each = get_args(kind)[0] if get_origin(kind) is list else kind
    if isinstance(each, type) and issubclass(each, Enum):
        description = f"{description} {'Any' if each is not kind else 'One'} of {_value_names(each)}".strip()
    return re.sub(r"\s+", " ", description)


def _value_names(kind: type[Enum]) -> str:
    *some, last = [str(member.value) for member in kind]
    return f"{', '.join(some)} or {last}." if some else f"{last}."
