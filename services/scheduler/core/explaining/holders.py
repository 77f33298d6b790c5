"""The holders of the slots that a request waits for: runs of its own tenant by name, those of other tenants as
numbers only."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from services.scheduler.core.planning.decisions import WaitReason
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pool import Pool, RunCharge
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import Trial
from shared.ids import RunId

MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class SlotHolders:
    """`named`: up to `MOST_NAMED` of the tenant's own runs, leaving ones first, then the largest."""

    named: tuple[Run, ...] = ()
    own_runs: int = 0
    own_slots: int = 0
    other_runs: int = 0
    other_slots: int = 0


def holders_of(cluster: Cluster, trial: Trial, reason: WaitReason) -> SlotHolders:
    """Return the runs whose slots the request could use, as far as `reason` tells."""
    pool = cluster.pools[cluster.pool_of(trial)]
    leaf = pool.shares.leaves.get(trial.request.experiment)
    if leaf is None:
        return SlotHolders()
    own: list[tuple[RunId, RunCharge]] = []
    others: list[RunCharge] = []
    for run, charge in _charges(pool, leaf, reason):
        if charge.leaf.tenant is leaf.tenant:
            own.append((run, charge))
        else:
            others.append(charge)
    own.sort(key=lambda found: (not found[1].is_leaving, -found[1].slots, cluster.runs[found[0]].token))
    return SlotHolders(
        named=tuple(cluster.runs[run] for run, _ in own[:MOST_NAMED]),
        own_runs=len(own),
        own_slots=ceil(sum(charge.slots for _, charge in own)),
        other_runs=len(others),
        other_slots=ceil(sum(charge.slots for charge in others)),
    )


def _charges(pool: Pool, leaf: ShareNode, reason: WaitReason) -> Iterator[tuple[RunId, RunCharge]]:
    holding = ((run, charge) for run, charge in pool.charges.items() if charge.slots)
    match reason:
        case "max_slots" | "max_trials":
            yield from ((run, charge) for run, charge in holding if charge.leaf is leaf)
        case "workspace_quota" | "workspace_budget":
            yield from ((run, charge) for run, charge in holding if charge.leaf.workspace is leaf.workspace)
        case "tenant_quota" | "tenant_budget":
            yield from ((run, charge) for run, charge in holding if charge.leaf.tenant is leaf.tenant)
        case "preempting":
            yield from ((run, charge) for run, charge in holding if charge.is_leaving)
        case "slots":
            yield from holding
        case "uploads" | "back_off" | "beyond_pool":
            return
