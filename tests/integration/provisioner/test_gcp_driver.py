"""The driver `gcp` against a small Compute Engine that holds every call against the vendor's description: the contract, and what is its own."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import jwt
import pytest
from aiohttp import ClientSession
from google.auth.compute_engine import _metadata

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.launches import Intent, Presence
from services.provisioner.drivers.bootstrap import Bootstrap
from services.provisioner.drivers.driver import MachineRef
from services.provisioner.drivers.gcp.api import ComputeEngine
from services.provisioner.drivers.gcp.driver import GcpDriver
from services.provisioner.drivers.gcp.identity import ISSUER, GcpIdentity, keys_at
from services.provisioner.drivers.gcp.request import GcpSite, GpuOf
from services.provisioner.drivers.gcp.tokens import SCOPE, Tokens
from shared.clock import SystemClock
from shared.errors import Transient
from shared.ids import WorkerId
from tests.contract.machine_driver import MachineDriverContract, an_intent, tokens
from tests.support.gcp_server import EMAIL, PROJECT, Project, gcp_server, problems, write_key
from tests.support.oidc_provider import SigningKey

ZONE = "us-central1-a"
A2 = Offer(MachineKind("a2-highgpu-8g", "gcp", 8, "cuda", gpu="A100"), ZONE, "spot", 10.0)
N1 = Offer(MachineKind("n1-standard-8", "gcp", 2, "cuda", gpu="T4"), ZONE)
SITE = GcpSite(
    name="tests",
    project=PROJECT,
    image="projects/research/global/images/family/muster-worker",
    bootstrap=Bootstrap("https://muster.example", cloud="gcp"),
    subnetworks={"us-central1": "projects/research/regions/us-central1/subnetworks/training"},
    network_tags=("worker",),
    gpus={"n1-standard-8": GpuOf("nvidia-tesla-t4", 2)},
    service_account=EMAIL,
    has_external_address=True,
)


@pytest.fixture
async def project() -> AsyncIterator[Project]:
    async with gcp_server() as found:
        yield found


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    async with ClientSession() as opened:
        yield opened


class TestGcpDriver(MachineDriverContract[GcpDriver]):
    offer = A2

    @pytest.fixture
    def driver(self, project: Project, session: ClientSession, tmp_path: Path) -> GcpDriver:
        return GcpDriver(SITE, engine_of(project, session, Tokens(write_key(project, tmp_path))))

    def again(self, driver: GcpDriver) -> GcpDriver:
        return GcpDriver(driver._site, driver._engine)

    async def lose_machine(self, driver: GcpDriver, worker: WorkerId) -> None:
        await driver._engine.delete(ZONE, worker)

    async def count(self, driver: GcpDriver, intent: Intent) -> int:
        return len([one async for one in driver._engine.instances("muster-intent", str(intent.id))])

    async def test_a_machine_is_what_was_ordered(self, driver: GcpDriver, project: Project) -> None:
        for offer in (A2, N1):
            intent = an_intent(offer)
            launched = await driver.launch(intent, tokens(intent))
            assert launched.refused is None, launched.refused
            machine = project.machines[launched.placed[intent.instances[0].worker] or ""]
            assert machine["machineType"] == offer.kind.name
            assert machine["disks"][0]["autoDelete"] is True
            spot = offer.purchase == "spot"
            assert machine["scheduling"]["provisioningModel"] == ("SPOT" if spot else "STANDARD")
            assert ("guestAccelerators" in machine) is (offer is N1)
            (startup,) = machine["metadata"]["items"]
            assert intent.instances[0].worker in startup["value"]

    async def test_who_google_says_a_machine_is_is_who_was_ordered(
        self, driver: GcpDriver, session: ClientSession, tmp_path: Path
    ) -> None:
        key, intent = SigningKey("google"), an_intent(A2)
        (tmp_path / "keys.json").write_text(json.dumps({"keys": [key.document]}))
        keys = keys_at(str(tmp_path / "keys.json"), session, SystemClock())
        placed = (await driver.launch(intent, {})).placed
        (worker,) = placed
        machine = {"project_id": PROJECT, "zone": ZONE, "instance_name": worker}
        claims = {"iss": ISSUER, "aud": "https://muster.example", "sub": "1", "exp": int(time.time()) + 60}
        shown = key.sign(claims | {"google": {"compute_engine": machine}})
        identity = GcpIdentity(PROJECT, "https://muster.example", keys)
        assert await identity.machine_of(shown, "") == placed[worker]

    async def test_what_google_has_of_a_kind_is_taken_and_the_rest_is_refused(
        self, driver: GcpDriver, project: Project
    ) -> None:
        project.capacity["a2-highgpu-8g", ZONE] = 2
        intent, other = an_intent(A2, 3), an_intent(A2)
        for _ in range(2):
            launched = await driver.launch(intent, tokens(intent))
            assert len(launched.placed) == 2
            assert launched.refused is not None and launched.refused.cause == "no_capacity"
        launched = await driver.launch(other, tokens(other))
        assert not launched.placed
        assert launched.refused is not None
        assert launched.refused.cause == "no_capacity"
        assert ZONE in launched.refused.reason

    @pytest.mark.parametrize(
        ("status", "reason", "cause"),
        [
            (403, "quotaExceeded", "quota"),
            (403, "forbidden", "credentials"),
            (404, "notFound", "bad_request"),
            (400, "invalid", "bad_request"),
            (418, "teapot", "unknown"),
        ],
    )
    async def test_a_refusal_has_its_cause(
        self, driver: GcpDriver, project: Project, status: int, reason: str, cause: str
    ) -> None:
        project.refusals = [(status, reason)]
        intent = an_intent(A2)
        launched = await driver.launch(intent, tokens(intent))
        assert not launched.placed
        assert launched.refused is not None
        assert (launched.refused.cause, reason in launched.refused.reason) == (cause, True)

    async def test_an_operation_that_fails_is_a_refusal(self, driver: GcpDriver, project: Project) -> None:
        project.operation_faults, project.polls = ["QUOTA_EXCEEDED"], 2
        intent = an_intent(A2)
        launched = await driver.launch(intent, tokens(intent))
        assert launched.refused is not None and launched.refused.cause == "quota"
        assert project.calls["POST wait"] == 3

    async def test_a_launch_that_failed_after_it_was_done_is_found_again(
        self, driver: GcpDriver, project: Project
    ) -> None:
        project.fails_after = 1
        intent = an_intent(A2, 2)
        with pytest.raises(Transient):
            await driver.launch(intent, tokens(intent))
        assert len((await driver.launch(intent, tokens(intent, "anew"))).placed) == 2
        assert await self.count(driver, intent) == 2

    async def test_calls_that_were_too_many_are_made_again(self, driver: GcpDriver, project: Project) -> None:
        project.refusals = [(403, "rateLimitExceeded"), (429, "rateLimitExceeded")]
        intent = an_intent(A2)
        assert (await driver.launch(intent, tokens(intent))).placed

    async def test_a_zone_that_does_not_answer_is_no_zone_without_machines(
        self, driver: GcpDriver, project: Project
    ) -> None:
        intent = an_intent(A2)
        await driver.launch(intent, tokens(intent))
        project.unreachable = {ZONE}
        with pytest.raises(Transient, match=ZONE):
            await driver.observe()

    async def test_all_pages_are_read(self, driver: GcpDriver, project: Project) -> None:
        project.page = 2
        intent = an_intent(A2, 5)
        assert len((await driver.launch(intent, tokens(intent))).placed) == 5
        assert (await driver.observe()).keys() == {one.worker for one in intent.instances}

    async def test_a_machine_that_shut_itself_down_has_ended_and_is_deleted(
        self, driver: GcpDriver, project: Project
    ) -> None:
        intent = an_intent(A2)
        worker = intent.instances[0].worker
        name = (await driver.launch(intent, tokens(intent))).placed[worker]
        project.machines[str(name)] |= {
            "status": "TERMINATED",
            "lastStopTimestamp": "2026-01-01T12:00:00.000-08:00",
        }
        seen = (await driver.observe())[worker]
        assert seen.presence is Presence.ENDED and seen.ended_at is not None
        await driver.terminate([MachineRef(worker, name)])
        assert not project.machines

    async def test_a_second_machine_of_one_worker_is_shown(self, driver: GcpDriver, project: Project) -> None:
        intent = an_intent(A2)
        worker = intent.instances[0].worker
        name = str((await driver.launch(intent, tokens(intent))).placed[worker])
        twin = {**project.machines[name], "zone": "zones/us-central1-b"}
        project.machines[f"us-central1-b/{worker}"] = twin
        seen = (await driver.observe())[worker]
        assert {seen.external_id, *seen.extras} == {name, f"us-central1-b/{worker}"}

    async def test_an_offer_without_a_zone_is_refused(self, driver: GcpDriver) -> None:
        intent = an_intent(replace(A2, zone=None))
        launched = await driver.launch(intent, tokens(intent))
        assert launched.refused is not None and launched.refused.cause == "bad_request"

    async def test_a_token_that_is_no_longer_good_is_replaced(
        self, driver: GcpDriver, project: Project
    ) -> None:
        await driver.observe()
        project.tokens = {"another"}
        assert not await driver.observe()

    async def test_a_token_is_replaced_before_it_expires(self, driver: GcpDriver, project: Project) -> None:
        for _ in range(2):
            await driver.observe()
        assert len(project.grants) == 1
        project.token_life_s, project.tokens = 60, set()
        for _ in range(2):
            await driver.observe()
        assert len(project.grants) == 3

    async def test_an_account_that_google_does_not_accept_is_refused(
        self, driver: GcpDriver, project: Project
    ) -> None:
        project.token_refusals = [{"error": "invalid_grant", "error_description": "account not found"}]
        intent = an_intent(A2)
        refused = (await driver.launch(intent, tokens(intent))).refused
        assert refused is not None
        assert (refused.cause, "account not found" in refused.reason) == ("credentials", True)


async def test_a_service_accounts_key_is_traded_for_a_token(
    project: Project, session: ClientSession, tmp_path: Path
) -> None:
    driver = GcpDriver(SITE, engine_of(project, session, Tokens(write_key(project, tmp_path))))
    assert not await driver.observe()
    (grant,) = project.grants
    claims = jwt.decode(grant["assertion"], options={"verify_signature": False})
    assert (claims["iss"], claims["scope"]) == (EMAIL, SCOPE)


async def test_a_machine_of_google_has_an_account(
    project: Project, session: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = project.url.removeprefix("http://")
    monkeypatch.setattr(_metadata, "_GCE_METADATA_HOST", host)
    monkeypatch.setenv("GCE_METADATA_IP", host)
    monkeypatch.setenv("GCE_METADATA_MTLS_MODE", "none")
    monkeypatch.setenv("CLOUDSDK_CONFIG", "/no/folder")
    driver = GcpDriver(SITE, engine_of(project, session, Tokens(None)))
    assert not await driver.observe()
    project.tokens = {"another"}
    assert not await driver.observe()


async def test_an_account_of_another_cloud_is_traded_for_a_token(
    project: Project, session: ClientSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "identity").write_text("signed-by-another-cloud")
    federation = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/locations/global/workloadIdentityPools/a/providers/b",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": f"{project.url}/token",
        "credential_source": {"file": str(tmp_path / "identity")},
    }
    (tmp_path / "federation.json").write_text(json.dumps(federation))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "federation.json"))
    driver = GcpDriver(SITE, engine_of(project, session, Tokens(None)))
    assert not await driver.observe()
    (grant,) = project.grants
    assert grant["subject_token"] == "signed-by-another-cloud"


async def test_where_nothing_is_known_of_an_account_it_is_refused(
    project: Project, session: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_metadata, "_NO_GCE_CHECK", True)
    monkeypatch.setenv("CLOUDSDK_CONFIG", "/no/folder")
    intent = an_intent(A2)
    driver = GcpDriver(SITE, engine_of(project, session, Tokens(None)))
    refused = (await driver.launch(intent, tokens(intent))).refused
    assert refused is not None
    assert (refused.cause, "credentials were not found" in refused.reason) == ("credentials", True)


async def test_a_token_service_that_is_away_may_come_back(
    project: Project, session: ClientSession, tmp_path: Path
) -> None:
    away = Project(url="http://127.0.0.1:9")
    driver = GcpDriver(SITE, engine_of(project, session, Tokens(write_key(away, tmp_path))))
    with pytest.raises(Transient, match="returned no access token"):
        await driver.observe()


def test_the_server_holds_calls_against_the_description() -> None:
    body = {
        "count": "some",
        "instanceProperties": {
            "scheduling": {"provisioningModel": "CHEAP"},
            "gpus": 8,
            "canIpForward": "yes",
        },
    }
    problems_text = "\n".join(problems({"$ref": "BulkInsertInstanceResource"}, body, "body"))
    for fault in ("'some' is no number", "'CHEAP' is none of", 'unknown field "gpus"', "'yes' is no boolean"):
        assert fault in problems_text


def engine_of(project: Project, session: ClientSession, given: Tokens) -> ComputeEngine:
    return ComputeEngine(session, given, PROJECT, SystemClock(), Random(5), f"{project.url}/compute/v1")
