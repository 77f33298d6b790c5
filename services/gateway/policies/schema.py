"""Requests and responses for config policies and templates."""

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
    """Limits and overrides for experiment configs. They apply when an experiment is submitted, and when its priority or slots change."""

    workspace: str | None = Field(default=None, description="Null: the policy applies to the whole tenant.")
    invariant_config: JsonObject = Field(
        default={},
        description="Config values that override the submitted ones. The tenant's policy takes precedence over a workspace's.",
    )
    max_slots: int | None = Field(
        default=None,
        description="Maximum slots of an experiment, and the default where a config sets no `max_slots`.",
    )
    priority_limit: int | None = Field(
        default=None,
        description="Most urgent (lowest) priority allowed, and the default where a config sets no priority.",
    )
    changed_at: datetime | None = None
    by: str | None = Field(default=None, description="Name of the user or token that set the policy.")
    warnings: list[str] = Field(default=[], description="Warnings about a policy that was just set.")


class ConfigPolicies(Resource):
    """The tenant's policy first, then the policies of its workspaces by name."""

    items: list[ConfigPolicy]


class SetPolicyRequest(Request):
    """A policy that replaces the previous one. A policy without limits and overrides is deleted. Submitted experiments keep their configs."""

    workspace: Annotated[Name | None, Field(description="Null: the whole tenant.")] = None
    invariant_config: JsonObject = {}
    max_slots: Slots | None = None
    priority_limit: Priority | None = None


class Template(Resource):
    """A named partial config. Configs that are submitted with the template are merged over it."""

    name: str
    workspace: str | None = Field(
        default=None, description="Workspace that the template belongs to. Null: the whole tenant."
    )
    description: str = ""
    config: JsonObject
    changed_at: datetime
    by: str = Field(description="Name of the user or token that changed it last.")


class TemplatePage(Resource):
    """Templates by name."""

    items: list[Template]
    next_cursor: str | None = None


class CreateTemplateRequest(Request):
    """A new template. Its name must be unique in the tenant."""

    name: ModelName
    workspace: Annotated[Name | None, Field(description="Null: the whole tenant.")] = None
    description: Text = ""
    config: JsonObject


class ListTemplatesRequest(ListRequest):
    """The templates that the caller may read."""

    listing = Listing.of(Template, *("name", "workspace", "description", "changed_at", "by"), usual="name")


class TemplateRequest(Request):
    """One template by its name."""

    template: Reference


class EditTemplateRequest(Request):
    """Changes to a template. Omitted fields keep their values. Experiments created from the template do not change."""

    template: Reference
    description: Text | None = None
    config: JsonObject | None = None
