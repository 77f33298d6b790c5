"""For how long metrics and logs are kept, as users see it."""

from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Name, Request, Resource

Days = Annotated[int, Field(ge=1, le=36_500)]


class RetentionRule(Resource):
    """What a tenant or a workspace of it says; null says nothing. What metrics were summed up to stays in any case."""

    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    metric_detail_days: int | None = Field(
        default=None, description="After so many days a series keeps a sixteenth of its points."
    )
    metric_retention_days: int | None = Field(default=None, description="After so many days its points go.")
    log_retention_days: int | None = Field(default=None, description="After so many days log lines go.")
    warnings: list[str] = []


class RetentionRules(Resource):
    """The tenant's own rule first, then those of its workspaces by name."""

    items: list[RetentionRule]


class SetRetentionRequest(Request):
    """A rule in place of the one before; without any days the rule is taken away.

    Points and log lines go after the fewest days that their experiment's config, its workspace and the tenant name, and points are thinned after those of the first that names any.
    """

    workspace: Annotated[Name | None, Field(description="None: the tenant as a whole.")] = None
    metric_detail_days: Days | None = None
    metric_retention_days: Days | None = None
    log_retention_days: Days | None = None
