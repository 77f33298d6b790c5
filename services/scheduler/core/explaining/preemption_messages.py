"""Sentences for users about preemptions and alternatives. Nothing of another tenant is named."""

from shlex import quote
from typing import assert_never

from services.scheduler.core.explaining.alternatives import StartAlternative
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.pool import NO_QUOTA
from services.scheduler.core.state.records.preemption_notice import PreemptionCause
from services.scheduler.core.state.records.trial import Trial


def asked_back(because: PreemptionCause, by: str | None) -> str:
    """Return why a run was asked for its slots. `by`: the trial that needed them; None: one of another tenant,
    or no particular one."""
    match because:
        case "priority":
            return f"for {by or 'a trial of another tenant'}, whose priority is higher"
        case "workspace_guarantee":
            return f"for {by or 'another trial'}, whose workspace was below its guarantee"
        case "tenant_guarantee":
            return "for another tenant that was below its guarantee, while yours was above its own"
        case "resize":
            return "to resume with another number of slots"
        case "drain":
            return "because its worker was being drained"
        case "leaving":
            return "because the provider reclaimed its worker's machine"
        case "reservation":
            return "because its slots were reserved for this time"
        case "budget":
            return "because its tenant's or workspace's budget for the month was spent"
        case "defragment":
            return f"to resume on another machine, so that {by or 'a trial of another tenant'} gets enough free slots together"
        case "time_slice":
            return (
                f"because its time slice was over and {by or 'another request'} of the same rank was waiting"
            )
        case "move":
            return "because its experiment was moved to another pool"
        case _:
            assert_never(because)


def would_start(cluster: Cluster, trial: Trial, one: StartAlternative) -> tuple[str, str]:
    """Return a sentence and the command that makes the change."""
    when = "now" if one.start == "now" else "as soon as other runs have released their slots"
    change, command = _change(cluster, trial, one)
    return f"{change} it would start {when}", command


def _change(cluster: Cluster, trial: Trial, one: StartAlternative) -> tuple[str, str]:
    number = trial.request.experiment_number
    needs, policy, pool = trial.request.needs, cluster.policy_of(trial), cluster.pool_of(trial)
    match one.kind:
        case "slots":
            change = f"with {one.number} {_slots(one.number)} instead of {needs.min_slots}"
            return change, f"muster experiment fork {number} --config resources.slots_per_trial={one.number}"
        case "priority":
            change = f"at priority {one.number} instead of {policy.priority}"
            return change, f"muster queue priority {number} {one.number}"
        case "labels":
            keys = ("required_labels", "preferred_labels", "excluded_workers")
            options = " ".join(f"--config resources.{key}=null" for key in keys)
            return (
                f"on any machine instead of one {needs.where}",
                f"muster experiment fork {number} {options}",
            )
        case "pool":
            return f"in pool {one.pool}", f"muster queue move {number} --pool {one.pool}"
        case "max_slots":
            change = f"with max_slots {one.number} instead of {policy.max_slots}"
            return change, f"muster queue limit {number} {one.number}"
        case "workspace_maximum" | "tenant_maximum":
            whose = one.kind.removesuffix("_maximum")
            change = f"if its {whose} were allowed {one.number} slots in pool {pool}"
            return change, _limit(cluster, trial, one, whose)
        case _:
            assert_never(one.kind)


def _limit(cluster: Cluster, trial: Trial, one: StartAlternative, whose: str) -> str:
    """Return the command with all fields of the limit, since it replaces the limit as a whole."""
    request, pool = trial.request, cluster.pool_of(trial)
    path = (request.tenant, request.workspace) if whose == "workspace" else (request.tenant,)
    quota = cluster.pools[pool].shares.quotas.get(path, NO_QUOTA)
    of = f" --workspace {quote(request.workspace)}" if whose == "workspace" else ""
    return (
        f"muster limit set --pool {pool}{of} --guaranteed {quota.guaranteed} --maximum {one.number}"
        f" --weight {quota.weight:g}"
    )


def _slots(count: int | None) -> str:
    return "slot" if count == 1 else "slots"
