"""Simulates a workload on a cluster under a policy and returns the figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from shared.ids import PoolName
from simulator.control.leader_term import Tempo
from simulator.experiments.submission import Submission
from simulator.files.schema import Cluster, Failures, Policy
from simulator.machines.machine import Machine
from simulator.machines.machine_slots import Kind
from simulator.observers.event_digest import Trace
from simulator.observers.experiments import ExperimentResult, Experiments
from simulator.observers.measures import Figures, Measures, TenantFigures, TrialFigures, figures, jain
from simulator.observers.scheduling_invariants import all_invariants
from simulator.policies import bookings_of, policy_of, quotas_of, rented_of
from simulator.simulation import Setup, Simulation
from simulator.trials import WorkloadTrial

POOL = PoolName("default")
NOTICED_MS = 4000
"""From a machine's failure until the scheduler declares it lost: a worker's lease."""
TEMPO = Tempo(tick_ms=10_000)
PROGRESS_EVERY = 100


@dataclass(frozen=True, slots=True)
class RentedResult:
    """Figures of the provider's machines. `taken`: reclaimed machines; `most`: peak number."""

    machines: int
    most: int
    machine_hours: float
    cost: float
    taken: int


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The figures of a simulation. `is_complete` False: the time limit was reached first, and trials that had
    not ended are left out.

    Attributes:
        utilisation: Slot time held by runs, divided by all slot time from the first arrival to the last end. A
            rented machine counts from its order to its end.
        fairness: Jain's index over the tenants' speeds.
        digest: Equal for equal input.
    """

    policy: str
    trials: int
    outcomes: dict[str, int]
    waiting: Figures
    completion: Figures
    makespan_s: float
    utilisation: float
    fairness: float
    placements: int
    preemptions: int
    resizes: int
    lost_runs: int
    restarts: int
    tenants: dict[str, TenantFigures]
    experiments: tuple[ExperimentResult, ...] = ()
    rented: RentedResult | None = None
    is_complete: bool = True
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The figures, and those of each trial."""

    result: SimulationResult
    served: Sequence[TrialFigures]


def simulate(
    policy: Policy,
    cluster: Cluster,
    items: Sequence[WorkloadTrial],
    seed: int = 0,
    until_s: float | None = None,
    is_checked: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    submissions: Sequence[Submission] = (),
) -> Answer:
    """Simulate a workload to its end, or for `until_s`.

    Args:
        items: Trials without a search.
        is_checked: Check every invariant after every event; slower.
        on_progress: Called at times with the number of trials and experiments that have ended, and the total.
        submissions: Experiments whose trials the searcher's core creates and stops.

    Raises:
        InvariantViolation: An invariant does not hold; this is a bug.
    """
    measures, experiments, trace = Measures(), Experiments(), Trace()
    pool = policy_of(policy, cluster, POOL)
    setup = Setup(
        pool, machines_of(cluster), items, seed, TEMPO,
        quotas=quotas_of(cluster), submissions=submissions, rented=rented_of(cluster, POOL),
        bookings=bookings_of(cluster),
    )  # fmt: skip
    watches = [*(all_invariants() if is_checked else ()), measures, experiments, trace]
    simulation = Simulation(setup, watches)
    measures.agenda = trace.agenda = simulation.agenda
    if cluster.failures is not None:
        _plan_failures(simulation, cluster.failures, simulation.chance("failures"))
    simulation.begin()
    is_complete = _run(simulation, until_s, on_progress)
    served = measures.served()
    result = _result(policy, simulation, measures, served)
    found = tuple(experiments.results(measures.slot_ms_of))
    complete = replace(result, experiments=found, rented=_rented(simulation), is_complete=is_complete)
    return Answer(replace(complete, digest=trace.digest), served)


def machines_of(cluster: Cluster) -> list[Kind]:
    """Return the machines of a cluster file."""
    return [
        Kind(group.worker(number), POOL, group.slots, group.kind, group.labels_of(number), group.host)
        for group in cluster.machines
        for number in range(group.count)
    ]


def _run(simulation: Simulation, until_s: float | None, on_progress: Callable[[int, int], None]) -> bool:
    until_ms = None if until_s is None else round(until_s * 1000)
    total = simulation.left
    while simulation.left:
        goal = max(0, simulation.left - PROGRESS_EVERY)
        is_reached = simulation.run(until_ms, goal)
        on_progress(total - simulation.left, total)
        if not is_reached:
            return False
    return True


def _plan_failures(simulation: Simulation, failures: Failures, chance: Random) -> None:
    """Schedule failures: each machine fails after an exponential time, is declared lost, comes back, and fails
    again."""
    mean_ms = failures.every_h * 3_600_000

    def fail_later(machine: Machine) -> None:
        simulation.agenda.after(int(chance.expovariate(1 / mean_ms)), partial(fail, machine))

    def fail(machine: Machine) -> None:
        machine.switch_off()
        simulation.agenda.after(NOTICED_MS, partial(simulation.notice, machine.kind.name))
        away_ms = max(NOTICED_MS + 1, round(failures.away_min * 60_000))
        simulation.agenda.after(away_ms, partial(return_, machine))

    def return_(machine: Machine) -> None:
        machine.switch_on()
        fail_later(machine)

    simulation.on_boot = fail_later


def _result(
    policy: Policy, simulation: Simulation, measures: Measures, served: Sequence[TrialFigures]
) -> SimulationResult:
    closed = [way.closed_ms for way in measures.ways.values() if way.closed_ms is not None]
    first_ms = min((way.item.arrives_ms for way in measures.ways.values()), default=0)
    span_ms = max(closed, default=first_ms) - first_ms
    offered_ms = span_ms * sum(kind.slots for kind in simulation.setup.machines)
    if simulation.provisioner is not None:
        offered_ms += round(
            sum(one.slots * hours for one, hours in simulation.provisioner.hours()) * 3_600_000
        )
    outcomes: dict[str, int] = {}
    for one in served:
        outcomes[one.outcome] = outcomes.get(one.outcome, 0) + 1
    tenants = measures.accounts(served)
    return SimulationResult(
        policy=policy.order,
        trials=len(served),
        outcomes=outcomes,
        waiting=figures(one.waited_s for one in served),
        completion=figures(one.took_s for one in served),
        makespan_s=span_ms / 1000,
        utilisation=min(1.0, measures.slot_ms / offered_ms) if offered_ms else 0.0,
        fairness=jain([account.speed for account in tenants.values()]),
        placements=measures.placements,
        preemptions=measures.preempted,
        resizes=measures.resized,
        lost_runs=measures.lost,
        restarts=measures.restarted,
        tenants=tenants,
    )


def _rented(simulation: Simulation) -> RentedResult | None:
    provisioner = simulation.provisioner
    if provisioner is None:
        return None
    hours = list(provisioner.hours())
    return RentedResult(
        machines=len(hours),
        most=provisioner.most,
        machine_hours=sum(each for _, each in hours),
        cost=provisioner.cost,
        taken=provisioner.cloud.taken,
    )
