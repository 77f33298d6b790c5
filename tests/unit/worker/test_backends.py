"""The contract of every way of training together, and what each says in its own words."""

from importlib import import_module

import pytest

from muster.config.optimizations import Distributed, Optimizations
from muster.errors import Rejected
from shared.ids import WorkerId
from shared.messages.trial_specs import GangMember
from tests.support.missing_dependency import missing
from worker.core.gang.assignment import RankAssignment
from worker.core.gang.backends.interface import Backend, RankPosition, Rendezvous
from worker.core.gang.members import BACKENDS, assign_ranks

MEMBERS = (
    GangMember(worker=WorkerId("w0"), slots=2, address="10.0.0.1"),
    GangMember(worker=WorkerId("w1"), slots=1, address="10.0.0.2"),
    GangMember(worker=WorkerId("w2"), slots=2, address="10.0.0.3"),
)
ALONE = (GangMember(worker=WorkerId("w0"), slots=1),)
MEETING = Rendezvous("10.0.0.1", 4000)
EVERY = pytest.mark.parametrize("distributed", sorted(BACKENDS))


def seats_of(members: tuple[GangMember, ...], distributed: Distributed) -> list[RankAssignment]:
    return [assign_ranks(members, member.worker, distributed) for member in members]


def places_of(
    members: tuple[GangMember, ...], distributed: Distributed, run: str = "7.1"
) -> list[tuple[RankPosition, dict[str, str]]]:
    backend: Backend = BACKENDS[distributed]
    found = []
    for assignment in seats_of(members, distributed):
        for local in range(assignment.ranks):
            place = RankPosition(run, members, assignment, local)
            meeting = MEETING if assignment.is_gang else None
            found.append((place, backend.variables(place, meeting, Optimizations())))
    return found


@EVERY
def test_every_process_has_a_number_of_its_own(distributed: Distributed) -> None:
    for members in (MEMBERS, ALONE):
        paths = [place for place, _ in places_of(members, distributed)]
        assert [place.rank for place in paths] == list(range(paths[0].assignment.size))
        assert [assignment.is_chief for assignment in seats_of(members, distributed)] == [
            index == 0 for index in range(len(members))
        ]


@EVERY
def test_a_member_without_slots_runs_a_process(distributed: Distributed) -> None:
    assignment = assign_ranks((GangMember(worker=WorkerId("w0"), slots=0),), WorkerId("w0"), distributed)
    assert (assignment.ranks, assignment.size, assignment.is_gang) == (1, 1, False)


@EVERY
def test_who_is_no_member_has_no_seat(distributed: Distributed) -> None:
    with pytest.raises(Rejected):
        assign_ranks(MEMBERS, WorkerId("stranger"), distributed)


@EVERY
def test_no_two_processes_are_told_the_same_and_all_are_told_alike(distributed: Distributed) -> None:
    told = [variables for _, variables in places_of(MEMBERS, distributed)]
    assert len({tuple(sorted(variables.items())) for variables in told}) == len(told)
    assert len({frozenset(variables) for variables in told}) == 1
    assert all(isinstance(value, str) for variables in told for value in variables.values())


