"""The driver `kubernetes`: a worker is a pod. Which nodes there are is the cluster's own matter, its autoscaler's or its administrator's."""

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta

import structlog

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.intents import Intent, Launched, Sighting
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
    ends_strangers = True
    identity = None

    def __init__(self, site: KubernetesSite, api: ApiServer, name: str = "kubernetes") -> None:
        self.name = name
        self._site = site
        self._api = api

    def watch(self, notify: Callable[[], None]) -> None:
        """Nothing is told: what changes in the cluster is seen by looking."""

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        """As the port says. Pods that wait for a node are placed: the cluster has taken them."""
        pods: dict[WorkerId, Json] = {}
        refused: LaunchRefusal | None = None
        try:
            await self._api.create("secrets", secret_of(self._site, intent, tokens))
            for one in intent.instances:
                pods[one.worker] = await self._api.create("pods", pod_of(self._site, intent, one))
        except KubernetesRefused as error:
            refused = refusal(error, intent.offer.words)
        except Throttled as error:
            refused = LaunchRefusal("throttled", error.message)
        await self._bind_tokens(intent, pods)
        _log.info("pods were made", intent=intent.id, asked=len(intent.instances), placed=len(pods))
        return Launched({worker: pod["metadata"]["name"] for worker, pod in pods.items()}, refused)

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Nothing: the cluster starts a worker again that crashed, and a pod that is over is gone."""

    async def kick(self, worker: WorkerId) -> None:
        """Nothing: a worker that cannot be heard may train well."""
        _log.warning("a worker in Kubernetes is not heard; its pod is left alone", worker=worker)

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        pods = await self._api.list("pods", f"{LABEL_SITE}={self._site.name}")
        return dict(seen for pod in pods if (seen := sighting_of(pod)) is not None)

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        for worker in {machine.worker for machine in machines}:
            await self._api.delete("pods", worker)

    async def _bind_tokens(self, intent: Intent, pods: Mapping[WorkerId, Json]) -> None:
        """The tokens go with the pods that were made; at once where none was. Pods are good without that, so it is no fault of the launch."""
        name = secret_name(intent)
        try:
            if pods:
                await self._api.set_owners("secrets", name, owners(list(pods.values())))
            else:
                await self._api.delete("secrets", name)
        except (KubernetesRefused, Transient) as error:
            _log.warning("join tokens were left in the cluster", secret=name, error=str(error))
