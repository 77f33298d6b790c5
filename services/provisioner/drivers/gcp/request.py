"""Build the Compute Engine request of an intent and read its machines, without side effects. A machine has its worker's name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from services.provisioner.core.instances.instance import IntentId
from services.provisioner.core.instances.launches import Intent, Presence, Sighting
from services.provisioner.drivers.bootstrap import Bootstrap, script
from services.provisioner.drivers.rest import Json
from shared.ids import WorkerId

LABEL_SITE, LABEL_INTENT, LABEL_POOL = "muster-site", "muster-intent", "muster-pool"
FIND_INDEX = """\
metadata=http://metadata.google.internal/computeMetadata/v1/instance
ask() { curl -sf -H 'Metadata-Flavor: Google' $metadata/$1; }
index=$(ask name) || return 1
address=$(ask network-interfaces/0/ip) || return 1
"""
"""Sets `index`, here the worker, and `address`."""
_RUNNING = frozenset({"PROVISIONING", "STAGING", "RUNNING", "REPAIRING"})
"""All other states are final: a machine that shut down is not restarted but deleted with its disk."""


@dataclass(frozen=True, slots=True)
class GpuOf:
    """GPUs added to kinds that do not include any, such as the N1 series."""

    type: str
    count: int


@dataclass(frozen=True, slots=True)
class GcpSite:
    """How a deployment's machines are launched in one project.

    Attributes:
        name: Name of the deployment, which labels its machines: lower-case letters, digits, `-` and `_`.
        image: As `projects/p/global/images/family/f`.
        subnetworks: Subnetwork of each region; other regions use the default network.
        gpus: GPUs of each kind that does not include any.
        service_account: Service account of the machines; None: none.
        has_external_address: Whether machines have an external IP address.
    """

    name: str
    project: str
    image: str
    bootstrap: Bootstrap
    disk_gib: int = 100
    disk_type: str = "pd-balanced"
    subnetworks: Mapping[str, str] = field(default_factory=dict)
    network_tags: Sequence[str] = ()
    gpus: Mapping[str, GpuOf] = field(default_factory=dict)
    service_account: str | None = None
    has_external_address: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


def bulk_insert(site: GcpSite, intent: Intent, tokens: Mapping[WorkerId, str], zone: str) -> Json:
    """Return the body of `instances.bulkInsert`: as many of the named machines as are available, at least one."""
    startup = script(site.bootstrap, intent, tokens, FIND_INDEX)
    properties: Json = {
        "machineType": intent.offer.kind.name,
        "labels": {
            **site.labels,
            LABEL_SITE: site.name,
            LABEL_INTENT: str(intent.id),
            LABEL_POOL: _label(intent.pool),
        },
        "metadata": {"items": [{"key": "startup-script", "value": startup}]},
        "disks": [_disk(site)],
        "networkInterfaces": [_network(site, zone)],
        "scheduling": _scheduling(intent),
        "serviceAccounts": _service_accounts(site),
    }
    if site.network_tags:
        properties["tags"] = {"items": list(site.network_tags)}
    if (gpu := site.gpus.get(intent.offer.kind.name)) is not None:
        properties["guestAccelerators"] = [{"acceleratorType": gpu.type, "acceleratorCount": gpu.count}]
    return {
        "count": str(len(intent.instances)),
        "minCount": "1",
        "perInstanceProperties": {one.worker: {} for one in intent.instances},
        "instanceProperties": properties,
    }


def sighting_of(one: Json) -> tuple[WorkerId, Sighting] | None:
    """Return the sighting of a worker's machine; None if its labels were changed."""
    try:
        intent = IntentId(UUID(one.get("labels", {}).get(LABEL_INTENT, "")))
    except ValueError:
        return None
    stands = one["status"] in _RUNNING
    zone = str(one["zone"]).rpartition("/")[2]
    seen = Sighting(
        presence=Presence.RUNNING if stands else Presence.ENDED,
        external_id=f"{zone}/{one['name']}",
        intent=intent,
        zone=zone,
        launched_at=_time(one.get("creationTimestamp")),
        ended_at=None if stands else _time(one.get("lastStopTimestamp")),
    )
    return WorkerId(one["name"]), seen


def _disk(site: GcpSite) -> Json:
    made_of = {"sourceImage": site.image, "diskSizeGb": str(site.disk_gib), "diskType": site.disk_type}
    return {"boot": True, "autoDelete": True, "initializeParams": made_of}


def _network(site: GcpSite, zone: str) -> Json:
    region = zone.rpartition("-")[0]
    named = (
        {"subnetwork": site.subnetworks[region]}
        if region in site.subnetworks
        else {"network": "global/networks/default"}
    )
    outside = {"accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]}
    return {**named, "nicType": "GVNIC", **(outside if site.has_external_address else {})}


def _scheduling(intent: Intent) -> Json:
    """Return scheduling options: machines with GPUs cannot migrate to another host, and interrupted machines are deleted."""
    common = {"onHostMaintenance": "TERMINATE", "automaticRestart": False}
    if intent.offer.purchase == "spot":
        return {**common, "provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"}
    return {**common, "provisioningModel": "STANDARD"}


def _service_accounts(site: GcpSite) -> list[Json]:
    if site.service_account is None:
        return []
    return [{"email": site.service_account, "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}]


def _label(text: str) -> str:
    """Return a label value: lower-case letters, digits, `-` and `_`, at most 63."""
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower())[:63]


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
