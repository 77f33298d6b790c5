"""The desired set: who may speak, and what is new, known, dropped."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from muster.errors import Rejected
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId
from shared.messages.allocations import DesiredAllocation, DesiredSet
from shared.messages.trial_specs import GangMember, Signal, TrialSpec
from worker.core.desired_set import (
    FREE_TERMS,
    Gate,
    Sender,
    Workload,
    apply_desired,
    is_abandoned,
    is_orphaned,
    pass_gate,
)
from worker.core.gang.members import parse_address
from worker.core.run.desired import Desired
from worker.core.run.states import RunState
from worker.runs.messages import read_desired

ME = WorkerId("w1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MEMBERS = (
    GangMember(worker=WorkerId("w0"), slots=2),
    GangMember(worker=ME, slots=1),
    GangMember(worker=WorkerId("w2"), slots=2),
)
SPEC = TrialSpec(
    experiment_number=1, trial_number=1, entrypoint="x.py", seed=1, metric="loss", pool=PoolName("p")
)


def _allocation(number: int, spec: TrialSpec | None = SPEC, wanted: Signal = Signal.RUN) -> DesiredAllocation:
    return DesiredAllocation(
        allocation_id=AllocationId(UUID(int=number)),
        run_id=RunId(UUID(int=100 + number)),
        run_number=1,
        trial_id=TrialId(UUID(int=3)),
        experiment_id=ExperimentId(UUID(int=4)),
        tenant=UUID(int=5),
        token=1,
        generation=1,
        signal=wanted,
        members=MEMBERS,
        rendezvous="10.0.0.9:4000",
        spec=spec,
    )


def _desired(*allocations: DesiredAllocation) -> tuple[Desired, ...]:
    return read_desired(DesiredSet(worker=ME, epoch=1, sequence=1, allocations=allocations))


@pytest.mark.parametrize(
    ("epoch", "sequence", "refusal"),
    [
        (5, 10, "replayed_set"),
        (5, 11, None),
        (5, 9, "replayed_set"),
        (6, 0, None),
        (4, 99, "deposed_leader"),
    ],
)
def test_only_the_newest_set_of_the_newest_leader_passes(
    epoch: int, sequence: int, refusal: str | None
) -> None:
    _check_gate(Gate(5, 10, "A", Sender(5, 0, NOW, "A")), Sender(epoch, sequence, NOW, "A"), refusal)


@pytest.mark.parametrize(
    ("epoch", "since", "refusal"),
    [
        (5 + FREE_TERMS, NOW, None),
        (6 + FREE_TERMS, NOW, "epoch_implausible"),
        (6 + FREE_TERMS, NOW + timedelta(seconds=1), None),
        (10**12, NOW + timedelta(hours=1), "epoch_implausible"),
        (10**12, NOW + timedelta(days=400_000), "epoch_implausible"),
        (6, NOW - timedelta(hours=1), None),
        (6, None, "epoch_implausible"),
    ],
)
def test_an_epoch_that_the_lease_cannot_have_reached_does_not_pass(
    epoch: int, since: datetime | None, refusal: str | None
) -> None:
    first = Sender(5, 0, NOW, "A")
    _check_gate(Gate(5, 10, "A", first), Sender(epoch, 0, since, "A"), refusal)


def test_many_small_jumps_are_one_large_one() -> None:
    gate = pass_gate(Gate(), Sender(1, 0, NOW, "A"), NOW)
    gate = pass_gate(gate, Sender(1 + FREE_TERMS, 0, NOW, "A"), NOW)
    _check_gate(gate, Sender(2 + FREE_TERMS, 0, NOW, "A"), "epoch_implausible")


def test_another_key_starts_anew_and_an_earlier_worker_s_epoch_still_fences() -> None:
    stolen = Gate(900, 7, "A", Sender(5, 0, NOW, "A"))
    assert pass_gate(stolen, Sender(6, 1, NOW, "B"), NOW).epoch == 6
    _check_gate(Gate(900), Sender(6, 1, NOW, "A"), "deposed_leader")


def _check_gate(gate: Gate, sender: Sender, refusal: str | None) -> None:
    if refusal is None:
        after = pass_gate(gate, sender, NOW)
        assert (after.epoch, after.sequence) == (sender.epoch, sender.sequence)
        return
    with pytest.raises(Rejected) as caught:
        pass_gate(gate, sender, NOW)
    assert caught.value.code == refusal


def test_new_known_and_dropped() -> None:
    first = apply_desired({}, _desired(_allocation(1), _allocation(2)), ME)
    assert [run.allocation_id.int for run in first.new] == [1, 2]
    runs = {run.allocation_id: run for run in first.new}
    assert all(run.state is RunState.PREPARING for run in runs.values())
    second = apply_desired(runs, _desired(_allocation(1, None, Signal.STOP), _allocation(3)), ME)
    assert [run.allocation_id.int for run in second.new] == [3]
    changed = {run.allocation_id.int: run for run in second.changed}
    assert changed[1].request.signal is Signal.STOP
    assert changed[2].request.dropped
    assert apply_desired(runs, _desired(_allocation(1), _allocation(2)), ME).changed == ()


def test_an_unknown_allocation_without_its_spec_is_not_taken() -> None:
    assert apply_desired({}, _desired(_allocation(1, spec=None)), ME).new == ()


def test_who_is_no_member_is_refused() -> None:
    with pytest.raises(Rejected):
        apply_desired({}, _desired(_allocation(1)), WorkerId("stranger"))


def test_orphans() -> None:
    assert not is_orphaned(100.0, 1899.9)
    assert is_orphaned(100.0, 1900.0)


def test_a_rented_machine_is_left_when_nobody_speaks_and_nothing_is_on_it() -> None:
    nothing, owing, running = Workload(False, False), Workload(False, True), Workload(True, True)
    assert is_abandoned(60.0, 60.0, nothing) and not is_abandoned(59.9, 60.0, nothing)
    assert is_abandoned(480.0, 60.0, owing) and not is_abandoned(479.9, 60.0, owing)
    assert not is_abandoned(1e9, 60.0, running)
    assert not is_abandoned(1e9, None, nothing), "a machine of one's own waits for ever"


def test_addresses() -> None:
    assert parse_address("10.0.0.1:80") == ("10.0.0.1", 80)
    assert parse_address("fe80::1:80") == ("fe80::1", 80)
    for text in ("", "host", ":80", "host:x"):
        with pytest.raises(ValueError, match=r"host:port|invalid literal"):
            parse_address(text)
