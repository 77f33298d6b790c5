"""What configs are built from and held to, and how much is done and spent: templates, policies, quotas, budgets."""

from collections.abc import Sequence

from pydantic import JsonValue

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited, listed
from muster.client.models import JsonObject
from muster.client.paging import Items, ordered, pages
from muster.client.transport import Reference, Transport, segment


class Templates:
    """Parts of configs under a name, over which a config is laid."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, name: str, config: JsonObject, *, workspace: str | None = None, description: str = ""
    ) -> models.Template:
        """Keep a part of a config under a new name, for a workspace or the whole tenant."""
        body: JsonObject = {"name": name, "config": config, "description": description}
        if workspace is not None:
            body["workspace"] = workspace
        return self._transport.post(models.Template, "/v1/templates", body)

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.Template]:
        """Return the templates that one sees, by name or as they are sorted; `filter` as `workspace = vision`."""
        return pages(self._transport, models.TemplatePage, "/v1/templates", ordered(filter, sort))

    def get(self, template: Reference) -> models.Template:
        """Return one template."""
        return self._transport.get(models.Template, _path(template))

    def edit(
        self, template: Reference, config: JsonObject | None = None, *, description: str | None = None
    ) -> models.Template:
        """Change a template for what is submitted from now on; what is None stays."""
        given: dict[str, JsonValue] = {"config": config, "description": description}
        body: JsonObject = {name: value for name, value in given.items() if value is not None}
        return self._transport.patch(models.Template, _path(template), body)

    def delete(self, template: Reference) -> None:
        """Take a template away; experiments that were made from it stay as they are."""
        self._transport.delete(models.Done, _path(template))


class Policies:
    """What experiments' configs are held to."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Sequence[models.ConfigPolicy]:
        """Return the tenant's policy first, then those of its workspaces that one sees."""
        return self._transport.get(models.ConfigPolicies, "/v1/policies").items

    def set(
        self,
        workspace: str | None = None,
        *,
        invariant_config: JsonObject | None = None,
        max_slots: int | None = None,
        priority_limit: int | None = None,
    ) -> models.ConfigPolicy:
        """Say what configs are held to in a workspace or the whole tenant, in place of what was said before; nothing takes it away.

        Args:
            invariant_config: A part of a config that is set whatever is submitted.
            max_slots: No experiment may have more; one that names none is given this.
            priority_limit: No priority may be lower, that is more urgent; one that names none is given this.
        """
        given: dict[str, JsonValue] = {
            "workspace": workspace,
            "invariant_config": invariant_config,
            "max_slots": max_slots,
            "priority_limit": priority_limit,
        }
        body: JsonObject = {name: value for name, value in given.items() if value is not None}
        return self._transport.put(models.ConfigPolicy, "/v1/policies", body)


class Quotas:
    """How many experiments may be open at once, how many requests a second may be sent, and what a workspace may store."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Sequence[models.WorkQuota]:
        """Return the tenant's quota first, then those of its workspaces that one sees; who keeps the site sees every tenant's."""
        return self._transport.get(models.WorkQuotas, "/v1/quotas").items

    def set(
        self,
        workspace: str | None = None,
        *,
        tenant: str | None = None,
        max_experiments: int | None = None,
        requests_per_s: float | None = None,
        max_stored_bytes: int | None = None,
    ) -> models.WorkQuota:
        """Say what a workspace, or without one a tenant (by default one's own), may do at once, in place of what was said before.

        `max_stored_bytes` is of workspaces; `set_storage_limit` says a tenant's.
        """
        given: dict[str, JsonValue] = {
            "workspace": workspace,
            "tenant": tenant,
            "max_experiments": max_experiments,
            "requests_per_s": requests_per_s,
            "max_stored_bytes": max_stored_bytes,
        }
        body: JsonObject = {name: value for name, value in given.items() if value is not None}
        path = "/v1/quotas/tenant" if workspace is None else "/v1/quotas/workspace"
        return self._transport.put(models.WorkQuota, path, body)


class Budgets:
    """What is spent in a month, and may be."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Sequence[models.MonthlyBudget]:
        """Return the tenant's budget first, then those of its workspaces that one sees; who keeps the site sees every tenant's."""
        return self._transport.get(models.MonthlyBudgets, "/v1/budgets").items

    def set(
        self,
        workspace: str | None = None,
        *,
        tenant: str | None = None,
        per_month: float | None = None,
        when_spent: models.WhenSpent = models.WhenSpent.HOLD,
    ) -> models.MonthlyBudget:
        """Say what a workspace, or without one a tenant (by default one's own), may spend in a month; without an amount it has no budget.

        `when_spent`: whether running work goes on once it is spent, or saves and gives its slots back; nothing more starts in any case.
        """
        given: dict[str, JsonValue] = {"workspace": workspace, "tenant": tenant, "per_month": per_month}
        body: JsonObject = {name: value for name, value in given.items() if value is not None}
        path = "/v1/budgets/tenant" if workspace is None else "/v1/budgets/workspace"
        return self._transport.put(models.MonthlyBudget, path, body | {"when_spent": str(when_spent)})


class AsyncTemplates(AsyncNoun[Templates]):
    """`Templates`, awaited."""

    create = awaited(Templates.create)
    list = listed(Templates.list)
    get = awaited(Templates.get)
    edit = awaited(Templates.edit)
    delete = awaited(Templates.delete)


class AsyncPolicies(AsyncNoun[Policies]):
    """`Policies`, awaited."""

    list = awaited(Policies.list)
    set = awaited(Policies.set)


class AsyncQuotas(AsyncNoun[Quotas]):
    """`Quotas`, awaited."""

    list = awaited(Quotas.list)
    set = awaited(Quotas.set)


class AsyncBudgets(AsyncNoun[Budgets]):
    """`Budgets`, awaited."""

    list = awaited(Budgets.list)
    set = awaited(Budgets.set)


def _path(template: Reference) -> str:
    return f"/v1/templates/{segment(template)}"
