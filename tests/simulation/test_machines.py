"""Machines that come and go as the provisioner's own core says: up for what waits, down when idle, through failures and spot losses."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.planning import plan, sizing
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.scheduler.core.reducers import draining
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.state.published_events import WorkerEmptied
from services.scheduler.core.state.records.worker import Drain, Worker
from simulator.faults import Fault
from simulator.observers.invariant import InvariantViolation
from simulator.observers.scheduling_invariants import all_invariants
from simulator.provisioning.cloud import CloudBehavior
from simulator.provisioning.connections import Rented
from simulator.provisioning.provisioner import Provisioner
from simulator.simulation import Setup, Simulation
from simulator.trials import PlainWork, WorkloadTrial
from tests.simulation.worlds import EVERY_FAULT, MINUTE_MS, POOL, World, world
from tests.support.drill_share import examples
from tests.support.policies import plain

OFFER = Offer(MachineKind("machine", "cloud", 8, "cuda"), price_per_hour=3.0)
SPEC = PoolSpec(POOL, (OFFER,), 0, 4, timedelta(minutes=2), timedelta(minutes=5))
FAULTS: tuple[Fault, ...] = tuple(fault for fault in EVERY_FAULT if fault != "spot_taken")
DAY_MS = 24 * 60 * MINUTE_MS


def rented(seed: int) -> Rented:
    chance = Random(f"{seed}/offer")
    spec = replace(SPEC, minimum=chance.choice([0, 1]))
    taken_every_ms = chance.choice([None, 5 * MINUTE_MS])
    return Rented(
        spec, CloudBehavior(chance.choice([5_000, 60_000]), 0.5, chance.choice([0.0, 0.2]), taken_every_ms)
    )


def provisioner_of(simulation: Simulation) -> Provisioner:
    assert simulation.provisioner is not None
    return simulation.provisioner


def goes_home(ended: World) -> None:
    """When nothing waits any more only the minimum stays."""
    simulation = ended.simulation
    provisioner = provisioner_of(simulation)
    least, until_ms = provisioner.spec.minimum, simulation.agenda.now_ms + 120 * MINUTE_MS
    while len(provisioner.live) > least and simulation.agenda.now_ms < until_ms:
        simulation.agenda.step()
    assert len(provisioner.live) <= least
    assert len(provisioner.cloud.observe()) <= least


@pytest.mark.parametrize("seed", range(examples(10, 100)))
def test_all_work_ends_on_machines_that_come_and_go_whatever_fails(seed: int) -> None:
    ended = world(seed, FAULTS, count=12, searches=1, rented=rented(seed))
    ended.end(after_ms=DAY_MS)
    goes_home(ended)


def test_a_provisioner_that_dies_again_and_again_leaks_no_machine() -> None:
    for seed in range(400, 404):
        ended = world(seed, ["provisioner_died"], count=12, rented=rented(seed))
        ended.end(after_ms=DAY_MS)
        goes_home(ended)


def test_a_trial_waits_for_its_machine_and_the_next_finds_it_there() -> None:
    items = [
        WorkloadTrial(
            f"trial {at}", at * MINUTE_MS, PlainWork(10 * MINUTE_MS, 8), 8, 8, launch_ms=0, upload_ms=0
        )
        for at in (0, 12, 30)
    ]
    manners = CloudBehavior(boot_ms=MINUTE_MS, boot_spread=0.0)
    setup = Setup(plain(POOL), [], items, rented=Rented(SPEC, manners))
    simulation = Simulation(setup, all_invariants())
    simulation.begin()
    assert simulation.run(120 * MINUTE_MS)
    provisioner = provisioner_of(simulation)
    runs = sorted(simulation.records.runs.values(), key=lambda run: run.token)
    first, second, third = (run.chief for run in runs)
    assert first == second != third, "after two idle minutes it was ended, and another was rented"
    hours = [hours for _, hours in provisioner.hours()]
    assert hours[0] == pytest.approx((22 + 2) / 60, abs=0.02)
    assert provisioner.cost == pytest.approx(3.0 * sum(hours))


def test_a_pool_that_grows_beyond_its_maximum_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sizing.plan_size
    monkeypatch.setattr(plan, "plan_size", lambda spec, *rest: whole(replace(spec, maximum=9), *rest))
    fails("never above the maximum")


def test_a_machine_that_is_called_empty_under_its_runs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def hastily(draft: Draft, worker: Worker) -> None:
        if worker.drain is Drain.DRAINING:
            draft.emit(WorkerEmptied(worker))

    monkeypatch.setattr(draining, "finish", hastily)
    monkeypatch.setattr(sizing, "_idle_too_long", lambda spec, status, staying, now: list(staying))
    fails("no machine ended under a run")


def fails(words: str) -> None:
    def run_all() -> None:
        for seed in range(40):
            world(seed, rented=rented(seed)).end(after_ms=DAY_MS)

    with pytest.raises(InvariantViolation, match=words):
        run_all()
