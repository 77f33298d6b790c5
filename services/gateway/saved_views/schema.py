"""What people keep for themselves of what they look at."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Request, Resource

MOST_VIEWS = 100
ViewName = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f/]+$")]


class SavedView(Resource):
    """A place of the dashboard that its reader has named: a list with its filter, order and columns."""

    name: str
    address: str = Field(description="The place within the dashboard, such as `/experiments?filter=…`.")
    saved_at: datetime


class SavedViews(Resource):
    """The caller's own views, by name."""

    items: list[SavedView]


class SaveViewRequest(Request):
    """A view under a name, in the place of one that the caller has under it."""

    name: ViewName
    address: Annotated[str, Field(min_length=2, max_length=4000, pattern=r"^/[a-z][^\x00-\x20]*$")] = Field(
        description="Path and query of the place, without a host."
    )


class ViewRequest(Request):
    """One of the caller's own views."""

    view: ViewName
