"""Build pods and secrets and read pods, without side effects. A pod has its worker's name, so that no second one can exist."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.launches import Intent, Presence, Sighting
from services.provisioner.drivers.bootstrap import Bootstrap, worker_environment
from services.provisioner.drivers.rest import Json
from shared.ids import WorkerId

LABEL_SITE, LABEL_INTENT, LABEL_POOL = "muster.dev/site", "muster.dev/intent", "muster.dev/pool"
LABEL_WORKER = "muster.dev/worker"
LABEL_QUEUE = "kueue.x-k8s.io/queue-name"
LABEL_ZONE = "topology.kubernetes.io/zone"
DIRECTORY = "/var/lib/muster"
GRACE_S = 120
_PHASES = {"Pending": Presence.RUNNING, "Running": Presence.RUNNING, "Unknown": Presence.RUNNING}


@dataclass(frozen=True, slots=True)
class PodKind:
    """Resources of a pod of one machine kind.

    Attributes:
        resources: By the cluster's names: `{"nvidia.com/gpu": "8", "cpu": "64"}`.
        tolerations: As in a pod's `tolerations`.
        shared_memory: Size of `/dev/shm`, which data loaders use to pass batches.
    """

    resources: Mapping[str, str]
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, str | int]] = ()
    shared_memory: str = "8Gi"


@dataclass(frozen=True, slots=True)
class KubernetesSite:
    """How a deployment's workers run in one namespace of a cluster.

    Attributes:
        name: Name of the deployment, which labels its pods.
        image: Image with the platform; its `python3` (`bootstrap.python`) starts the worker.
        queue: Kueue's local queue for the pods.
        spot_selector: Labels of the nodes that may be reclaimed, for `spot` offers.
    """

    name: str
    namespace: str
    image: str
    bootstrap: Bootstrap
    kinds: Mapping[str, PodKind] = field(default_factory=dict)
    pull_secrets: Sequence[str] = ()
    service_account: str | None = None
    priority_class: str | None = None
    queue: str | None = None
    spot_selector: Mapping[str, str] = field(default_factory=dict)


def secret_of(site: KubernetesSite, intent: Intent, tokens: Mapping[WorkerId, str]) -> Json:
    """Return a secret with the intent's join tokens, so that pods do not show them to their readers."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret_name(intent), "labels": _labels(site, intent)},
        "type": "Opaque",
        "immutable": True,
        "stringData": {str(worker): token for worker, token in tokens.items()},
    }


def secret_name(intent: Intent) -> str:
    """Return the name of the secret with an intent's tokens."""
    return f"muster-{intent.id}"


def owners(pods: Sequence[Json]) -> list[Json]:
    """Return owner references, with which the cluster deletes an object after these pods."""
    return [
        {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        for pod in pods
    ]


def pod_of(site: KubernetesSite, intent: Intent, one: Instance) -> Json:
    """Return a pod with one worker. It restarts after a crash and finishes when the worker exits by itself."""
    kind = site.kinds.get(intent.offer.kind.name, PodKind(resources={"cpu": str(one.slots)}))
    own = worker_environment(site.bootstrap, intent) | {
        "MUSTER_WORKER__ID": one.worker,
        "MUSTER_WORKER__DIRECTORY": f"{DIRECTORY}/worker",
    }
    token = {"name": secret_name(intent), "key": one.worker}
    labels = (
        _labels(site, intent) | {LABEL_WORKER: one.worker} | ({LABEL_QUEUE: site.queue} if site.queue else {})
    )
    container = {
        "name": "worker",
        "image": site.image,
        "command": [site.bootstrap.python, "-P", "-m", "worker"],
        "env": [
            *({"name": name, "value": value} for name, value in own.items()),
            {"name": "MUSTER_WORKER__ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "MUSTER_WORKER__JOIN_TOKEN", "valueFrom": {"secretKeyRef": token}},
        ],
        "resources": {"limits": dict(kind.resources), "requests": dict(kind.resources)},
        "volumeMounts": [
            {"name": "directory", "mountPath": DIRECTORY},
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108
        ],
    }
    spec = {
        "restartPolicy": "OnFailure",
        # The pod runs user code, which must not access the cluster.
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_S,
        "containers": [container],
        "volumes": [
            {"name": "directory", "emptyDir": {}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": kind.shared_memory}},
        ],
        "nodeSelector": _selector(site, kind, intent.offer),
        "tolerations": [dict(one) for one in kind.tolerations],
        "imagePullSecrets": [{"name": name} for name in site.pull_secrets],
        "serviceAccountName": site.service_account,
        "priorityClassName": site.priority_class,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": one.worker, "labels": labels},
        "spec": {name: value for name, value in spec.items() if value not in (None, [], {})},
    }


def sighting_of(pod: Json) -> tuple[WorkerId, Sighting] | None:
    """Return the sighting of a worker's pod; None if its labels were changed."""
    metadata, status = pod["metadata"], pod.get("status", {})
    labels = metadata.get("labels", {})
    try:
        intent = IntentId(UUID(labels.get(LABEL_INTENT, "")))
    except ValueError:
        return None
    phase = (
        Presence.ENDED
        if "deletionTimestamp" in metadata
        else _PHASES.get(status.get("phase"), Presence.ENDED)
    )
    seen = Sighting(
        presence=phase,
        external_id=metadata["name"],
        intent=intent,
        zone=pod.get("spec", {}).get("nodeSelector", {}).get(LABEL_ZONE),
        launched_at=_time(status.get("startTime")),
        ended_at=_ended_at(status) if phase is Presence.ENDED else None,
    )
    return WorkerId(metadata["name"]), seen


def _labels(site: KubernetesSite, intent: Intent) -> dict[str, str]:
    return {
        "app.kubernetes.io/managed-by": "muster",
        LABEL_SITE: site.name,
        LABEL_INTENT: str(intent.id),
        LABEL_POOL: intent.pool,
    }


def _selector(site: KubernetesSite, kind: PodKind, offer: Offer) -> dict[str, str]:
    zone = {LABEL_ZONE: offer.zone} if offer.zone else {}
    return {**kind.node_selector, **zone, **(site.spot_selector if offer.purchase == "spot" else {})}


def _ended_at(status: Json) -> datetime | None:
    finished = [
        one.get("state", {}).get("terminated", {}).get("finishedAt")
        for one in status.get("containerStatuses", ())
    ]
    return _time(finished[0]) if finished else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
