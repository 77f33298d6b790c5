"""How templates, policies, quotas and budgets look."""

from typing import TYPE_CHECKING

from muster.cli.base.output import size

if TYPE_CHECKING:
    from muster.client.models import MonthlyBudget, Template, WorkQuota


def whose(workspace: str | None) -> str:
    """Return in words whose a thing is."""
    return "the whole tenant" if workspace is None else f"workspace {workspace}"


def print_config(template: "Template") -> None:
    """Print what a template holds, as YAML."""
    import yaml

    print(yaml.safe_dump(template.config, sort_keys=False, allow_unicode=True), end="")


def stored(quota: "WorkQuota") -> str | None:
    """Return how much may be stored."""
    return None if quota.max_stored_bytes is None else size(quota.max_stored_bytes)


def part_spent(budget: "MonthlyBudget") -> str:
    """Return which part of a budget is spent."""
    return f"{budget.spent / budget.per_month:.0%}" if budget.per_month else "-"
