"""Base types of the requests and resources of the public API."""

import math
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from shared.filters.fields import Listing

MAX_PAGE = 200
"""Maximum number of items in a page."""

JsonObject = dict[str, JsonValue]
"""JSON objects of users: configs, hyperparameters, metadata."""

Reference = Annotated[str, Field(min_length=1, max_length=200)]
"""A number, name or id in a path. A malformed reference is answered like an unknown one."""

Label = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f]+$")]
MOST_LABELS = 32
Labels = Annotated[list[Label], Field(max_length=MOST_LABELS)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
ModelName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]*$")]
Text = Annotated[str, Field(max_length=10_000)]


class Request(BaseModel):
    """A request. Unknown fields, and values that JSON or the database cannot store, are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="after")
    def _storable(self) -> Self:
        for name in type(self).model_fields:
            _refuse_unstorable(name, getattr(self, name))
        return self


class Resource(BaseModel):
    """A resource or another response body."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    def to_json(self) -> bytes:
        """Serialize the resource. Equal resources have equal bytes."""
        return self.__pydantic_serializer__.to_json(self)

    def tagged(self) -> Self:
        """Return the resource that the entity tag is computed from: without values that change by themselves."""
        return self


class PageRequest(Request):
    """One page of a list. `cursor` is the `next_cursor` of the previous page."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: Annotated[str | None, Field(max_length=1000)] = None


Expression = Annotated[str, Field(max_length=4000)]
"""A filter or sort expression in the language of `shared/filters`."""


class ListRequest(PageRequest):
    """One page of a list that can be filtered and sorted by the fields of its `listing`."""

    listing: ClassVar[Listing]

    filter: Expression = Field(
        default="",
        description='Such as `name contains digits and not created_at < "2026-11-01"`: `= != < <= > >=`, `in (…)`, `contains`, `is absent`, '
        "`and`, `or`, `not`. A missing value matches no comparison.",
    )
    sort: Expression = Field(
        default="",
        description="Up to four fields, separated by commas. A leading `-` sorts in descending order. Missing values come last.",
    )


def is_none(value: object) -> bool:
    """Condition for omitting a field from a response: curves have thousands of points."""
    return value is None


def describe_field(model: type[BaseModel], name: str) -> str:
    """Return the description of a field; for `filter` and `sort`, with the names of the fields they accept."""
    description = model.model_fields[name].description or ""
    listing: Listing | None = getattr(model, "listing", None)
    if listing is not None and name in ("filter", "sort"):
        description += f" Fields: {', '.join(f'`{field}`' for field in listing.names)}."
    return description


class Empty(Request):
    """A request without fields."""


class Done(Resource):
    """An empty response."""


def _refuse_unstorable(name: str, value: object) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(f"{name} contains a NUL character")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} contains a number that is not finite")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unstorable(name, key)
            _refuse_unstorable(f"{name}.{key}", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unstorable(f"{name}[{index}]", item)
