"""Formatting of templates, policies, quotas and budgets."""

from typing import TYPE_CHECKING

from muster.cli.base.output import size

if TYPE_CHECKING:
    from muster.client.models import MonthlyBudget, Template, WorkQuota


def whose(workspace: str | None) -> str:
    """Return the workspace in words, or the tenant."""
    return "the whole tenant" if workspace is None else f"workspace {workspace}"


def print_config(template: "Template") -> None:
    """Print the config of a template as YAML."""
    import yaml

    print(yaml.safe_dump(template.config, sort_keys=False, allow_unicode=True), end="")


def storage_quota(quota: "WorkQuota") -> str | None:
    """Return the storage quota with its unit, or None if there is none."""
    return None if quota.max_stored_bytes is None else size(quota.max_stored_bytes)


def part_spent(budget: "MonthlyBudget") -> str:
    """Return the spent share of a budget as a percentage."""
    return f"{budget.spent / budget.per_month:.0%}" if budget.per_month else "-"
