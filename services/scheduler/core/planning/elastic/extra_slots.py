"""Distributes idle slots to elastic runs as extra slots, and reclaims them when other requests need them.

In an elastic pool a run owns its minimum. Its extra slots count as free soon, so a request that fits into them
waits at most until the runs' next checkpoints. Slots that no request takes are distributed (`allocation`) at the
end of each plan. A run whose script supports live resizing re-forms with its new slots while it trains
(`forming`), and nothing more is distributed until it has. Otherwise a resize ends the run at a checkpoint and
its trial resumes with the new slots at its previous place in the queue.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from services.scheduler.core.planning.decisions import WaitReason
from services.scheduler.core.planning.elastic.affinity import MachinePreferences
from services.scheduler.core.planning.elastic.allocation import ElasticMember, arrange
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.decay import STEP_MS
from services.scheduler.core.state.indexes.elastic.guaranteed_slots import own_slots
from services.scheduler.core.state.indexes.elastic.records import ElasticRecord
from services.scheduler.core.state.indexes.placement.capacity import (
    CapacityIndex,
    Placement,
    PlacementRequest,
)
from services.scheduler.core.state.indexes.placement.placement_index import Domains
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import ask_of, milliseconds
from services.scheduler.core.state.records.pool import Path
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import RequestState, Trial
from shared.ids import RunId, TenantId, TrialId, WorkerId

Wanted = dict[TrialId, Placement]
REPORTS_WITHIN_MS = 120_000
"""A run without reports for this long is taken never to report."""
FEW = 100
"""Up to this many elastic trials the distribution takes a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Resize:
    """The run's trial is to continue with `slots` slots: live with `placement`, or without one by ending at a
    checkpoint."""

    run: RunId
    slots: int
    placement: Placement = ()


@dataclass(frozen=True, slots=True)
class ExtraSlotPlan:
    """`grants`: placements of the served elastic requests that start now. Requests that must wait for slots to
    be released are omitted."""

    grants: Wanted
    resizes: tuple[Resize, ...]


def is_due(cluster: Cluster, pool: Pool, served: Wanted, refusals: Iterable[WaitReason]) -> bool:
    """Whether a plan distributes extra slots. With few elastic trials it always does. With many, where the
    distribution costs more than the rest of the plan, it does when an elastic request was served, a request
    waits for preempted slots, or a new step begins."""
    if served or not pool.allows_extra_slots:
        return bool(served)
    is_new_step = pool.elastic.assigned_step != cluster.now_ms // STEP_MS
    return len(pool.elastic.of) <= FEW or is_new_step or "preempting" in refusals


def assign_extra_slots(cluster: Cluster, pool: Pool, served: Wanted) -> ExtraSlotPlan:
    """Distribute what a plan has left over, on its tentative indexes.

    Args:
        served: Elastic requests that this plan grants, with the placement of their minimum.
    """
    assert pool.later is not None
    if any(cluster.runs[run].pool == pool.policy.name for run in cluster.forming):
        return ExtraSlotPlan(served, ())
    running = _running(cluster, pool)
    coming = [trial for trial in pool.elastic.resizing if _is_coming(cluster.trials[trial])]
    own = {**{trial: _own(cluster, pool.capacity, run) for trial, run in running.items()}, **served}
    trials = [cluster.trials[trial] for trial in (*own, *coming)]
    if not trials:
        return ExtraSlotPlan({}, ())
    growth = _growth(cluster, pool, trials)
    tastes = MachinePreferences(pool.capacity, own.values())
    groups: dict[TenantId | None, list[ElasticMember]] = {}
    for trial in sorted(trials, key=lambda trial: (trial.submission_order, trial.id)):
        group = trial.request.tenant if pool.policy.exclusive else None
        member = _member(cluster, pool, trial, running.get(trial.id), growth[trial.id])
        taste = tastes.of(trial.request.needs.where, member.held)
        groups.setdefault(group, []).append(replace(member, taste=taste))
    arranged: Wanted = {}
    for group, machines in _machines(pool.later, own, cluster, list(groups)).items():
        domains = _domains(pool.capacity, machines)
        arranged |= arrange(groups[group], machines, domains=domains)
    started = _begin_now(cluster, pool, served, arranged)
    wanted = [
        (run, arranged[trial])
        for trial, run in running.items()
        if trial in arranged and dict(arranged[trial]) != dict(_place(run))
    ]
    free, owners = _free(pool.capacity, served, started), _owners(cluster, pool.capacity, started)
    return ExtraSlotPlan(started, tuple(_resizes(pool.capacity, free, owners, wanted)))


