"""How a worker comes in: by its join token once, by what it kept afterwards, and with words when it may not."""

import asyncio
import json
from collections.abc import Callable

import pytest

from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.metadata import IDENTITY, OF_GOOGLE, Metadata
from tests.support.waiting import eventually


async def test_a_new_worker_joins_once(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> None:
    daemon = daemons("new")
    kept = daemon.directory / "identity" / "credentials.json"
    kept.unlink()
    joining = {"MUSTER_WORKER__GATEWAY_URL": platform.store.url, "MUSTER_WORKER__JOIN_TOKEN": "right"}
    daemon.start(**joining)
    await eventually(lambda: "new" in platform.observed)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert [slot.kind for slot in platform.observed["new"].slots] == ["cpu"]
    incarnation = platform.observed["new"].incarnation
    daemon.kill()
    daemon.start()
    await eventually(lambda: platform.observed["new"].incarnation != incarnation)


async def test_a_worker_whose_credentials_count_no_more_joins_again_by_a_token(
    platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> None:
    daemon = daemons("again")
    kept = daemon.directory / "identity" / "credentials.json"
    of_before = json.loads(kept.read_text())
    signed, _, signature = of_before["jwt"].rpartition(".")
    kept.write_text(json.dumps(of_before | {"jwt": f"{signed}.{signature[::-1]}"}))
    joining = {"MUSTER_WORKER__GATEWAY_URL": platform.store.url, "MUSTER_WORKER__JOIN_TOKEN": "right"}
    daemon.start(**joining)
    await eventually(lambda: "again" in platform.observed)
    incarnation = platform.observed["again"].incarnation
    daemon.kill()
    daemon.start(**joining | {"MUSTER_WORKER__JOIN_TOKEN": "used up"})
    await eventually(lambda: platform.observed["again"].incarnation != incarnation)


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
async def test_a_rented_machine_joins_by_what_its_cloud_has_signed(
    platform: FakePlatform, daemons: Callable[[str], Daemon], metadata: Metadata, cloud: str
) -> None:
    metadata.says[f"{IDENTITY}/document"] = "of new"
    metadata.says[f"{IDENTITY}/signature"] = "by aws"
    asked = f"audience={platform.store.url}&format=full"
    metadata.says[f"{OF_GOOGLE}/service-accounts/default/identity?{asked}"] = "signed by google"
    name = f"rented-{cloud}"
    daemon = daemons(name)
    (daemon.directory / "identity" / "credentials.json").unlink()
    of_cloud = {"MUSTER_WORKER__CLOUD": cloud, "MUSTER_WORKER__METADATA_URL": metadata.url}
    daemon.start(MUSTER_WORKER__GATEWAY_URL=platform.store.url, MUSTER_WORKER__JOIN_TOKEN="", **of_cloud)
    await eventually(lambda: name in platform.observed)


async def test_a_machine_with_fewer_gpus_than_promised_says_so_before_it_ends(
    platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> None:
    daemon = daemons("short")
    (daemon.directory / "identity" / "credentials.json").unlink()
    promised = {"MUSTER_WORKER__KIND": "cuda", "MUSTER_WORKER__SLOTS": "4096"}
    joining = {"MUSTER_WORKER__GATEWAY_URL": platform.store.url, "MUSTER_WORKER__JOIN_TOKEN": "right"}
    daemon.start(**joining, **promised)
    assert await asyncio.to_thread(daemon.wait) == 1
    assert any("4096 GPUs are configured" in (one or "") for one in platform.troubles)


async def test_a_refused_worker_says_why_and_ends(
    platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> None:
    daemon = daemons("stranger")
    (daemon.directory / "identity" / "credentials.json").unlink()
    daemon.start(MUSTER_WORKER__GATEWAY_URL=platform.store.url, MUSTER_WORKER__JOIN_TOKEN="wrong")
    assert await asyncio.to_thread(daemon.wait) == 1
    said = (daemon.directory / "daemon.log").read_text()
    assert "the join token is not good" in said
    assert "create another with `muster worker token`" in said


async def test_a_rented_worker_that_nobody_answers_ends_by_itself(
    platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> None:
    heard, unheard = daemons("heard"), daemons("unheard")
    nowhere = {"MUSTER_NATS__URL": "nats://127.0.0.1:9"}
    unheard.start(MUSTER_WORKER__CONTACT_TIMEOUT_S="1.5", **nowhere)
    heard.start(MUSTER_WORKER__CONTACT_TIMEOUT_S="1.5")
    assert await asyncio.to_thread(unheard.wait) == 0, "what started it may end the machine"
    assert "the worker exits" in (unheard.directory / "daemon.log").read_text()
    await eventually(lambda: "heard" in platform.observed)
    assert not heard.has_ended


async def test_a_second_daemon_on_the_same_directory_is_refused(
    platform: FakePlatform, daemons: Callable[[str], Daemon]
) -> None:
    daemon = daemons("twice")
    daemon.start()
    await eventually(lambda: "twice" in platform.observed)
    first = daemon.pid
    daemon.start()
    assert await asyncio.to_thread(daemon.wait) == 1
    assert "another worker already uses" in (daemon.directory / "daemon.log").read_text()
    daemon.end(first)
