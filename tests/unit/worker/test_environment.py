"""What a rank sees of its machine: the GPUs that it was granted, and folders of its own."""

from pathlib import Path
from uuid import UUID

import pytest

from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId
from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember, Signal, SlotKind, TrialSpec
from worker.core.gang.assignment import Gang, RankAssignment
from worker.core.run.records import LocalRun
from worker.machine.cgroups import Bounds, Cgroups
from worker.machine.host import Machine
from worker.paths import RunPaths
from worker.ranks.launch.environment import rank_environment

ME = WorkerId("w1")
RUN = LocalRun(AllocationId(UUID(int=1)), RunId(UUID(int=2)), 1, Gang(1, RankAssignment(0, 1, 0, 1, 1)))


def environment_on(kind: SlotKind, slot_ids: tuple[int, ...]) -> dict[str, str]:
    machine = Machine(
        worker=ME,
        disk=Path("/w"),
        address="127.0.0.1",
        socket=Path("/w/ranks.sock"),
        path="/bin",
        kind=kind,
        account=None,
        run_bytes=None,
        cgroups=Cgroups(ME, Bounds(None, None)),
        niceness=0,
        libraries={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"},
    )
    allocation = DesiredAllocation(
        allocation_id=RUN.allocation_id,
        run_id=RUN.run_id,
        run_number=1,
        trial_id=TrialId(UUID(int=3)),
        experiment_id=ExperimentId(UUID(int=4)),
        tenant=UUID(int=5),
        token=1,
        generation=1,
        signal=Signal.RUN,
        members=(GangMember(worker=ME, slots=len(slot_ids), slot_ids=slot_ids),),
        spec=TrialSpec(
            experiment_number=1, trial_number=1, entrypoint="x.py", seed=1, metric="loss", pool=PoolName("p")
        ),
    )
    return rank_environment(0, RUN, allocation, RunPaths(Path("/w/runs/2")), machine)


@pytest.mark.parametrize(
    ("kind", "slot_ids", "visible"), [("cuda", (2, 5), "2,5"), ("cuda", (), ""), ("cpu", (0,), "")]
)
def test_a_rank_sees_the_gpus_that_it_was_granted_and_no_others(
    kind: SlotKind, slot_ids: tuple[int, ...], visible: str
) -> None:
    """A slot that is a core has none, on a machine with GPUs too; numbers are nvidia-smi's, where CUDA counts the fastest first."""
    environment = environment_on(kind, slot_ids)
    assert environment["CUDA_VISIBLE_DEVICES"] == visible
    assert environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_programs_that_a_rank_starts_find_the_machines_libraries() -> None:
    """A fork of the warm parent finds a driver where its parent did; what is executed goes by the variable."""
    assert environment_on("cuda", (0,))["LD_LIBRARY_PATH"] == "/usr/local/nvidia/lib64"


def test_what_a_rank_compiles_is_kept_in_its_own_home() -> None:
    """The warm parent, which has imported Triton, has another home, where a trial's own user may not write."""
    environment = environment_on("cuda", (0,))
    assert environment["TRITON_HOME"] == environment["HOME"] == "/w/runs/2/home"
