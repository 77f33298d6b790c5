"""Which desired sets a worker accepts: those that the scheduler's key signed, each once, and no epoch that no lease has reached."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from deploy.keys.files import init_keys
from shared.auth.nats_jwt import KeyKind, WorkerIssuer, new_seed
from shared.auth.signatures import MessageSigner
from shared.bus.envelope import SIGNATURE, SIGNED_BY
from shared.clock import SystemClock
from shared.errors import Transient
from shared.ids import WorkerId
from shared.messages.allocations import DesiredSet
from tests.integration.bus_probe import connected
from tests.integration.servers import Servers
from tests.integration.worker.conftest import heard
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually

NAME = "s1"
ME = WorkerId(NAME)
SUBJECT = DesiredSet.subject(ME)


@pytest.fixture(scope="module")
async def worker(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    return await heard(platform, daemons(NAME))


@pytest.fixture
def foreign(tmp_path: Path) -> MessageSigner:
    """A key of the right kind that another platform made."""
    keys = init_keys(tmp_path / "foreign", SystemClock().now())
    return MessageSigner(WorkerIssuer.from_json(keys.worker_issuer.read_text()).seed)


def the_set(platform: FakePlatform, epoch: int, sequence: int) -> DesiredSet:
    return DesiredSet(
        worker=ME, epoch=epoch, sequence=sequence, allocations=(), leader_since=platform.leader_since
    )


async def test_a_set_with_a_foreign_signature_is_refused_and_reported(
    platform: FakePlatform, worker: Daemon, foreign: MessageSigner
) -> None:
    await platform.desire(NAME)
    with pytest.raises(Transient):
        await platform.scheduler.send_desired(the_set(platform, 7, 1), foreign, timeout_s=0.5)
    await eventually(lambda: "not signed by the scheduler" in str(platform.observed[NAME].refusal))
    assert platform.observed[NAME].refused_sets > 0
    assert (await platform.desire(NAME)).epoch == platform.epoch


async def test_a_set_for_another_worker_is_refused(
    platform: FakePlatform, worker: Daemon, servers: Servers
) -> None:
    payload = the_set(platform, 7, 1).to_bytes()
    signature = platform.signer.sign(DesiredSet.subject(WorkerId("another")), payload)
    before = (await platform.desire(NAME)).refused_sets
    async with connected(servers.nats, "scheduler", servers.keys.credentials("scheduler")) as thief:
        signed = {SIGNATURE: signature, SIGNED_BY: platform.signer.key}
        await thief.client.publish(SUBJECT, payload, headers=signed)
        await eventually(lambda: platform.observed[NAME].refused_sets > before)
    assert (await platform.desire(NAME)).epoch == platform.epoch


async def test_an_old_set_is_refused_also_after_a_restart(platform: FakePlatform, worker: Daemon) -> None:
    await platform.desire(NAME)
    old = the_set(platform, platform.epoch, platform.sequence)
    before = (await platform.scheduler.send_desired(old, platform.signer)).refused_sets
    assert before > 0
    worker.kill()
    platform.observed.pop(NAME)
    await heard(platform, worker)
    seen = await platform.scheduler.send_desired(old, platform.signer)
    assert "not newer" in str(seen.refusal)
    assert (await platform.desire(NAME)).refused_sets == 1


async def test_a_signed_epoch_that_no_lease_has_reached_is_refused_and_not_stored(
    platform: FakePlatform, worker: Daemon
) -> None:
    await platform.desire(NAME)
    seen = await platform.scheduler.send_desired(the_set(platform, 10**12, 1), platform.signer)
    assert "no lease has reached" in str(seen.refusal)
    future = the_set(platform, 10**12, 1).model_copy(
        update={"leader_since": platform.leader_since + timedelta(days=400_000)}
    )
    seen = await platform.scheduler.send_desired(future, platform.signer)
    assert "in the future" in str(seen.refusal)
    assert (await platform.desire(NAME)).epoch == platform.epoch


@contextmanager
def rotated(platform: FakePlatform, servers: Servers) -> Iterator[None]:
    """After `muster keys rotate --account`, when the scheduler has started with its new key."""
    path = servers.keys.worker_issuer
    before, signer = path.read_text(), platform.signer
    fresh = WorkerIssuer(WorkerIssuer.from_json(before).account, new_seed(KeyKind.ACCOUNT, b"r" * 32))
    path.write_text(fresh.to_json())
    platform.signer = MessageSigner(fresh.seed)
    yield
    path.write_text(before)
    platform.signer = signer


async def test_a_worker_learns_a_rotated_key_by_renewing_and_forgets_the_former_one(
    platform: FakePlatform, daemons: Callable[[str], Daemon], servers: Servers
) -> None:
    # Not the worker of the other tests: a foreign signature made it renew, which it does once in half a minute.
    await heard(platform, daemons("s2"))
    await platform.desire("s2")
    former = platform.signer
    with rotated(platform, servers):

        async def is_accepted() -> bool:
            with suppress(Transient):
                return (await platform.desire("s2")).epoch == platform.epoch
            return False

        await eventually(is_accepted)
        last = DesiredSet(
            worker=WorkerId("s2"),
            epoch=platform.epoch + 1,
            sequence=1,
            allocations=(),
            leader_since=platform.leader_since,
        )
        with pytest.raises(Transient):
            await platform.scheduler.send_desired(last, former, timeout_s=0.5)
        assert (await platform.desire("s2")).epoch == platform.epoch