def _resizes(
    capacity: CapacityIndex,
    free: dict[WorkerId, int],
    owners: dict[str, TenantId | None],
    wanted: Sequence[tuple[Run, Placement]],
) -> Iterator[Resize]:
    """Yield the resizes that can start now. For a live resize the new slots must be free, on machines that serve
    no other tenant, and the chief must stay."""
    for run, placement in wanted:
        if not run.gang.is_live or run.chief not in dict(placement):
            yield Resize(run.id, _slots(placement))
            continue
        had = dict(_place(run))
        more = {worker: slots - had.get(worker, 0) for worker, slots in placement}
        added = {capacity.machine_of(worker) for worker, slots in more.items() if slots > 0}
        if any(owners.get(machine) not in (None, run.tenant) for machine in added):
            continue
        if all(free.get(worker, 0) >= slots for worker, slots in more.items() if slots > 0):
            if capacity.exclusive:
                owners |= dict.fromkeys(added, run.tenant)
            for worker, slots in more.items():
                free[worker] = free.get(worker, 0) - max(0, slots)
            yield Resize(run.id, _slots(placement), placement)


def _free(capacity: CapacityIndex, served: Wanted, started: Wanted) -> dict[WorkerId, int]:
    """Return the free slots apart from those of the served requests that start now."""
    free = {worker: spot.free for worker, spot in capacity.spots()}
    for place, sign in (*((one, 1) for one in served.values()), *((one, -1) for one in started.values())):
        for worker, slots in place:
            free[worker] += sign * slots
    return free


def _owners(cluster: Cluster, capacity: CapacityIndex, started: Wanted) -> dict[str, TenantId | None]:
    """Return the tenant that each machine serves, with the served requests that start now."""
    owners: dict[str, TenantId | None] = {
        capacity.machine_of(worker): spot.owner for worker, spot in capacity.spots()
    }
    for trial, place in started.items() if capacity.exclusive else ():
        tenant = cluster.trials[trial].request.tenant
        owners |= {capacity.machine_of(worker): tenant for worker, _ in place}
    return owners


def _running(cluster: Cluster, pool: Pool) -> dict[TrialId, Run]:
    """Return the elastic runs that were not asked to end and that react to signals."""
    found = {}
    for trial in pool.elastic.of:
        run_id = cluster.trials[trial].run
        if cluster.trials[trial].ignores_signals:
            continue
        if run_id is not None and run_id in pool.charges and run_id not in pool.leaving:
            found[trial] = cluster.runs[run_id]
    return found


def _own(cluster: Cluster, capacity: CapacityIndex, run: Run) -> Placement:
    """Return the slots that only this run may have: its minimum, and all its slots on machines that accept
    nothing more."""
    kept = own_slots(run, cluster.trials[run.trial])
    return tuple((worker, kept[worker] if worker in capacity else slots) for worker, slots in _place(run))


def _is_coming(trial: Trial) -> bool:
    """Whether the trial is between its old and its new slots. While it is queued the plan serves it or not;
    before that its share is reserved."""
    return trial.state in (RequestState.RUNNING, RequestState.AWAITING)


