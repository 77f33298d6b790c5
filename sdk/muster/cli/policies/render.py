"""Formatting of templates, policies, quotas, budgets and retention rules."""

from typing import TYPE_CHECKING

from muster.cli.base.output import size

if TYPE_CHECKING:
    from muster.client.models import ConfigPolicy, MonthlyBudget, RetentionRule, Template, WorkQuota


def whose(workspace: str | None) -> str:
    """Format a workspace, or the whole tenant for None."""
    return "the whole tenant" if workspace is None else f"workspace {workspace}"


def print_config(template: "Template") -> None:
    """Print the config of a template as YAML."""
    import yaml

    print(yaml.safe_dump(template.config, sort_keys=False, allow_unicode=True), end="")


def storage_quota(quota: "WorkQuota") -> str | None:
    """Format the storage quota; None if there is none."""
    return None if quota.max_stored_bytes is None else size(quota.max_stored_bytes)


def part_spent(budget: "MonthlyBudget") -> str:
    """Return the spent share of a budget as a percentage."""
    return f"{budget.spent / budget.per_month:.0%}" if budget.per_month else "-"


def policy_cleared(policy: "ConfigPolicy") -> str:
    """Return the message after a policy was removed."""
    return f"{whose(policy.workspace)} has no policy"


def rule_scope(rule: "RetentionRule") -> str:
    """Return the workspace of a retention rule, or the tenant."""
    return "the whole tenant" if rule.workspace is None else rule.workspace


def days(count: int | None) -> str:
    """Format a number of days."""
    return "-" if count is None else f"{count} d"


def rule_message(rule: "RetentionRule") -> str:
    """Return the message about a retention rule."""
    detail, points, lines = map(
        days, (rule.metric_detail_days, rule.metric_retention_days, rule.log_retention_days)
    )
    return f"{rule_scope(rule)}: full detail {detail}, metrics {points}, logs {lines}"
