"""Explains why a request waits: a stable code, a sentence and the facts. Other tenants' work appears only as
numbers."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from services.scheduler.core.explaining.queue_positions import ahead
from services.scheduler.core.planning.decisions import WaitReason
from services.scheduler.core.planning.max_capacity import reach_of
from services.scheduler.core.planning.quotas import Limit, limit_of
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import PlacementRequest
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import ask_of, milliseconds
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.records.slots import stored
from services.scheduler.core.state.records.trial import RequestState, Trial
from shared.ids import PoolName

Facts = dict[str, int | float | str]
_NAMED = 3
"""How many workers a sentence names."""


@dataclass(frozen=True, slots=True)
class WaitExplanation:
    """Why a request waits."""

    code: str
    message: str
    facts: Facts = field(default_factory=dict)


def explain(
    cluster: Cluster, trial: Trial, reason: WaitReason | None = None, before: int | None = None
) -> WaitExplanation:
    """Explain why a waiting request waits, with current counts.

    Args:
        reason: The reason from the last plan, if it examined the request.
        before: How many requests are ahead, if known.
    """
    refresh(cluster)
    pool = cluster.pools[cluster.pool_of(trial)]
    if before is None:
        before = ahead(pool, [trial.id]).get(trial.id, 0)
    return _refusal(cluster, pool, trial, binding_of(cluster, trial, reason), before)


def binding_of(cluster: Cluster, trial: Trial, reason: WaitReason | None = None) -> WaitReason:
    """Return what a waiting request currently waits for. `reason` is the one from the last plan."""
    refresh(cluster)
    if trial.state is RequestState.AWAITING:
        return "uploads" if trial.awaited else "back_off"
    pool, needs = cluster.pools[cluster.pool_of(trial)], trial.request.needs
    leaf = pool.shares.leaves.get(trial.request.experiment)
    limit = limit_of(leaf, needs.least) if leaf else None
    if limit is not None:
        return limit
    ask = ask_of(trial.request.tenant, needs)
    total, largest = pool.capacity.total_for(ask)
    if needs.min_slots > (largest if needs.single_node or not pool.policy.exclusive else total):
        return "beyond_pool"
    return "preempting" if reason == "preempting" else "slots"


def _refusal(cluster: Cluster, pool: Pool, trial: Trial, reason: WaitReason, before: int) -> WaitExplanation:
    facts = {**_facts(cluster, pool, trial), "ahead": before}
    slots, name = facts["slots"], pool.policy.name
    match reason:
        case "uploads":
            left = facts.get("checkpoints_left", 0)
            return WaitExplanation(
                "waiting_for_uploads",
                f"waiting until {_count(left, 'checkpoint')} of its last run {'is' if left == 1 else 'are'} stored",
                facts,
            )
        case "back_off":
            return WaitExplanation(
                "waiting_to_retry",
                f"{_count(trial.runs_without_progress, 'run')} in a row ended without progress for reasons outside the training code;"
                f" next attempt in {facts.get('retry_in_s', 0)} s",
                facts,
            )
        case (
            "max_slots"
            | "max_trials"
            | "workspace_quota"
            | "tenant_quota"
            | "workspace_budget"
            | "tenant_budget"
            | "other_tenant"
        ):
            return _limited(pool, trial, reason, facts)
        case "preempting":
            message = f"waiting for {_count(slots, 'slot')} that other runs in pool {name} are releasing"
            return WaitExplanation("waiting_for_preemption", message, facts)
        case "beyond_pool":
            return _beyond_pool(cluster, pool, trial, facts)
        case "slots":
            return _waiting(pool, trial, facts)


def _limited(pool: Pool, trial: Trial, limit: Limit, facts: Facts) -> WaitExplanation:
    held, name = facts["experiment_slots"], pool.policy.name
    match limit:
        case "other_tenant":
            return WaitExplanation(
                "pool_serves_other_tenant",
                f"{other_tenant_text(name)}; move its experiment to another pool",
                facts,
            )
        case "max_slots":
            most = facts["max_slots"]
            message = f"its experiment holds {held} of the {_count(most, 'slot')} that max_slots allows"
            return WaitExplanation("max_slots_reached", message, facts)
        case "max_trials":
            most = facts["max_trials"]
            message = f"its experiment runs {_count(most, 'trial')}, as many as max_trials allows"
            return WaitExplanation("max_trials_reached", message, facts)
        case "workspace_quota" | "tenant_quota":
            whose = limit.removesuffix("_quota")
            node = _holder(pool, trial, whose)
            held = stored(node.held) if node else 0
            maximum = (node.quota.maximum if node else None) or 0
            facts |= {f"{whose}_slots": held, f"{whose}_maximum": maximum}
            message = f"its {whose} holds {held} of the {_count(maximum, 'slot')} that its quota in pool {name} allows"
            return WaitExplanation(f"{limit}_reached", message, facts)
        case "workspace_budget" | "tenant_budget":
            return _spent(pool, trial, limit.removesuffix("_budget"), facts)


def other_tenant_text(pool: PoolName) -> str:
    """Return why a pool serves only one tenant."""
    return f"pool {pool} serves one trusted tenant only, which is not yours"


def _spent(pool: Pool, trial: Trial, whose: str, facts: Facts) -> WaitExplanation:
    node = _holder(pool, trial, whose)
    spending = pool.shares.spending.get(node.path) if node else None
    of = ""
    if spending is not None:
        facts[f"{whose}_budget"] = spending.per_month
        of = f" of {spending.per_month:.2f}"
    message = (
        f"its {whose}'s budget{of} for this month is spent;"
        f" nothing starts in pool {pool.policy.name} until the budget is raised or the month ends"
    )
    return WaitExplanation(f"{whose}_budget_spent", message, facts)


def _holder(pool: Pool, trial: Trial, whose: str) -> ShareNode | None:
    leaf = pool.shares.leaves.get(trial.request.experiment)
    length = 1 if whose == "tenant" else 2
    return next((node for node in leaf.upwards() if len(node.path) == length), None) if leaf else None


def _beyond_pool(cluster: Cluster, pool: Pool, trial: Trial, facts: Facts) -> WaitExplanation:
    slots, name, total = facts["slots"], pool.policy.name, facts["pool_slots"]
    needs = trial.request.needs
    reach = reach_of(pool.capacity, pool.policy, cluster.workers.values(), trial.request.tenant, needs)
    if reach.is_final and needs.min_slots > reach.slots:
        facts["reachable_slots"] = reach.slots
        message = (
            f"can never start: needs {_count(slots, 'slot')}; pool {name} can have at most {reach.slots} {reach.where}."
            " It does not block other requests. Move its experiment to a larger pool, or cancel the trial"
        )
        return WaitExplanation("never_fits", message, facts)
    if not len(pool.capacity):
        message = f"waiting for {_count(slots, 'slot')}; pool {name} has no worker that accepts work"
        return WaitExplanation("no_workers", message + _of_closed(facts) + _of_money(facts), facts)
    such = (f" of kind {needs.kind}" if needs.kind else "") + _on_machines(facts)
    if needs.where is not None and not total:
        message = (
            f"needs {_count(slots, 'slot')}{such}; pool {name} has no matching machine that accepts work"
        )
        if trial.excluded:
            message += (
                f"; its log policies, or its lack of an image, exclude {', '.join(sorted(trial.excluded))}"
            )
        return WaitExplanation("no_such_worker", message + _of_closed(facts), facts)
    if facts["largest_worker"] == total or (needs.single_node is False and pool.policy.exclusive):
        message = f"needs {_count(slots, 'slot')}{such}; pool {name} has {total}"
        return WaitExplanation("larger_than_pool", message + _of_closed(facts) + _of_money(facts), facts)
    message = f"needs {_count(slots, 'slot')}{such} on one machine; the largest machine in pool {name} has {facts['largest_worker']}"
    return WaitExplanation("larger_than_any_worker", message + _of_closed(facts) + _of_money(facts), facts)


def _waiting(pool: Pool, trial: Trial, facts: Facts) -> WaitExplanation:
    slots, name = facts["slots"], pool.policy.name
    message = (
        f"waiting for {_count(slots, 'slot')}{_on_machines(facts)};"
        f" {facts['free_slots']} of {_count(facts['pool_slots'], 'slot')} free {'there, in' if 'where' in facts else 'in'} pool {name};"
        f" {_count(facts['ahead'], 'request')} ahead"
    )
    foreign = facts["slots_of_other_tenants"]
    if foreign:
        message += f"; {_count(foreign, 'slot')} held by other tenants"
    message += (
        _of_machines(facts)
        + _of_bookings(facts)
        + _of_time_slices(pool, facts)
        + _of_closed(facts)
        + _of_money(facts)
    )
    return WaitExplanation("waiting_for_slots", message, facts)


def _of_machines(facts: Facts) -> str:
    if "unshared_slots" not in facts:
        return ""
    number = facts["unshared_slots"]
    where = f"on machine {facts['unshared_machines']}, which serves another tenant"
    return f"; {_count(number, 'free slot')} {'is' if number == 1 else 'are'} {where}"


def _unshared(cluster: Cluster, pool: Pool, ask: PlacementRequest) -> Facts:
    """Return the free slots that the request cannot use because their machines serve another tenant."""
    slots, workers = pool.capacity.foreign_free(ask)
    if not slots:
        return {}
    machines = sorted({cluster.workers[name].machine or name for name in workers})
    return {"unshared_slots": slots, "unshared_machines": ", ".join(machines[:_NAMED])}


def _of_bookings(facts: Facts) -> str:
    if "booked_slots" not in facts:
        return ""
    return f"; {_count(facts['booked_slots'], 'slot')} reserved by others until {facts['booked_until']}"


def _booked(cluster: Cluster, pool: Pool, trial: Trial) -> Facts:
    """Return the slots that are reserved for others now, and until when at most."""
    path = (trial.request.tenant, trial.request.workspace)
    running = [
        one
        for one in pool.reservations.values()
        if one.is_running(cluster.now_ms) and path[: len(one.holder)] != one.holder
    ]
    if not running:
        return {}
    until = datetime.fromtimestamp(max(one.end_ms for one in running) / 1000, UTC)
    return {"booked_slots": sum(one.slots for one in running), "booked_until": f"{until:%Y-%m-%d %H:%M} UTC"}


def _of_time_slices(pool: Pool, facts: Facts) -> str:
    if "quantum_s" not in facts:
        return ""
    to = "requests with lower usage" if pool.policy.order == "fair_share" else "requests of the same rank"
    return f"; running trials yield to {to} after {facts['quantum_s']} s and a first checkpoint"


def _on_machines(facts: Facts) -> str:
    return f" on machines {facts['where']}" if "where" in facts else ""


def _of_closed(facts: Facts) -> str:
    """Describe provider faults and workers that accept no more runs."""
    text = (
        f"; the provider cannot add machines: {facts['provider_fault']}" if "provider_fault" in facts else ""
    )
    if "draining_slots" in facts:
        text += f"; {_count(facts['draining_slots'], 'more slot')} on workers that are being drained ({facts['draining_workers']})"
    if "troubled_slots" in facts:
        text += f"; {_count(facts['troubled_slots'], 'more slot')} on workers that cannot start runs: {facts['trouble']}"
    return text


def _of_money(facts: Facts) -> str:
    if "affordable_slots" not in facts:
        return ""
    whose = "workspace" if "workspace_budget" in facts else "tenant"
    most = facts["affordable_slots"]
    rented = f"machines are rented for only {_count(most, 'more slot')}" if most else "no machine is rented"
    budget = f"budget of {facts[f'{whose}_budget']:.2f} for this month"
    return f"; {rented}, because its {whose} could exceed its {budget} within an hour"


def _facts(cluster: Cluster, pool: Pool, trial: Trial) -> Facts:
    request, policy = trial.request, cluster.policy_of(trial)
    leaf = pool.shares.leaves.get(request.experiment)
    ask = ask_of(request.tenant, request.needs)
    total, largest = pool.capacity.total_for(ask)
    facts: Facts = {
        "slots": stored(request.needs.least),
        "pool": pool.policy.name,
        "pool_slots": total,
        "free_slots": pool.capacity.free_on(ask),
        "largest_worker": largest,
        "priority": policy.priority,
        "experiment_slots": stored(leaf.held) if leaf else 0,
        "slots_of_other_tenants": _held_by_others(pool, trial),
    }
    facts |= _closed(cluster, pool)
    facts |= _unshared(cluster, pool, ask)
    facts |= _booked(cluster, pool, trial)
    if pool.policy.provider_fault is not None:
        facts["provider_fault"] = pool.policy.provider_fault
    facts |= _unaffordable(pool, trial)
    if pool.policy.quantum is not None:
        facts["quantum_s"] = round(pool.policy.quantum.total_seconds())
    if request.needs.where is not None and str(request.needs.where):
        facts["where"] = str(request.needs.where)
    if policy.max_slots is not None:
        facts["max_slots"] = policy.max_slots
    if policy.max_trials is not None:
        facts["max_trials"] = policy.max_trials
    if trial.awaited:
        run = cluster.runs.get(trial.awaited.run)
        facts["checkpoints_left"] = max(0, trial.awaited.announced - (run.progress.settled if run else 0))
    if trial.not_before:
        facts["retry_in_s"] = max(0, -(-(milliseconds(trial.not_before) - cluster.now_ms) // 1000))
    return facts


def _unaffordable(pool: Pool, trial: Trial) -> Facts:
    """Return the nearest budget that does not allow machines for all its waiting slots."""
    for whose in ("workspace", "tenant"):
        node = _holder(pool, trial, whose)
        if node is not None and node.unaffordable:
            per_month = pool.shares.spending[node.path].per_month
            return {"affordable_slots": int(node.asked - node.unaffordable), f"{whose}_budget": per_month}
    return {}


def _closed(cluster: Cluster, pool: Pool) -> Facts:
    closed = [one for name in cluster.closed if (one := cluster.workers[name]).pool == pool.policy.name]
    drained = [one for one in closed if one.is_emptying]
    troubled = [one for one in closed if not one.is_emptying]
    facts: Facts = {}
    if drained:
        facts["draining_slots"] = sum(len(worker.slot_ids) for worker in drained)
        facts["draining_workers"] = ", ".join(sorted(worker.id for worker in drained)[:_NAMED])
    if troubled:
        reasons = (worker.trouble or pool.policy.refusal_of(worker) or "" for worker in troubled)
        facts["troubled_slots"] = sum(len(worker.slot_ids) for worker in troubled)
        facts["trouble"] = "; ".join(sorted(reasons)[:_NAMED])
    return facts


def _held_by_others(pool: Pool, trial: Trial) -> int | float:
    own = pool.shares.tenant(trial.request.tenant)
    return stored(pool.shares.root.held - (own.held if own else 0))


def _count(number: float | str, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