def _growth(cluster: Cluster, pool: Pool, trials: Sequence[Trial]) -> dict[TrialId, int]:
    """Return by how many slots each trial may grow. The rest of a maximum is divided among the trials below it,
    so that all can grow at once."""
    below: Counter[Path] = Counter()
    leaves = {trial.id: pool.leaf(trial.request, cluster.policy_of(trial)) for trial in trials}
    for leaf in leaves.values():
        below.update(node.path for node in leaf.upwards())
    return {
        trial: max(0, min(node.remaining_slots // below[node.path] for node in leaf.upwards()))
        for trial, leaf in leaves.items()
    }


def _member(cluster: Cluster, pool: Pool, trial: Trial, run: Run | None, room: int) -> ElasticMember:
    record = pool.elastic.of.get(trial.id, ElasticRecord())
    needs, held = trial.request.needs, _place(run) if run else ()
    promised = pool.elastic.resizing.get(trial.id, 0)
    if _is_coming(trial) and run is None:
        most = promised
    else:
        most = min(needs.max_slots, room + (_slots(held) or needs.min_slots))
    if needs.single_node or not pool.policy.exclusive:
        most = min(most, max((spot.total for _, spot in pool.capacity.spots()), default=0))
    if needs.where is not None:
        most = min(most, pool.capacity.total_for(ask_of(trial.request.tenant, needs))[0])
    if not (run and run.gang.is_live) and any(worker not in pool.capacity for worker, _ in held):
        most = min(most, _slots(held))  # a restarted run could not return there
    return ElasticMember(
        trial=trial.id,
        min_slots=needs.min_slots,
        max_slots=max(needs.min_slots, most),
        held=held,
        promised=promised,
        history=record.history,
        age_ms=cluster.now_ms - milliseconds(trial.submitted_at or trial.since),
        is_silent=bool(held) and cluster.now_ms - record.counted_ms > REPORTS_WITHIN_MS,
        service_ms=record.service_at(cluster.now_ms),
        resizes=max(0, record.starts - 1),
        pause_ms=cluster.pause_durations.get(
            trial.request.experiment, "reform" if run is not None and run.gang.is_live else "restart"
        ),
    )


def _domains(capacity: CapacityIndex, machines: Iterable[WorkerId]) -> dict[WorkerId, Domains]:
    """Return the domains, also of machines that accept nothing more and still have members."""
    topology = capacity.topology
    if not topology.keys:
        return {}
    return {worker: topology.domains_of(capacity.labels(worker)) for worker in machines}


def _machines(
    later: CapacityIndex, own: Wanted, cluster: Cluster, groups: Sequence[TenantId | None]
) -> dict[TenantId | None, dict[WorkerId, int]]:
    """Return the slots to distribute in each group: what is free in `later`, and the members' own slots.

    If machines serve one tenant at a time, machines without an owner are dealt to the groups in turn.
    """
    free = {
        worker: spot.free if later.exclusive or spot.owner is None else 0 for worker, spot in later.spots()
    }
    machines = {worker: later.machine_of(worker) for worker in free}
    owners = {machines[worker]: spot.owner for worker, spot in later.spots()}
    for trial, place in own.items():
        for worker, slots in place:
            free[worker] = free.get(worker, 0) + slots
            owners[machines.setdefault(worker, worker)] = cluster.trials[trial].request.tenant
    if len(groups) == 1:
        mine = (None, groups[0])
        is_shared = groups[0] is None
        return {
            groups[0]: {w: count for w, count in free.items() if is_shared or owners[machines[w]] in mine}
        }
    dealt: dict[TenantId | None, dict[WorkerId, int]] = {group: {} for group in groups}
    unowned = sorted({machines[worker] for worker in free if owners[machines[worker]] is None})
    owners |= {machine: groups[number % len(groups)] for number, machine in enumerate(unowned)}
    for worker, count in free.items():
        owner = owners[machines[worker]]
        if owner in dealt:
            dealt[owner][worker] = count
    return dealt


def _begin_now(cluster: Cluster, pool: Pool, served: Wanted, arranged: Wanted) -> Wanted:
    """Return where served requests start. In order, each takes its arranged placement if that is free now;
    otherwise as many slots elsewhere, so that it does not wait while a less important request takes free slots;
    otherwise fewer.

    A trial that resumes from a resize does not start with fewer slots than promised, because it would have to
    be resized again.
    """
    capacity = pool.capacity
    started: Wanted = {}
    with capacity.tentative():
        for found in served.values():
            capacity.untake(found)
        for trial, found in served.items():
            request = cluster.trials[trial].request
            ask = ask_of(request.tenant, request.needs)
            promised = pool.elastic.resizing.get(trial, 0)
            place = _free_place(capacity, ask, arranged.get(trial, found), promised, request.needs.min_slots)
            if place is not None:
                capacity.take(place, ask)
                started[trial] = place
    return started


def _free_place(
    capacity: CapacityIndex, ask: PlacementRequest, wanted: Placement, promised: int, least: int
) -> Placement | None:
    """Return the wanted placement if it is free; otherwise one with as many slots, halving the number down to
    what was promised or to the minimum."""
    spots = [(capacity.get(worker), slots) for worker, slots in wanted]
    is_free = all(spot is not None and spot.free >= slots for spot, slots in spots)
    if is_free and all(capacity.serves(worker, ask.tenant) for worker, _ in wanted):
        return wanted
    slots = _slots(wanted)
    fewest = min(slots, promised or least)
    while (place := capacity.place(ask, slots)) is None and slots > fewest:
        slots = max(slots // 2, fewest)
    return place


def _place(run: Run) -> Placement:
    return tuple((share.worker, share.slots) for share in run.shares)


def _slots(placement: Placement) -> int:
    return sum(slots for _, slots in placement)
