"""When the slots of a pool become free, counted in units: as many slots on one machine as the request needs, or
single slots."""

from collections.abc import Callable

import numpy as np

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import PlacementRequest
from services.scheduler.core.state.indexes.placement.worker_capacity import WorkerCapacity
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.run_durations import Draws
from services.scheduler.core.state.records.run import Run
from shared.ids import RunId, WorkerId

MOST_UNITS = 128
"""For larger pools only every n-th machine is examined, and the waiting requests are scaled accordingly."""


def free_times(
    cluster: Cluster, pool: Pool, ask: PlacementRequest, unit: int, rest: Callable[[Run], Draws]
) -> tuple[Draws, float]:
    """Return when each unit becomes free, increasing, in milliseconds from now (futures x units), and the
    fraction of the pool that was examined.

    Args:
        unit: Slots on one machine that form a unit.
        rest: Returns how much longer a run takes.
    """
    spots = sorted(pool.capacity.least_used(ask))
    units = sum(spot.total // unit for _, spot in spots)
    step = max(1, -(-units // MOST_UNITS))
    rests: dict[RunId, Draws] = {}
    found = [
        _on_machine(cluster, worker, spot, _foreign(pool, ask, worker, spot), unit, rests, rest)
        for worker, spot in spots[::step]
        if spot.total >= unit
    ]
    if not found:
        return np.zeros((1, 0)), 1.0
    futures = max(len(times) for times in found)
    all_ = np.concatenate([np.broadcast_to(times, (futures, times.shape[1])) for times in found], axis=1)
    return np.sort(all_, axis=1), all_.shape[1] / units


def _on_machine(
    cluster: Cluster,
    worker: WorkerId,
    spot: WorkerCapacity,
    foreign: list[WorkerId],
    unit: int,
    rests: dict[RunId, Draws],
    rest: Callable[[Run], Draws],
) -> Draws:
    busy = _busy(cluster, worker, rests, rest)[: spot.total]
    rest_of_machine = [times for peer in foreign for times in _busy(cluster, peer, rests, rest)]
    if not busy and not rest_of_machine:
        return np.zeros((1, spot.total // unit))
    times = np.zeros((len((busy or rest_of_machine)[0]), spot.total))
    if busy:
        times[:, spot.total - len(busy) :] = np.stack(busy, axis=1)
    times.sort(axis=1)
    if rest_of_machine:
        # A machine that serves another tenant is usable only once it is entirely free.
        times[:] = np.max(np.stack(rest_of_machine, axis=1), axis=1)[:, None]
    return times[:, unit - 1 :: unit]


def _busy(
    cluster: Cluster, worker: WorkerId, rests: dict[RunId, Draws], rest: Callable[[Run], Draws]
) -> list[Draws]:
    """Return when each occupied slot of a worker becomes free."""
    held: dict[int, Draws] = {}
    for name in cluster.runs_on.get(worker, ()):
        run = cluster.runs[name]
        slots = [slot for share in run.shares if share.worker == worker for slot in share.slot_ids]
        if slots and worker not in run.gang.released:
            if name not in rests:
                rests[name] = rest(run)
            for slot in slots:
                # A shared slot is free when the last of its runs has ended.
                held[slot] = np.maximum(held[slot], rests[name]) if slot in held else rests[name]
    return list(held.values())


def _foreign(pool: Pool, ask: PlacementRequest, worker: WorkerId, spot: WorkerCapacity) -> list[WorkerId]:
    """Return the workers of a machine that serves another tenant."""
    is_foreign = pool.capacity.exclusive and spot.owner not in (None, ask.tenant)
    return pool.capacity.on_machine(worker) if is_foreign else []


def serve(free: Draws, units: int, length: Draws) -> None:
    """Let one request take the first units that become free, for `length` in each future."""
    units = min(units, free.shape[1])
    free[:, :units] = (free[:, units - 1] + length)[:, None]
    free.sort(axis=1)
