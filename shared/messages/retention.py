"""Retention rules of tenants and workspaces for what trials report, in addition to an experiment's config."""

from pydantic import BaseModel, Field

from shared.messages.base import Query, Record

MOST_DAYS = 36_500


class RetentionRule(Record):
    """Retention in days since the report; None: no rule. Without a workspace the rule applies to the whole tenant.

    Points are deleted after the smallest `metric_retention_days` of experiment, workspace and tenant. They are thinned after the
    `metric_detail_days` of the first of these that sets it. Log lines are deleted after the smallest `log_retention_days`.
    """

    workspace: str | None = None
    metric_detail_days: int | None = Field(default=None, ge=1, le=MOST_DAYS)
    metric_retention_days: int | None = Field(default=None, ge=1, le=MOST_DAYS)
    log_retention_days: int | None = Field(default=None, ge=1, le=MOST_DAYS)


class RetentionRules(BaseModel):
    """The tenant's own rule first, then those of its workspaces by name."""

    rules: tuple[RetentionRule, ...]


class GetRetention(Query[RetentionRules], owner="registry", name="retention"):
    """Return the rules of the asking tenant."""


class SetRetention(Query[RetentionRules], owner="registry", name="set_retention"):
    """Replace a rule; it takes effect with the next hourly pass. A rule with no values deletes it. Answers like `GetRetention`."""

    rule: RetentionRule
