"""Fault injection: faults are drawn from the seed before the simulation begins, so that a schedule can be read,
reduced and stored.

The faults: machines and daemons die, machines are reclaimed, links and
bus are cut, the database is down, scheduler processes die between two steps or freeze, and owners change the
desired state of trials.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Literal
from uuid import UUID

from services.searcher.core.editing import SearchEdit
from services.searcher.core.reducers.commands import cancel, edit_search, finish, pause, resume
from shared.ids import ExperimentId, WorkerId
from shared.messages.trial_specs import DesiredState
from simulator.control.scheduler_process import Drained, Removed
from simulator.machines.machine import Machine
from simulator.provisioning.provisioner import POINTS as PROVISIONER_POINTS
from simulator.searching.searcher import POINTS as SEARCHER_POINTS
from simulator.simulation import Simulation

Fault = Literal[
    "power_lost", "daemon_restarted", "worker_cut_off", "spot_taken", "bus_down", "database_down",
    "scheduler_died", "scheduler_froze", "scheduler_cut_off", "mind_changed", "searcher_died", "search_steered",
    "provisioner_died",
]  # fmt: skip
POINTS = ("before_save", "after_save", "before_desired", "after_handler_commit")
NOTICE_MS = 120_000
REQUESTS = (
    DesiredState.PARK,
    DesiredState.RUN,
    DesiredState.RUN,
    DesiredState.STOP,
    DesiredState.CANCEL,
    DesiredState.KILL,
)


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """One fault: kind, time, duration, and numbers that choose the target and the variant."""

    at_ms: int
    fault: Fault
    lasts_ms: int
    whom: int
    how: int


def draw(
    chance: Random,
    count: int,
    until_ms: int,
    faults: Iterable[Fault],
    longest_ms: int,
) -> list[InjectedFault]:
    """Draw `count` faults at random times before `until_ms`. Durations are log-uniform from 0.1 s to `longest_ms`."""
    kinds = tuple(faults)
    return sorted(
        (
            InjectedFault(
                at_ms=chance.randrange(until_ms),
                fault=chance.choice(kinds),
                lasts_ms=int(100 * (longest_ms / 100) ** chance.random()),
                whom=chance.randrange(1_000_000),
                how=chance.randrange(1_000_000),
            )
            for _ in range(count)
        ),
        key=lambda trouble: trouble.at_ms,
    )


class Faults:
    """Injects faults into a simulation, and reverts them after their duration."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._agenda = simulation.agenda
        self._down: dict[str, int] = {}
        self._joined = 0
        self.troubled: set[WorkerId] = set()
        """Workers that are failing now."""

    def plan(self, troubles: Iterable[InjectedFault]) -> None:
        for trouble in troubles:
            self._agenda.at(trouble.at_ms, partial(self._begin, trouble))

    def _begin(self, trouble: InjectedFault) -> None:
        doing: Mapping[Fault, Callable[[InjectedFault], None]] = {
            "power_lost": self._lose_power,
            "daemon_restarted": self._restart_daemon,
            "worker_cut_off": self._cut_worker,
            "spot_taken": self._take_spot,
            "bus_down": self._stop_bus,
            "database_down": self._stop_database,
            "scheduler_died": self._kill_scheduler,
            "scheduler_froze": self._freeze_scheduler,
            "scheduler_cut_off": self._cut_scheduler,
            "mind_changed": self._change_mind,
            "searcher_died": self._kill_searcher,
            "search_steered": self._steer_search,
            "provisioner_died": self._kill_provisioner,
        }
        doing[trouble.fault](trouble)

    def _lose_power(self, trouble: InjectedFault) -> None:
        machine = self._machine(trouble)
        if machine is None:
            return
        self._trouble(machine.kind.name)
        machine.switch_off()
        self._agenda.after(trouble.lasts_ms, lambda: self._power_up(machine))

    def _power_up(self, machine: Machine) -> None:
        self.troubled.discard(machine.kind.name)
        if self._simulation.stands(machine.kind.name):
            machine.switch_on()

    def _restart_daemon(self, trouble: InjectedFault) -> None:
        machine = self._machine(trouble)
        if machine is not None:
            machine.restart_daemon()

    def _cut_worker(self, trouble: InjectedFault) -> None:
        machine = self._machine(trouble)
        if machine is None:
            return
        self._trouble(machine.kind.name)
        self._cut(str(machine.kind.name), trouble, lambda: self._heal(machine.kind.name))

    def _take_spot(self, trouble: InjectedFault) -> None:
        """Give notice, remove the machine two minutes later, and let a replacement join after a while."""
        machine = self._machine(trouble)
        if machine is None:
            return
        name = machine.kind.name
        self._trouble(name)
        self._simulation.inbound.publish(Drained(name, reclaim=True))
        self._agenda.after(NOTICE_MS, lambda: self._take_away(machine))
        self._agenda.after(NOTICE_MS + trouble.lasts_ms, lambda: self._replace(machine))

    def _take_away(self, machine: Machine) -> None:
        machine.switch_off()
        self._simulation.inbound.publish(Removed(machine.kind.name))

    def _replace(self, machine: Machine) -> None:
        self._joined += 1
        kind = machine.kind
        self._simulation.join(replace(kind, name=WorkerId(f"new-{self._joined}")))

    def _stop_bus(self, trouble: InjectedFault) -> None:
        self._hold("bus")
        self._simulation.wire.is_down = True

        def mend() -> None:
            if self._free("bus"):
                self._simulation.wire.is_down = False

        self._agenda.after(trouble.lasts_ms, mend)

    def _stop_database(self, trouble: InjectedFault) -> None:
        self._hold("database")
        self._simulation.records.is_up = False

        def mend() -> None:
            if self._free("database"):
                self._simulation.records.is_up = True

        self._agenda.after(trouble.lasts_ms, mend)

    def _kill_scheduler(self, trouble: InjectedFault) -> None:
        """Kill the leader immediately or at its next fault point; it restarts."""
        nodes = self._simulation.nodes
        node = next((node for node in nodes if node.leader), nodes[trouble.whom % len(nodes)])
        if not node.is_up:
            return
        if trouble.how % 2:
            node.die(trouble.lasts_ms)
        else:
            node.dies_at = POINTS[trouble.how // 2 % len(POINTS)], trouble.lasts_ms

    def _freeze_scheduler(self, trouble: InjectedFault) -> None:
        nodes = self._simulation.nodes
        node = next((node for node in nodes if node.leader), nodes[trouble.whom % len(nodes)])
        if node.is_up:
            node.freeze()
            self._agenda.after(trouble.lasts_ms, node.thaw)

    def _cut_scheduler(self, trouble: InjectedFault) -> None:
        nodes = self._simulation.nodes
        self._cut(nodes[trouble.whom % len(nodes)].name, trouble, lambda: None)

    def _change_mind(self, trouble: InjectedFault) -> None:
        orders = list(self._simulation.owner.orders)
        if orders:
            wanted = REQUESTS[trouble.how % len(REQUESTS)]
            self._simulation.owner.steer(orders[trouble.whom % len(orders)], wanted)

    def _kill_searcher(self, trouble: InjectedFault) -> None:
        """Kill it immediately or at its next fault point; it restarts."""
        searcher = self._simulation.searcher
        at_once, point = trouble.how % 2, SEARCHER_POINTS[trouble.how // 2 % len(SEARCHER_POINTS)]
        if not searcher.is_up:
            return
        if at_once:
            searcher.die(trouble.lasts_ms)
        else:
            searcher.dies_at = point, trouble.lasts_ms

    def _kill_provisioner(self, trouble: InjectedFault) -> None:
        """Kill it immediately or at its next fault point; it restarts."""
        provisioner = self._simulation.provisioner
        if provisioner is None or not provisioner.is_up:
            return
        if trouble.how % 2:
            provisioner.die(trouble.lasts_ms)
        else:
            point = PROVISIONER_POINTS[trouble.how // 2 % len(PROVISIONER_POINTS)]
            provisioner.dies_at = point, trouble.lasts_ms

    def _steer_search(self, trouble: InjectedFault) -> None:
        """Pause an experiment and resume it later, end it, or extend its search."""
        searcher = self._simulation.searcher
        experiments = list(searcher.rows.experiments)
        if not experiments:
            return
        experiment = experiments[trouble.whom % len(experiments)]
        match trouble.how % 8:
            case 0:
                searcher.command(experiment, lambda changes: cancel(changes, DesiredState.CANCEL))
            case 1:
                searcher.command(experiment, lambda changes: cancel(changes, DesiredState.KILL))
            case 2:
                searcher.command(experiment, finish)
            case 3:
                planned = searcher.rows.experiments[experiment].experiment.planned or 1
                change = SearchEdit(planned + trouble.how // 8 % 5, 1 + trouble.how // 8 % 4)
                searcher.command(
                    experiment, lambda changes: edit_search(changes, change, UUID(int=trouble.how))
                )
            case _:
                searcher.command(experiment, pause)
                self._agenda.after(trouble.lasts_ms, lambda: self._resume(experiment))

    def _resume(self, experiment: ExperimentId) -> None:
        """Resume, and repeat every minute, because an earlier command may overtake it."""
        searcher = self._simulation.searcher
        if not searcher.rows.experiments[experiment].experiment.is_final:
            searcher.command(experiment, resume)
            self._agenda.after(60_000, lambda: self._resume(experiment))

    def _cut(self, place: str, trouble: InjectedFault, then: Callable[[], None]) -> None:
        """Cut both directions or one of them."""
        wire = self._simulation.wire
        sets = [(wire.deaf, wire.mute), (wire.deaf,), (wire.mute,)][trouble.how % 3]
        for cut in sets:
            cut.add(place)
        self._hold(place)

        def mend() -> None:
            if self._free(place):
                wire.deaf.discard(place)
                wire.mute.discard(place)
                then()

        self._agenda.after(trouble.lasts_ms, mend)

    def _machine(self, trouble: InjectedFault) -> Machine | None:
        """Return a machine that runs and has no other fault."""
        healthy = [
            m for name, m in self._simulation.machines.items() if m.is_on and name not in self.troubled
        ]
        return healthy[trouble.whom % len(healthy)] if healthy else None

    def _trouble(self, worker: WorkerId) -> None:
        self.troubled.add(worker)
        self._simulation.watch.on_trouble(worker)

    def _heal(self, worker: WorkerId) -> None:
        self._simulation.watch.on_trouble(worker)
        self.troubled.discard(worker)

    def _hold(self, what: str) -> None:
        self._down[what] = self._down.get(what, 0) + 1

    def _free(self, what: str) -> bool:
        self._down[what] -= 1
        return self._down[what] == 0
