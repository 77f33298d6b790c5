"""Who may see all tenants at once: the modules that use the database's system role, each with its reason.

The border is a method (`Database.system`, `Database.system_autocommit`, `Units.system`), which import-linter cannot see.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("services", "shared", "worker", "simulator")

WAYS = {"system", "system_autocommit"}

ALLOWED = {
    "shared/bus/units.py": "gives it, and probes whether Postgres answers",
    "shared/bus/outbox.py": "the relay publishes what any tenant's transaction left",
    "shared/database/leases.py": "a lease is the site's",
    "shared/database/partitions.py": "calls the functions that create and drop partitions, and reads no rows",
    "shared/bus/data_deletion.py": "carries out what is asked for of any tenant, some rows at a time, and a tenant's end",
    "services/scheduler/admin/budgets.py": "what was spent of budgets rules the cycle, which plans for all tenants",
    "services/scheduler/cycle.py": "a cycle plans for all tenants at once",
    "services/scheduler/reconcile.py": "reconciles over all tenants",
    "services/scheduler/service.py": "seeds the pool at the start and loads the world at the start of a term",
    "services/scheduler/queries/__init__.py": "a worker's report is asked for by run, before its tenant is known",
    "services/scheduler/workers/joining.py": "join tokens are the site's",
    "services/provisioner/reconcile/loop.py": "instances are the site's",
    "services/provisioner/reconcile/driver_calls.py": "instances are the site's",
    "services/provisioner/reconcile/outcomes.py": "instances are the site's",
    "services/provisioner/reconcile/orphans.py": "instances are the site's",
    "services/provisioner/queries/machine_pools.py": "pools of machines, their prices and costs are the site's",
    "services/provisioner/queries/costs.py": "prices and costs are the site's",
    "services/provisioner/queries/identities.py": "rented machines are the site's, and so is who they are",
    "services/provisioner/service.py": "seeds the provider at the start",
    "services/searcher/reconcile.py": "tells progress and ends overdue trials of all tenants",
    "services/registry/series/packing.py": "joins chunks of points of all tenants, and reads none",
    "services/registry/logs/packer.py": "packs and drops the lines of all tenants",
    "services/registry/media/retention.py": "lets media of all tenants go, and reads none",
    "services/registry/checkpoints/scrub.py": "takes the next object to be read, whosever it is; each is then handled as its tenant",
    "services/registry/deletion/registry_deletion.py": "notes where in the store something may still arrive, which is no tenant's",
    "services/registry/checkpoints/settling.py": "finds ended runs over all tenants; each is then judged as its tenant",
    "services/registry/checkpoints/cleanup.py": "finds over all tenants what is due; each row is then handled as its tenant",
    "services/gateway/deletions/runner.py": "carries deletions of all tenants on, and a tenant's end",
    "services/gateway/webhooks/sender.py": "sends to webhooks what is due, of all tenants",
    "services/gateway/service.py": "makes the first tenant and its token, and sweeps what is past its time",
    "services/gateway/platform/auth/authentication.py": "the tenant of a token or a session is what is looked for",
    "services/gateway/platform/audit/auditor.py": "seals what all tenants' calls have recorded, and records refusals",
    "services/gateway/platform/audit/anchors.py": "anchors the chains of all tenants, and reads only their last hashes",
    "services/gateway/platform/call_context.py": "opens it for what who keeps the site changes, with its audit record",
    "services/gateway/cluster/operations/read.py": "instances are the site's",
    "services/gateway/machine_pools/operations/pools.py": "instances are the site's",
    "services/gateway/reservations/operations.py": "slots are booked by who keeps the site, for any tenant",
    "services/gateway/pools/operations/limits.py": "limits are set by who keeps the site, for any tenant",
    "services/gateway/quotas/operations.py": "a tenant's quota is set by who keeps the site",
    "services/gateway/budgets/operations.py": "who keeps the site sees what tenants may spend, by their names",
    "services/gateway/sessions/operations/signing_in.py": "the tenant of who signs in is what is looked for",
    "services/gateway/sessions/operations/links.py": "the tenant of who signs in by a link is what is looked for",
    "services/gateway/tenants/operations.py": "makes, names and recovers tenants, for who keeps the site",
    "services/gateway/tenants/find.py": "who keeps the site names other tenants",
    "services/gateway/user_secrets/rotation.py": "encrypts the keys of all tenants' secrets with a new master key, and reads no value",
    "services/gateway/usage/find.py": "a site operator's totals name the tenants, and nothing else of them",
}


def test_the_system_role_is_used_where_it_is_allowed_and_nowhere_else() -> None:
    found = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if uses_system_role(path.read_text())
    }
    assert found - set(ALLOWED) == set(), (
        "these see all tenants' rows; use the tenant's role, or give a reason"
    )
    assert set(ALLOWED) - found == set(), "these no longer use it; take them off the list"


def test_every_way_to_take_it_is_found() -> None:
    assert uses_system_role("async def f(units):\n    async with units.system() as unit: ...")
    assert uses_system_role("opener = partial(self.database.system)")
    assert uses_system_role("opener = getattr(database, 'system')")
    assert uses_system_role("async with database.system_autocommit() as connection: ...")
    assert not uses_system_role("async with units.tenant(tenant) as unit: ...")


def uses_system_role(source: str) -> bool:
    """Whether one of the `WAYS` is taken of anything, called or not."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in WAYS)
        or (isinstance(node, ast.Call) and _is_getattr_of_it(node))
        for node in ast.walk(ast.parse(source))
    )


def _is_getattr_of_it(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1
    return named and isinstance(call.args[1], ast.Constant) and call.args[1].value in WAYS


PAST_THE_CALL = {
    "services/gateway/platform/call_context.py": "opens them, with what the caller sees",
    "services/gateway/platform/commands/sending.py": "waits for what a command made of a thing that was found before",
    "services/gateway/platform/limits/tenant_rates.py": "a tenant's rates count for every call, before it is one",
    "services/gateway/deletions/runner.py": "carries a tenant's deletion on when no call is there any more",
    "services/gateway/audit_log/operations.py": "an audit log is a tenant's as a whole, or the site's",
    "services/gateway/long_operations/operations.py": "what is refused of the site's comes back to the site, to be looked at by who ordered it",
    "services/gateway/user_secrets/find.py": "a run may use every secret of its workspace, and its author learns only which are missing",
    "services/gateway/user_secrets/requests.py": "a worker asks for a run of the tenant, without a call",
    "services/gateway/events/operations.py": "where a feed begins and ends is the same for all who read it",
}


def test_operations_see_what_their_caller_may_see_and_nothing_past_it() -> None:
    """A session opened otherwise than by `Call.read` or `Call.transaction` is not narrowed to the caller's workspaces (decision 0128)."""
    ways = ("database.tenant(", "database.read(", "database.read,", "units.tenant(")
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "services/gateway").rglob("*.py")
        if any(way in path.read_text() for way in ways)
    }
    assert found == set(PAST_THE_CALL)
