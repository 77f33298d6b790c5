"""The driver `kubernetes` against a small API server that holds every object against the published schema: the contract, and what is its own."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.launches import Intent
from services.provisioner.drivers.bootstrap import Bootstrap
from services.provisioner.drivers.driver import MachineRef
from services.provisioner.drivers.kubernetes import api
from services.provisioner.drivers.kubernetes.access import Access
from services.provisioner.drivers.kubernetes.api import ApiServer
from services.provisioner.drivers.kubernetes.driver import KubernetesDriver
from services.provisioner.drivers.kubernetes.objects import KubernetesSite, PodKind
from shared.clock import SystemClock
from shared.errors import Transient
from shared.ids import WorkerId
from tests.contract.machine_driver import MachineDriverContract, an_intent, sees, tokens
from tests.support.kube_server import NAMESPACE, TOKEN, Cluster, kube_server, problems

EXEC = "client.authentication.k8s.io/v1"
A100 = Offer(MachineKind("a100-8", "kubernetes", 8, "cuda", gpu="A100"), "zone-a", "spot")
SITE = KubernetesSite(
    name="tests",
    namespace=NAMESPACE,
    image="registry.example/muster-worker:0.2.0",
    bootstrap=Bootstrap("http://gateway", user=None),
    kinds={
        "a100-8": PodKind(
            {"nvidia.com/gpu": "8", "cpu": "64", "memory": "512Gi"},
            {"gpu": "a100"},
            ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},),
        )
    },
    pull_secrets=("registry",),
    service_account="worker",
    priority_class="training",
    queue="team-a",
    spot_selector={"spot": "true"},
)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with kube_server() as found:
        yield found


class TestKubernetesDriver(MachineDriverContract[KubernetesDriver]):
    offer = A100

    @pytest.fixture
    async def driver(self, cluster: Cluster, tmp_path: Path) -> AsyncIterator[KubernetesDriver]:
        (tmp_path / "token").write_text(f"{TOKEN}\n")
        async with opened(Access(url=cluster.url, token_file=tmp_path / "token")) as found:
            yield found

    def again(self, driver: KubernetesDriver) -> KubernetesDriver:
        return KubernetesDriver(driver._site, driver._api)

    async def lose_machine(self, driver: KubernetesDriver, worker: WorkerId) -> None:
        await driver._api.delete("pods", worker)

    async def count(self, driver: KubernetesDriver, intent: Intent) -> int:
        return len(await driver._api.list("pods", f"muster.dev/intent={intent.id}"))

    async def test_a_pod_is_what_was_ordered(self, driver: KubernetesDriver, cluster: Cluster) -> None:
        intent = an_intent(A100)
        worker = intent.instances[0].worker
        assert (await driver.launch(intent, tokens(intent))).refused is None
        pod = cluster.objects["pods"][worker]
        spec, labels = pod["spec"], pod["metadata"]["labels"]
        container = spec["containers"][0]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
        assert spec["nodeSelector"] == {
            "gpu": "a100",
            "spot": "true",
            "topology.kubernetes.io/zone": "zone-a",
        }
        assert spec["tolerations"][0]["key"] == "nvidia.com/gpu"
        assert (spec["priorityClassName"], labels["kueue.x-k8s.io/queue-name"]) == ("training", "team-a")
        assert spec["automountServiceAccountToken"] is False
        given = {one["name"]: one.get("value") for one in container["env"]}
        assert (given["MUSTER_WORKER__ID"], given["MUSTER_WORKER__SLOTS"]) == (worker, "8")

    async def test_tokens_are_in_a_secret_that_goes_with_the_pods(
        self, driver: KubernetesDriver, cluster: Cluster
    ) -> None:
        intent = an_intent(A100, 2)
        await driver.launch(intent, tokens(intent, "let-me-in"))
        assert "let-me-in" not in str(cluster.objects["pods"])
        (secret,) = cluster.objects["secrets"].values()
        assert set(secret["stringData"].values()) == {"let-me-in"}
        first, second = (one.worker for one in intent.instances)
        await driver.terminate([MachineRef(first)])
        assert cluster.objects["secrets"]
        await driver.terminate([MachineRef(second)])
        assert not cluster.objects["secrets"]

    async def test_what_the_quota_allows_is_taken_and_the_rest_is_refused(
        self, driver: KubernetesDriver, cluster: Cluster
    ) -> None:
        cluster.pods_left = 2
        intent = an_intent(A100, 3)
        launched = await driver.launch(intent, tokens(intent))
        assert len(launched.placed) == 2
        assert launched.refused is not None
        assert launched.refused.cause == "quota"
        cluster.pods_left = None
        again = await driver.launch(intent, tokens(intent))
        assert len(again.placed) == 3
        assert again.refused is None

    @pytest.mark.parametrize(
        ("call", "status", "reason", "cause"),
        [
            ("POST pods", 403, "Forbidden", "credentials"),
            ("POST secrets", 401, "Unauthorized", "credentials"),
            ("POST pods", 422, "Invalid", "bad_request"),
            ("POST pods", 418, "Teapot", "unknown"),
        ],
    )
    async def test_a_refusal_has_its_cause_and_leaves_nothing(
        self, driver: KubernetesDriver, cluster: Cluster, call: str, status: int, reason: str, cause: str
    ) -> None:
        cluster.refusals[call] = [(status, reason)] * 2
        intent = an_intent(A100)
        launched = await driver.launch(intent, tokens(intent))
        assert not launched.placed
        assert launched.refused is not None
        assert (launched.refused.cause, "a100-8" in launched.refused.reason) == (cause, True)
        assert cluster.objects == {"pods": {}, "secrets": {}}

    async def test_a_launch_that_failed_after_it_was_done_is_found_again(
        self, driver: KubernetesDriver, cluster: Cluster
    ) -> None:
        intent = an_intent(A100, 2)
        for _ in range(3):  # the secret, then each pod
            cluster.fails_after = 1
            with pytest.raises(Transient):
                await driver.launch(intent, tokens(intent))
        cluster.fails_after = 0
        assert len((await driver.launch(intent, tokens(intent))).placed) == 2
        assert cluster.made["pods"] == 2

    async def test_a_busy_server_is_waited_for(self, driver: KubernetesDriver, cluster: Cluster) -> None:
        cluster.refusals["POST pods"] = [(429, "TooManyRequests")] * 2
        intent = an_intent(A100)
        assert (await driver.launch(intent, tokens(intent))).placed

    async def test_all_pages_are_read(
        self, driver: KubernetesDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(api, "PAGE", 2)
        intent = an_intent(A100, 5)
        await driver.launch(intent, tokens(intent))
        assert (await driver.observe()).keys() == {one.worker for one in intent.instances}

    async def test_a_worker_that_ended_by_itself_is_over(
        self, driver: KubernetesDriver, cluster: Cluster
    ) -> None:
        intent = an_intent(A100)
        worker = intent.instances[0].worker
        await driver.launch(intent, tokens(intent))
        terminated = {"state": {"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T12:00:00Z"}}}
        cluster.objects["pods"][worker]["status"] |= {"phase": "Succeeded", "containerStatuses": [terminated]}
        assert await sees(driver, worker, None)()
        ended = (await driver.observe())[worker].ended_at
        assert ended is not None and ended.year == 2026

    async def test_pods_of_others_are_not_seen(self, driver: KubernetesDriver) -> None:
        intent = an_intent(A100)
        await KubernetesDriver(replace(SITE, name="another"), driver._api).launch(intent, tokens(intent))
        assert not await driver.observe()


async def test_a_token_that_was_replaced_is_read_again(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    async with opened(Access(url=cluster.url, token_file=tmp_path / "token")) as driver:
        assert not await driver.observe()
        cluster.token = "its-next-token"
        (tmp_path / "token").write_text("its-next-token")
        assert not await driver.observe()


async def test_a_kubeconfigs_program_gives_the_token_and_the_next_one(
    cluster: Cluster, tmp_path: Path
) -> None:
    credential = {"apiVersion": EXEC, "kind": "ExecCredential", "status": {"token": TOKEN}}
    (tmp_path / "credential").write_text(json.dumps(credential))
    async with opened(Access(kubeconfig=_kubeconfig(tmp_path, cluster.url), context="training")) as driver:
        intent = an_intent(A100)
        assert (await driver.launch(intent, tokens(intent))).placed
        cluster.token = "its-next-token"
        (tmp_path / "credential").write_text(json.dumps(credential | {"status": {"token": "its-next-token"}}))
        assert len(await driver.observe()) == 1


async def test_outside_a_cluster_access_must_be_given() -> None:
    async with opened(Access()) as driver:
        intent = an_intent(A100)
        refused = (await driver.launch(intent, tokens(intent))).refused
    assert refused is not None
    assert (refused.cause, "Service host/port is not set" in refused.reason) == ("credentials", True)


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (Access(url="http://127.0.0.1:9"), "127.0.0.1:9"),
        (Access(kubeconfig=Path("/no/config")), "/no/config"),
        (Access(url="http://127.0.0.1:9", token_file=Path("/no/token")), "/no/token"),
    ],
)
async def test_what_is_away_may_come_back(access: Access, message: str) -> None:
    async with opened(access) as driver:
        with pytest.raises(Transient, match=message):
            await driver.observe()


@asynccontextmanager
async def opened(access: Access) -> AsyncIterator[KubernetesDriver]:
    server = ApiServer(access, NAMESPACE, SystemClock(), Random(3))
    yield KubernetesDriver(SITE, server)
    await server.close()


def _kubeconfig(folder: Path, url: str) -> Path:
    """As `kubectl` has it, of a cluster whose tokens a program gives."""
    user = {"exec": {"apiVersion": EXEC, "command": "cat", "args": [str(folder / "credential")]}}
    context = {"cluster": "here", "user": "muster"}
    content = {
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "muster", "user": user}],
        "contexts": [{"name": "training", "context": context}],
    }
    (folder / "kubeconfig").write_text(json.dumps(content))
    return folder / "kubeconfig"


def test_the_server_holds_objects_against_the_schema() -> None:
    pod = {
        "spec": {
            "containers": [{"image": "x", "resources": {"limits": {"cpu": 4}}}],
            "restartPolicy": "Sometimes",
            "gpus": 8,
        }
    }
    problems_text = "\n".join(problems("V1Pod", pod, "pod"))
    for fault in ('unknown field "gpus"', "limits.cpu: 4 is no str", "`name`, must not be `None`"):
        assert fault in problems_text
