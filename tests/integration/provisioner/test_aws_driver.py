"""The driver `aws` against moto's server behind a proxy that has EC2's faults: the contract of drivers, and what is its own."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.launches import Intent, Presence, worker_at
from services.provisioner.drivers.aws.client import Credentials, Ec2, open_client
from services.provisioner.drivers.aws.driver import AwsDriver
from services.provisioner.drivers.aws.request import AwsSite
from services.provisioner.drivers.bootstrap import Bootstrap
from services.provisioner.drivers.driver import MachineRef
from shared.clock import SystemClock
from shared.errors import MusterError, Transient
from shared.ids import WorkerId
from tests.contract.machine_driver import MachineDriverContract, an_intent, sees, tokens
from tests.support.ec2_proxy import FaultyEc2, faulty_ec2
from tests.support.waiting import eventually

REGION, ZONE = "us-east-1", "us-east-1a"
G5 = MachineKind("g5.xlarge", "aws", 1, "cuda", gpu="A10G", memory_gib=24.0)
OFFER = Offer(G5, ZONE, "on_demand", 1.006)
SITE = AwsSite("tests", REGION, Bootstrap("https://muster.example", cloud="aws"), image="ami-12c6146b")


@pytest.fixture(scope="module")
async def proxy(moto: str) -> AsyncIterator[FaultyEc2]:
    async with faulty_ec2(moto) as found:
        yield found


@pytest.fixture(scope="module")
async def client(proxy: FaultyEc2) -> AsyncIterator[Any]:
    async with open_client(REGION, Credentials("AKIATEST", "secret"), proxy.url) as opened:
        yield opened


@pytest.fixture
def ec2(proxy: FaultyEc2) -> FaultyEc2:
    """Without the faults of the test before."""
    proxy.begin_anew()
    return proxy


class TestAwsDriver(MachineDriverContract[AwsDriver]):
    offer = OFFER

    @pytest.fixture
    def driver(self, client: Any, ec2: FaultyEc2) -> AwsDriver:
        _ = ec2
        return driver_of(client)

    def again(self, driver: AwsDriver) -> AwsDriver:
        return driver_of(driver._ec2._client)

    async def lose_machine(self, driver: AwsDriver, worker: WorkerId) -> None:
        seen = (await driver.observe())[worker]
        await driver._ec2._client.terminate_instances(InstanceIds=[seen.external_id])

    async def count(self, driver: AwsDriver, intent: Intent) -> int:
        return len(await driver._ec2.describe({"tag:muster:intent": [str(intent.id)]}))

    async def test_what_amazon_has_of_a_kind_is_taken_and_the_rest_is_refused(
        self, driver: AwsDriver, ec2: FaultyEc2
    ) -> None:
        ec2.faults.capacity["g5.xlarge", ZONE] = 2
        intent = an_intent(OFFER, 3)
        for _ in range(2):
            launched = await driver.launch(intent, tokens(intent))
            assert set(launched.placed) == {worker_at(intent.id, 0), worker_at(intent.id, 1)}
            assert launched.refused is not None
            assert launched.refused.cause == "no_capacity"
            assert "only 2 of 3 machines" in launched.refused.reason
        other = an_intent(OFFER)
        launched = await driver.launch(other, tokens(other))
        assert not launched.placed
        assert launched.refused is not None
        assert launched.refused.cause == "no_capacity"
        assert f"g5.xlarge in {ZONE}" in launched.refused.reason

    @pytest.mark.parametrize(
        ("code", "cause"),
        [
            ("VcpuLimitExceeded", "quota"),
            ("MaxSpotInstanceCountExceeded", "quota"),
            ("UnauthorizedOperation", "credentials"),
            ("AuthFailure", "credentials"),
            ("InvalidAMIID.NotFound", "bad_request"),
            ("Unsupported", "bad_request"),
            ("SomethingNew", "unknown"),
        ],
    )
    async def test_a_refusal_has_its_cause(
        self, driver: AwsDriver, ec2: FaultyEc2, code: str, cause: str
    ) -> None:
        ec2.faults.refusals["RunInstances"] = [code]
        intent = an_intent(OFFER)
        launched = await driver.launch(intent, tokens(intent))
        assert launched.refused is not None
        assert (launched.refused.cause, code in launched.refused.reason) == (cause, True)
        assert (await driver.launch(intent, tokens(intent))).placed, "it may be asked again with the same id"

    @pytest.mark.parametrize("fault", ["fails_after", "hangs_up_after"])
    async def test_a_launch_that_failed_after_it_was_done_is_found_again(
        self, driver: AwsDriver, ec2: FaultyEc2, fault: str
    ) -> None:
        setattr(ec2.faults, fault, 1)
        intent = an_intent(OFFER, 2)
        with pytest.raises(Transient):
            await driver.launch(intent, tokens(intent))
        launched = await driver.launch(intent, tokens(intent, "anew"))
        assert len(launched.placed) == 2
        assert await self.count(driver, intent) == 2

    async def test_machines_that_are_shown_late_are_waited_for(
        self, driver: AwsDriver, ec2: FaultyEc2
    ) -> None:
        ec2.faults.shows_after_s, ec2.faults.fails_after = 0.5, 1
        intent = an_intent(OFFER)
        with pytest.raises(Transient):
            await driver.launch(intent, tokens(intent))
        with pytest.raises(Transient, match="does not list"):
            await driver.launch(intent, tokens(intent, "anew"))
        await eventually(sees(driver, intent.instances[0].worker, Presence.RUNNING))
        assert (await driver.launch(intent, tokens(intent, "anew"))).placed
        assert await self.count(driver, intent) == 1

    async def test_ending_goes_on_where_some_are_not_known(self, driver: AwsDriver, ec2: FaultyEc2) -> None:
        old = an_intent(OFFER)
        placed = dict((await driver.launch(old, tokens(old))).placed)
        ec2.faults.shows_after_s = 0.3
        await asyncio.sleep(0.3)
        young = an_intent(OFFER)
        placed |= (await driver.launch(young, tokens(young))).placed
        gone = MachineRef(WorkerId("w-0"), "i-0123456789abcdef0")
        await driver.terminate([*(MachineRef(worker, name) for worker, name in placed.items()), gone])
        assert (await driver.observe())[old.instances[0].worker].presence is Presence.ENDED
        await eventually(sees(driver, young.instances[0].worker, Presence.RUNNING))
        await driver.terminate([MachineRef(young.instances[0].worker)])
        assert await sees(driver, young.instances[0].worker, None)()

    async def test_what_an_old_look_shows_can_be_ended_again(self, driver: AwsDriver, ec2: FaultyEc2) -> None:
        intent = an_intent(OFFER)
        worker = intent.instances[0].worker
        placed = (await driver.launch(intent, tokens(intent))).placed
        ec2.faults.stale_for_s = 60.0
        assert await sees(driver, worker, Presence.RUNNING)()
        await driver.terminate([MachineRef(worker, placed[worker])])
        assert await sees(driver, worker, Presence.RUNNING)(), "EC2 answers as before"
        await driver.terminate([MachineRef(worker, placed[worker])])
        await driver.terminate([MachineRef(worker)])
        ec2.faults.stale_for_s = 0.0
        assert await sees(driver, worker, None)()

    async def test_a_second_machine_of_one_worker_is_shown_and_can_be_ended_alone(
        self, driver: AwsDriver, ec2: FaultyEc2
    ) -> None:
        intent = an_intent(OFFER)
        worker = intent.instances[0].worker
        first = (await driver.launch(intent, tokens(intent))).placed[worker]
        ec2._by_token.clear()  # as after the days for which EC2 knows a token
        second = (await driver.launch(intent, tokens(intent))).placed[worker]
        seen = (await driver.observe())[worker]
        assert {seen.external_id, *seen.extras} == {first, second}
        await driver.terminate([MachineRef(worker, seen.extras[0])])
        seen = (await driver.observe())[worker]
        assert (seen.external_id in {first, second}, seen.extras) == (True, ())

    async def test_a_machine_that_somebody_stopped_is_started_again(self, driver: AwsDriver) -> None:
        intent = an_intent(OFFER)
        one = intent.instances[0]
        placed = (await driver.launch(intent, tokens(intent))).placed
        await driver._ec2._client.stop_instances(InstanceIds=[placed[one.worker]])
        await eventually(sees(driver, one.worker, Presence.STOPPED))
        await driver.start_again(one, None)
        await eventually(sees(driver, one.worker, Presence.RUNNING))

    async def test_machines_of_other_deployments_are_not_seen(self, driver: AwsDriver, client: Any) -> None:
        intent = an_intent(OFFER)
        await driver.launch(intent, tokens(intent))
        assert not await driver_of(client, "another").observe()

    async def test_more_calls_than_are_allowed_take_longer_and_all_come(
        self, driver: AwsDriver, ec2: FaultyEc2
    ) -> None:
        ec2.faults.per_s, ec2.faults.burst = 20.0, 2
        intents = [an_intent(OFFER) for _ in range(6)]
        launched = await asyncio.gather(*(driver.launch(intent, tokens(intent)) for intent in intents))
        assert all(one.placed for one in launched)
        assert ec2.throttled > 0, "others use the account too"

    async def test_a_machine_is_what_was_ordered(self, driver: AwsDriver) -> None:
        intent = an_intent(Offer(G5, ZONE, "spot", 0.4), 2)
        placed = (await driver.launch(intent, tokens(intent))).placed
        made = await driver._ec2.describe({"tag:muster:intent": [str(intent.id)]})
        assert {one["InstanceId"] for one in made} == set(placed.values())
        for one in made:
            assert one["InstanceType"] == "g5.xlarge"
            assert one["Placement"]["AvailabilityZone"] == ZONE
            assert one["InstanceLifecycle"] == "spot"
            assert one["MetadataOptions"]["HttpTokens"] == "required"
            assert {"Key": "muster:site", "Value": "tests"} in one["Tags"]
        data = await driver._ec2._client.describe_instance_attribute(
            InstanceId=made[0]["InstanceId"], Attribute="userData"
        )
        text = base64.b64decode(data["UserData"]["Value"]).decode()
        assert all(one.worker in text for one in intent.instances)

    async def test_when_a_machine_was_paid_for_is_told(self, driver: AwsDriver) -> None:
        intent = an_intent(OFFER)
        worker = intent.instances[0].worker
        placed = (await driver.launch(intent, tokens(intent))).placed
        began = (await driver.observe())[worker].launched_at
        assert began is not None and abs(began - datetime.now(UTC)) < timedelta(minutes=1)
        await driver.terminate([MachineRef(worker, placed[worker])])
        ended = (await driver.observe())[worker]
        assert ended.ended_at is not None and timedelta(seconds=-1) <= ended.ended_at - began < timedelta(
            minutes=1
        )

    async def test_no_answer_at_all_is_told_as_that(self) -> None:
        async with AsyncExitStack() as stack:
            nowhere = await stack.enter_async_context(
                open_client(REGION, Credentials("a", "b"), "http://127.0.0.1:9")
            )
            began = time.monotonic()
            with pytest.raises(MusterError, match="did not answer"):
                await driver_of(nowhere).observe()
            assert time.monotonic() - began < 10


def driver_of(client: Any, site: str = "tests") -> AwsDriver:
    return AwsDriver(
        AwsSite(site, REGION, SITE.bootstrap, image=SITE.image), Ec2(client, SystemClock(), Random(7))
    )
