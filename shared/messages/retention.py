"""For how long what trials report is kept: rules of a tenant and of its workspaces, beside what an experiment's config says."""

from pydantic import BaseModel, Field

from shared.messages.base import Query, Record

MOST_DAYS = 36_500


class RetentionRule(Record):
    """Days since the report; None says nothing. Without a workspace it is the tenant's, for all of them.

    Points go after the fewest of `metric_retention_days` that experiment, workspace and tenant name. They are thinned after the
    `metric_detail_days` of the first of these that names any. Log lines go after the fewest of `log_retention_days`.
    """

    workspace: str | None = None
    metric_detail_days: int | None = Field(default=None, ge=1, le=MOST_DAYS)
    metric_retention_days: int | None = Field(default=None, ge=1, le=MOST_DAYS)
    log_retention_days: int | None = Field(default=None, ge=1, le=MOST_DAYS)


class RetentionRules(BaseModel):
    """The tenant's own first, then those of its workspaces by name."""

    rules: tuple[RetentionRule, ...]


class GetRetention(Query[RetentionRules], owner="registry", name="retention"):
    """The rules of the asking tenant that say anything."""


class SetRetention(Query[RetentionRules], owner="registry", name="set_retention"):
    """Puts a rule in the place of the one before, from the next hourly look on; one that says nothing takes it away. Answers as `GetRetention`."""

    rule: RetentionRule
