"""Requests and responses for the retention of metrics and logs."""

from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Name, Request, Resource

Days = Annotated[int, Field(ge=1, le=36_500)]


class RetentionRule(Resource):
    """The retention rule of a tenant or a workspace. Null fields set no rule. Summaries of metrics are always kept."""

    workspace: str | None = Field(default=None, description="Null: the rule applies to the whole tenant.")
    metric_detail_days: int | None = Field(
        default=None, description="Days after which a metric series is thinned to a sixteenth of its points."
    )
    metric_retention_days: int | None = Field(
        default=None, description="Days after which the points of a metric series are deleted."
    )
    log_retention_days: int | None = Field(
        default=None, description="Days after which log lines are deleted."
    )
    warnings: list[str] = []


class RetentionRules(Resource):
    """The tenant's rule first, then the rules of its workspaces by name."""

    items: list[RetentionRule]


class SetRetentionRequest(Request):
    """A retention rule. It replaces the previous one; a rule without any days is deleted.

    Points and log lines are deleted after the smallest number of days set by the experiment's config, its workspace and the tenant. For thinning, the first of these three that sets a number applies.
    """

    workspace: Annotated[Name | None, Field(description="Null: the whole tenant.")] = None
    metric_detail_days: Days | None = None
    metric_retention_days: Days | None = None
    log_retention_days: Days | None = None
