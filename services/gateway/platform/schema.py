"""Types that every request and resource of the public API is built from."""

import math
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from shared.filters.fields import Listing

MAX_PAGE = 200
"""The most items one page holds."""

JsonObject = dict[str, JsonValue]
"""What users own: configs, hyperparameters, metadata."""

Reference = Annotated[str, Field(min_length=1, max_length=200)]
"""A number, name or id in a path; a malformed one is as unknown as a missing one."""

Label = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f]+$")]
MOST_LABELS = 32
Labels = Annotated[list[Label], Field(max_length=MOST_LABELS)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
ModelName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]*$")]
Text = Annotated[str, Field(max_length=10_000)]


class Request(BaseModel):
    """What a caller sends: unknown fields are refused, and values that neither JSON nor a database can hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="after")
    def _storable(self) -> Self:
        for name in type(self).model_fields:
            _refuse_unstorable(name, getattr(self, name))
        return self


class Resource(BaseModel):
    """What a caller is shown."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    def to_json(self) -> bytes:
        """As it is shown; equal things have equal bytes."""
        return self.__pydantic_serializer__.to_json(self)

    def tagged(self) -> Self:
        """The resource as its entity tag is made of: without what is only true at the moment, and so not what a change is made for."""
        return self


class PageRequest(Request):
    """One page of a list; the cursor is the `next_cursor` of the page before."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: Annotated[str | None, Field(max_length=1000)] = None


Expression = Annotated[str, Field(max_length=4000)]
"""A filter or an order, in the language of `shared/filters`."""


class ListRequest(PageRequest):
    """One page of a list that can be filtered and sorted by the fields of its `listing`."""

    listing: ClassVar[Listing]

    filter: Expression = Field(
        default="",
        description='Such as `name contains digits and not created_at < "2026-11-01"`: `= != < <= > >=`, `in (…)`, `contains`, `is absent`, '
        "`and`, `or`, `not`. What an item has not meets no comparison.",
    )
    sort: Expression = Field(
        default="",
        description="Up to four fields separated by commas, the greatest first behind `-`. What an item has not comes last.",
    )


def is_none(value: object) -> bool:
    """What is left out of an answer: a curve has thousands of points."""
    return value is None


def describe_field(model: type[BaseModel], name: str) -> str:
    """What documents say of a field; of a filter also what it can speak of."""
    told = model.model_fields[name].description or ""
    listing: Listing | None = getattr(model, "listing", None)
    if listing is not None and name in ("filter", "sort"):
        told += f" Fields: {', '.join(f'`{field}`' for field in listing.names)}."
    return told


class Empty(Request):
    """A request that says nothing more than its name."""


class Done(Resource):
    """The answer of an operation that has nothing to show."""


def _refuse_unstorable(name: str, value: object) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(f"{name} holds a NUL character")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} holds a number that is not finite")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unstorable(name, key)
            _refuse_unstorable(f"{name}.{key}", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unstorable(f"{name}[{index}]", item)