@EVERY
def test_nothing_of_a_users_own_names_is_taken(distributed: Distributed) -> None:
    names = {name for _, variables in places_of(MEMBERS, distributed) for name in variables}
    assert not names & {"PATH", "HOME", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"}


@EVERY
def test_nccl_is_told_of_the_interface_on_gpus_alone(distributed: Distributed) -> None:
    backend = BACKENDS[distributed]
    assert "NCCL_SOCKET_IFNAME" not in backend.network("eth1", on_gpu=False)
    on_gpu = backend.network("eth1", on_gpu=True)
    assert on_gpu["NCCL_SOCKET_IFNAME"] == "=eth1"
    assert on_gpu["GLOO_SOCKET_IFNAME"] == "eth1"


def test_ranks_run_through_the_members_by_their_slots() -> None:
    for distributed in ("horovod", "torch"):
        assert [
            (assignment.first_rank, assignment.ranks, assignment.size, assignment.is_gang)
            for assignment in seats_of(MEMBERS, distributed)
        ] == [(0, 2, 5, True), (2, 1, 5, True), (3, 2, 5, True)]
    assert [
        (assignment.first_rank, assignment.ranks, assignment.size, assignment.is_gang)
        for assignment in seats_of(MEMBERS, "none")
    ] == [
        (0, 1, 3, False),
        (1, 1, 3, False),
        (2, 1, 3, False),
    ]


def test_horovod_is_told_what_its_own_assignment_says() -> None:
    try:
        hosts = import_module("horovod.runner.common.util.hosts")
    except ImportError:
        missing("Horovod", "run `make setup`")
    written = BACKENDS["horovod"].hosts(MEMBERS)
    assert written == "m0:2,m1:1,m2:2"
    assigned = hosts.get_host_assignments(hosts.parse_hosts(written), 5, 5)
    for (_, found), one in zip(places_of(MEMBERS, "horovod"), assigned, strict=True):
        assert found["HOROVOD_RANK"] == str(one.rank)
        assert found["HOROVOD_LOCAL_RANK"] == str(one.local_rank)
        assert found["HOROVOD_CROSS_RANK"] == str(one.cross_rank)
        assert (found["HOROVOD_CROSS_SIZE"], found["HOROVOD_LOCAL_SIZE"]) == (
            str(one.cross_size),
            str(one.local_size),
        )
        assert found["HOROVOD_HOSTNAME"] == one.hostname
        assert (found["HOROVOD_GLOO_RENDEZVOUS_ADDR"], found["HOROVOD_GLOO_RENDEZVOUS_PORT"]) == (
            "10.0.0.1",
            "4000",
        )


def test_horovod_is_told_how_to_fuse() -> None:
    [assignment, *_] = seats_of(MEMBERS, "horovod")
    told = Optimizations(tensor_fusion_threshold=32, auto_tune_tensor_fusion=True)
    found = BACKENDS["horovod"].variables(RankPosition("7.1", MEMBERS, assignment, 0), MEETING, told)
    assert (found["HOROVOD_FUSION_THRESHOLD"], found["HOROVOD_AUTOTUNE"]) == ("33554432", "1")


def test_each_ranks_exchange_keeps_to_the_core_of_its_slot() -> None:
    def told(members: tuple[GangMember, ...], cores: tuple[int, ...]) -> list[str | None]:
        paths = [place for place, _ in places_of(members, "horovod") if place.local == 0]
        return [BACKENDS["horovod"].threads(place, cores).get("HOROVOD_THREAD_AFFINITY") for place in paths]

    def member(name: str, *slots: int, address: str = "10.0.0.1") -> GangMember:
        return GangMember(worker=WorkerId(name), slots=len(slots), slot_ids=slots, address=address)

    elsewhere = member("w1", 3, address="10.0.0.2")
    assert told((member("w0", 1, 2), elsewhere), cores=(4, 5, 6, 7)) == ["5,6", "7"]
    assert told((member("w0", 0), member("w1", 0)), cores=(0, 1)) == ["0", "1"], "two workers, one machine"
    assert told((member("w0", 0), member("w1", 0)), cores=(0,)) == [None, None], "fewer cores than ranks"
    assert told((member("w0", 6, 7),), cores=(0, 1)) == ["0,1"], "more slots than cores"
    assert told((member("w0", 1),), cores=(0, 1)) == [None], "alone it exchanges nothing"
    assert told((member("w0", 0), elsewhere), cores=()) == [None, None], "its slots are GPUs"


def test_a_torch_rank_is_told_what_torchrun_would_say() -> None:
    _, found = places_of(MEMBERS, "torch")[3]
    assert found == {
        "RANK": "3",
        "WORLD_SIZE": "5",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "2",
        "GROUP_WORLD_SIZE": "3",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "4000",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }


def test_a_launcher_of_ones_own_is_told_where_it_is() -> None:
    told = [variables for _, variables in places_of(MEMBERS, "none")]
    assert [one["MUSTER_NODE_RANK"] for one in told] == ["0", "1", "2"]
    assert [one["MUSTER_SLOTS"] for one in told] == ["2", "1", "2"]
    for one in told:
        assert (one["MUSTER_NODES"], one["MUSTER_NODE_ADDRESSES"]) == ("3", "10.0.0.1,10.0.0.2,10.0.0.3")
        assert (one["MASTER_ADDR"], one["PET_MASTER_ADDR"]) == ("10.0.0.1", "10.0.0.1")
        assert one["PET_NPROC_PER_NODE"] == one["MUSTER_SLOTS"]
    [port] = {one["MASTER_PORT"] for one in told}
    assert 20_000 <= int(port) < 32_000
    again = {one["MASTER_PORT"] for _, one in places_of(MEMBERS, "none", run="8.1")}
    assert again != {port}, "a port that was taken must not be met again by the next attempt"
