"""Taking slots back: which are on their way already, and whose to ask for next."""

from services.scheduler.core.capacity import Ask, Placement
from services.scheduler.core.cluster import Cluster, Pool
from services.scheduler.core.run import Run
from shared.ids import RunId, WorkerId
from shared.messages.specs import Wanted


class Releasing:
    """Slots of runs that have been asked to end, less what earlier requests of this plan count on."""

    def __init__(self, cluster: Cluster, pool: Pool) -> None:
        self._cluster, self._pool = cluster, pool
        self._soon: dict[WorkerId, tuple[int, int]] = {}
        self._runs: set[RunId] = set()
        self._lowest: int | None = None
        self._is_loaded = False

    def add(self, run: Run) -> None:
        """Counts on a run's slots from now on."""
        self._load()
        self._runs.add(run.id)
        for worker, slots in _held(run):
            free, holds = self._soon.get(worker, (0, 0))
            self._soon[worker] = (free + slots, holds + 1)

    def keep(self, ask: Ask, slots: int) -> bool:
        """Sets free and soon free slots aside when together they hold the request; False leaves all as it was."""
        self._load()
        if not self._soon:
            return False
        capacity = self._pool.capacity
        with capacity.tentative():
            self.give_soon()
            placement = capacity.place(ask, slots)
        if placement is None:
            return False
        now_free: list[tuple[WorkerId, int]] = []
        for worker, wanted in placement:
            spot = capacity.get(worker)
            free = min(spot.free if spot else 0, wanted)
            if free:
                now_free.append((worker, free))
            soon, holds = self._soon.get(worker, (0, 0))
            self._soon[worker] = (soon - (wanted - free), holds)
        capacity.take(tuple(now_free), ask.tenant)
        return True

    def give_soon(self) -> None:
        """Adds what is on its way to the (tentative) capacity."""
        for worker, (slots, holds) in self._soon.items():
            self._pool.capacity.loosen(worker, slots, holds)

    def can_preempt(self, priority: int) -> bool:
        """Whether any run that has not been asked yet is less important than `priority`."""
        if not self._pool.policy.preemption:
            return False
        self._load()
        return self._lowest is not None and self._lowest > priority

    def is_asked(self, run: Run) -> bool:
        return run.id in self._runs

    def _load(self) -> None:
        if self._is_loaded:
            return
        self._is_loaded = True
        if not self._pool.policy.preemption:
            return
        for run_id in self._pool.runs:
            run = self._cluster.runs[run_id]
            if is_being_released(self._cluster, run):
                self.add(run)
            else:
                priority = self._cluster.part_of(self._cluster.trials[run.trial]).priority
                self._lowest = max(self._lowest or 0, priority)


def is_being_released(cluster: Cluster, run: Run) -> bool:
    """Whether the run has been asked to end, or is ending."""
    if run.is_ended or run.preempted or run.exits:
        return True
    trial = cluster.trials.get(run.trial)
    return trial is None or trial.wish.wanted is not Wanted.RUN


def choose_victims(
    cluster: Cluster, pool: Pool, releasing: Releasing, ask: Ask, slots: int, priority: int
) -> tuple[RunId, ...]:
    """The runs to ask for their slots so that the request fits: less important ones only, the least important and
    newest first, and none that the others make needless. Empty when all of them together would not do."""
    candidates = [
        (cluster.part_of(cluster.trials[run.trial]).priority, run.token, run)
        for run in (cluster.runs[run_id] for run_id in pool.runs)
        if not releasing.is_asked(run) and not is_being_released(cluster, run)
    ]
    ordered = sorted((c for c in candidates if c[0] > priority), key=lambda c: (-c[0], -c[1]))
    chosen: list[Run] = []
    with pool.capacity.tentative():
        releasing.give_soon()
        for _, _, run in ordered:
            pool.capacity.give(_held(run))
            chosen.append(run)
            if pool.capacity.place(ask, slots) is not None:
                break
        else:
            return ()
    return tuple(run.id for run in _needed(pool, releasing, chosen, ask, slots))


def _needed(pool: Pool, releasing: Releasing, chosen: list[Run], ask: Ask, slots: int) -> list[Run]:
    """Spares the most important of the chosen that are not needed."""
    needed = list(chosen)
    for spared in reversed(chosen[:-1]):
        rest = [run for run in needed if run is not spared]
        with pool.capacity.tentative():
            releasing.give_soon()
            for run in rest:
                pool.capacity.give(_held(run))
            if pool.capacity.place(ask, slots) is not None:
                needed = rest
    return needed


def _held(run: Run) -> Placement:
    return tuple((share.worker, share.slots) for share in run.shares if share.worker not in run.released)
