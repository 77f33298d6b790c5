"""The driver `kubernetes`: a worker is a pod. The cluster's autoscaler or administrator manages its nodes."""

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta

import structlog

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Sighting
from services.provisioner.core.instances.refusals import LaunchRefusal
from services.provisioner.drivers.driver import MachineRef
from services.provisioner.drivers.kubernetes.api import ApiServer, KubernetesRefused, refusal
from services.provisioner.drivers.kubernetes.objects import (
    LABEL_SITE,
    KubernetesSite,
    owners,
    pod_of,
    secret_name,
    secret_of,
    sighting_of,
)
from services.provisioner.drivers.rate_limit import Throttled
from services.provisioner.drivers.rest import Json
from shared.errors import Transient
from shared.ids import WorkerId

_log = structlog.get_logger()


class KubernetesDriver:
    """Workers of one deployment in one namespace."""

    most_per_intent = 100
    lateness = timedelta(seconds=2)
    terminates_orphans = True
    identity = None

    def __init__(self, site: KubernetesSite, api: ApiServer, name: str = "kubernetes") -> None:
        self.name = name
        self._site = site
        self._api = api

    def watch(self, notify: Callable[[], None]) -> None:
        """Do nothing: changes in the cluster are found by listing."""

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        """Create the intent's pods. Pods that wait for a node count as placed."""
        pods: dict[WorkerId, Json] = {}
        refused: LaunchRefusal | None = None
        try:
            await self._api.create("secrets", secret_of(self._site, intent, tokens))
            for one in intent.instances:
                pods[one.worker] = await self._api.create("pods", pod_of(self._site, intent, one))
        except KubernetesRefused as error:
            refused = refusal(error, intent.offer.label)
        except Throttled as error:
            refused = LaunchRefusal("throttled", error.message)
        await self._bind_tokens(intent, pods)
        _log.info("pods were made", intent=intent.id, asked=len(intent.instances), placed=len(pods))
        return Launched({worker: pod["metadata"]["name"] for worker, pod in pods.items()}, refused)

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Do nothing: the cluster restarts a crashed worker, and a finished pod is gone."""

    async def kick(self, worker: WorkerId) -> None:
        """Do nothing: a worker without heartbeat may train well."""
        _log.warning("a worker in Kubernetes sends no heartbeat; its pod is left running", worker=worker)

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        pods = await self._api.list("pods", f"{LABEL_SITE}={self._site.name}")
        return dict(seen for pod in pods if (seen := sighting_of(pod)) is not None)

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        for worker in {machine.worker for machine in machines}:
            await self._api.delete("pods", worker)

    async def _bind_tokens(self, intent: Intent, pods: Mapping[WorkerId, Json]) -> None:
        """Let the cluster delete the tokens with their pods, or delete them now if there are none.

        The pods work without this, so an error does not fail the launch.
        """
        name = secret_name(intent)
        try:
            if pods:
                await self._api.set_owners("secrets", name, owners(list(pods.values())))
            else:
                await self._api.delete("secrets", name)
        except (KubernetesRefused, Transient) as error:
            _log.warning("join tokens were left in the cluster", secret=name, error=str(error))
