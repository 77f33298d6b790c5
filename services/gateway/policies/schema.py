"""What configs are held to, and what they are built from: policies and templates, as users see them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from muster.config.priority_weight import Priority
from services.gateway.platform.schema import (
    JsonObject,
    ListRequest,
    ModelName,
    Name,
    Reference,
    Request,
    Resource,
    Text,
)
from shared.filters.fields import Listing

Slots = Annotated[int, Field(ge=1, le=1_000_000)]


class ConfigPolicy(Resource):
    """What experiments are held to when they are submitted, and when their part in the queue is changed."""

    workspace: str | None = Field(default=None, description="None: all workspaces of the tenant.")
    invariant_config: JsonObject = Field(
        default={},
        description="A part of a config that is set whatever is submitted; the tenant's wins over a workspace's.",
    )
    max_slots: int | None = Field(
        default=None, description="No experiment may have more; one that names no `max_slots` is given this."
    )
    priority_limit: int | None = Field(
        default=None, description="No priority may be more urgent (lower); one that names none is given this."
    )
    changed_at: datetime | None = None
    by: str | None = Field(default=None, description="Who set it.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just set.")


class ConfigPolicies(Resource):
    """The tenant's own policy first, then those of its workspaces by name."""

    items: list[ConfigPolicy]


class SetPolicyRequest(Request):
    """A whole policy in place of the one before; without anything the policy is taken away. What was submitted before goes on as it is."""

    workspace: Annotated[Name | None, Field(description="None: all workspaces of the tenant.")] = None
    invariant_config: JsonObject = {}
    max_slots: Slots | None = None
    priority_limit: Priority | None = None


class Template(Resource):
    """A part of a config, under a name: what is submitted with it is laid over it."""

    name: str
    workspace: str | None = Field(default=None, description="Whose it is; none: the whole tenant's.")
    description: str = ""
    config: JsonObject
    changed_at: datetime
    by: str = Field(description="Who changed it last.")


class TemplatePage(Resource):
    """Templates by name."""

    items: list[Template]
    next_cursor: str | None = None


class CreateTemplateRequest(Request):
    """A template under a name that is new in the tenant."""

    name: ModelName
    workspace: Annotated[Name | None, Field(description="None: for the whole tenant.")] = None
    description: Text = ""
    config: JsonObject


class ListTemplatesRequest(ListRequest):
    """Those that the caller sees."""

    listing = Listing.of(Template, *("name", "workspace", "description", "changed_at", "by"), usual="name")


class TemplateRequest(Request):
    """One template by its name."""

    template: Reference


class EditTemplateRequest(Request):
    """Another text or part of a config; what is left out stays. Experiments that were made from it stay as they are."""

    template: Reference
    description: Text | None = None
    config: JsonObject | None = None
