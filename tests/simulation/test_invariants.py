"""The net catches fish: each invariant fails when the rule that it guards is taken out of a core."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from services.registry.runs.core.fencing import Fence
from services.scheduler.core import scheduling
from services.scheduler.core.planning import plan
from services.scheduler.core.planning.plan import Grant
from services.scheduler.core.reducers import run_completion
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.state import machine_refresh
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes import running_allocations
from services.scheduler.core.state.liveness import SilenceDetector
from services.scheduler.core.state.records.run import Progress, Run
from shared.ids import PoolName, WorkerId
from simulator.faults import Fault, InjectedFault
from simulator.observers.invariant import InvariantViolation
from tests.simulation.worlds import EVERY_FAULT, MINUTE_MS, world


def seeds_fail(
    words: str, troubles: Sequence[InjectedFault] = (), faults: Iterable[Fault] = EVERY_FAULT
) -> None:
    def run_all() -> None:
        for seed in range(60):
            world(seed, faults, count=12, troubles=troubles).end()

    with pytest.raises(InvariantViolation, match=re.escape(words)):
        run_all()


def test_slots_that_a_grant_does_not_occupy_are_granted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "_occupy", lambda self, run: None)
    seeds_fail("no slot is granted beyond its whole", faults=())


def test_a_sink_without_fencing_takes_stale_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fence, "is_stale", False)
    seeds_fail("no write of a stale token accepted", faults=["worker_cut_off"])


def test_a_sink_that_takes_writes_of_runs_that_were_lost_or_ended_by_force_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Fence, "is_stale", property(lambda fence: fence.newest_token > fence.token))
    seeds_fail("no write of a stale token accepted", faults=["worker_cut_off"])


def test_a_successor_that_does_not_wait_for_uploads_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Progress, "is_settled", True)
    seeds_fail("no successor granted before its predecessor's checkpoints", faults=())


def test_a_plan_that_grants_what_there_is_breaks_gangs(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = plan.plan

    def cut_short(cluster: Cluster, pools: Sequence[PoolName], **how: object) -> plan.SchedulingPlan:
        planned = whole(cluster, pools)
        return replace(planned, grants=tuple(_less(grant) for grant in planned.grants))

    monkeypatch.setattr(scheduling, "plan", cut_short)
    seeds_fail("gangs whole", faults=())


def test_a_request_whose_end_is_not_told_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    end = run_completion._end

    def silently(draft: Draft, run: Run, *rest: Any) -> None:
        end(draft, run, *rest)
        draft.facts = draft.facts[:-1] if run.number == 1 else draft.facts

    monkeypatch.setattr(run_completion, "_end", silently)
    with pytest.raises(AssertionError, match="never closed"):
        world(1).end(after_ms=10 * MINUTE_MS)


def test_a_leader_that_does_not_listen_to_its_own_echo_ends_healthy_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def take_silent(self: SilenceDetector, now: float) -> list[WorkerId]:
        silent = sorted(
            w for w, at in self._last_heartbeat.items() if now - max(at, self._floor) > self._lease_s
        )
        for worker in silent:
            del self._last_heartbeat[worker]
        return silent

    monkeypatch.setattr(SilenceDetector, "take_silent", take_silent)
    trouble = InjectedFault(60_000, "bus_down", MINUTE_MS, whom=0, how=0)
    seeds_fail("no healthy run killed", troubles=[trouble], faults=())


def test_turns_that_are_over_at_once_are_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    made = running_allocations.running_allocation_of
    monkeypatch.setattr(
        machine_refresh, "running_allocation_of", lambda *args: made(*args)._replace(slice_end_ms=0)
    )
    seeds_fail("no time slice cut short", faults=())


def _less(grant: Grant) -> Grant:
    *others, (worker, slots) = grant.placement
    return grant._replace(placement=(*others, (worker, slots - 1))) if slots > 1 else grant
