"""Requests and responses for saved views of the dashboard."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Request, Resource

MOST_VIEWS = 100
ViewName = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f/]+$")]


class SavedView(Resource):
    """A named address of the dashboard, such as a list with its filter, order and columns."""

    name: str
    address: str = Field(description="Path and query within the dashboard, such as `/experiments?filter=…`.")
    saved_at: datetime


class SavedViews(Resource):
    """The caller's saved views, by name."""

    items: list[SavedView]


class SaveViewRequest(Request):
    """A view to save. It replaces the caller's view of the same name."""

    name: ViewName
    address: Annotated[str, Field(min_length=2, max_length=4000, pattern=r"^/[a-z][^\x00-\x20]*$")] = Field(
        description="Path and query within the dashboard, without a host."
    )


class ViewRequest(Request):
    """One of the caller's saved views."""

    view: ViewName
