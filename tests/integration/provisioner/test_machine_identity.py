"""A rented machine joins by what its provider has signed of it, once; one that cannot be let in is ended, and its pool says why."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from shared.bus import Bus
from shared.errors import Rejected
from shared.ids import SITE, WorkerId
from shared.messages.instances import InstanceChanged, ProviderChanged
from shared.messages.machine_pools import IdentifyMachine
from shared.messages.workers import WorkerRefused
from tests.integration.provisioner.neighbours import Around
from tests.integration.provisioner.renting import RENTED, Rented
from tests.support.ec2_proxy import faulty_ec2
from tests.support.instance_identity import Signer
from tests.support.waiting import eventually


@pytest.fixture
async def rented(world: Around, moto: str, tmp_path: Path) -> AsyncIterator[Rented]:
    async with faulty_ec2(moto) as ec2:
        yield Rented(world, ec2, tmp_path, {("g5.xlarge", "us-east-1a"): 1.0})


@pytest.fixture
async def gateway(rented: Rented) -> AsyncIterator[Bus]:
    """Who asks for the machine."""
    servers = rented.world.servers
    async with await Bus.connect(servers.nats.url, "gateway", servers.keys.credentials("gateway")) as bus:
        yield bus


async def test_a_machine_joins_once_by_its_identity_and_carries_no_token(
    rented: Rented, gateway: Bus, tmp_path: Path
) -> None:
    signer = Signer(tmp_path)
    async with rented.world.provisioner(**rented.settings(identity_certificates=str(signer.certificate))):
        await rented.define()
        await rented.need(2)
        await eventually(lambda: len(_workers(rented, "joining")) == 2)
        assert rented.world.issued == [], "no token is in what the machines were given"
        first, second = await rented.world.rows("SELECT worker, external_id FROM provisioner.instance")

        async def shown(worker: str, instance: str) -> str:
            question = IdentifyMachine(worker=WorkerId(worker), **signer.identity(instance))
            return (await gateway.ask(question, SITE, 10.0)).token

        token = await shown(first["worker"], first["external_id"])
        assert token == f"for-{first['worker']}"
        (issued,) = rented.world.issued
        assert (issued.pool, issued.worker, issued.life_s) == (RENTED, first["worker"], 60.0)
        await rented.world.join(WorkerId(first["worker"]))
        await rented.world.is_told(first["worker"], "ready")
        for worker, instance in (
            (first["worker"], first["external_id"]),
            (second["worker"], first["external_id"]),
            ("w-stranger", first["external_id"]),
        ):
            with pytest.raises(Rejected) as refused:
                await shown(worker, instance)
            assert refused.value.code == "bad_identity"


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (
            "version_mismatch",
            "the worker runs muster-platform 0.0.9, but the platform runs 0.2.0",
            "aws: version",
        ),
        ("machine_unfit", "8 GPUs are asked for, 4 were found", "g5.xlarge in us-east-1a: unfit"),
    ],
)
async def test_a_machine_that_cannot_serve_is_ended_and_the_pool_says_why(
    rented: Rented, code: Any, reason: str, message: str
) -> None:
    async with rented.world.provisioner(**rented.settings()):
        await rented.define()
        await rented.need(1)
        await eventually(lambda: len(_workers(rented, "joining")) == 1)
        (worker,) = _workers(rented, "joining")
        refused = WorkerRefused(worker=WorkerId(worker), pool=RENTED, code=code, reason=reason)
        await rented.world.tell(refused)
        await rented.world.is_told(worker, "failed")

        def says_why() -> bool:
            faults = [
                one.fault or "" for one in rented.world.published(ProviderChanged) if one.pool == RENTED
            ]
            return any(f"{message}, next attempt at" in one and f"{reason}: " in one for one in faults)

        await eventually(says_why)
    assert rented.ec2.calls["RunInstances"] == 1, "another of the same image is not rented"


def _workers(rented: Rented, state: str) -> set[str]:
    published = rented.world.published(InstanceChanged)
    return {one.worker for one in published if one.pool == RENTED and one.state == state}
