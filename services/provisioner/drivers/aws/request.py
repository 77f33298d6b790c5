"""Build the RunInstances request of an intent, without side effects, so that it can be shown before it is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.provisioner.core.instances.launches import Intent
from services.provisioner.drivers.bootstrap import Bootstrap, script
from shared.errors import Rejected
from shared.ids import WorkerId

TAG_SITE, TAG_INTENT, TAG_POOL = "muster:site", "muster:intent", "muster:pool"
LARGEST_USER_DATA_BYTES = 16 * 1024
MOST_MACHINES = 100
"""Most machines of one call: more tokens would not fit into the user data."""

FIND_INDEX = """\
metadata=http://169.254.169.254/latest
session=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' $metadata/api/token) || return 1
ask() { curl -sf -H "X-aws-ec2-metadata-token: $session" $metadata/meta-data/$1; }
index=$(ask ami-launch-index) || return 1
address=$(ask local-ipv4) || return 1
"""
"""Sets `index`, the machine's index in its intent, and `address`."""


@dataclass(frozen=True, slots=True)
class AwsSite:
    """How a deployment's machines are launched in one region.

    Attributes:
        name: Name of the deployment, which tags its machines in a shared account.
        launch_template: Id or name of a launch template; the settings here override it.
        image: AMI; optional if the launch template names one.
        subnets: Subnet of each zone; other zones use the account's default.
        placement_group: A cluster placement group, for gangs on several machines.
        efa_interfaces: EFA network interfaces of each machine; 0: an ordinary interface.
        tags: Further tags, for the account's own bookkeeping.
    """

    name: str
    region: str
    bootstrap: Bootstrap
    launch_template: str | None = None
    image: str | None = None
    subnets: Mapping[str, str] = field(default_factory=dict)
    security_groups: Sequence[str] = ()
    instance_profile: str | None = None
    placement_group: str | None = None
    efa_interfaces: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)


def run_instances(site: AwsSite, intent: Intent, tokens: Mapping[WorkerId, str]) -> dict[str, Any]:
    """Return the RunInstances request of an intent.

    `MinCount` is 1, so that AWS launches as many as it has; the client token is the intent's id. A machine finds its
    index in the intent from its launch index. Instances terminate when they shut down. Their metadata requires a
    session token (IMDSv2) and is accessible only from the machine itself.

    Raises:
        Rejected: More machines than fit into one call (`too_many_machines`).
    """
    offer, count = intent.offer, len(intent.instances)
    data = script(site.bootstrap, intent, tokens, FIND_INDEX)
    if count > MOST_MACHINES or len(data.encode()) > LARGEST_USER_DATA_BYTES:
        raise Rejected(
            "too_many_machines", f"{count} machines do not fit into one call; the limit is {MOST_MACHINES}"
        )
    request: dict[str, Any] = {
        "InstanceType": offer.kind.name,
        "MinCount": 1,
        "MaxCount": count,
        "ClientToken": str(intent.id),
        "Placement": _placement(site, offer.zone),
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 1,
        },
        "UserData": data,  # the library encodes it
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": _tags(site, intent)} for kind in ("instance", "volume")
        ],
        **_network(site, offer.zone),
    }
    if site.image:
        request["ImageId"] = site.image
    if site.launch_template:
        by = "LaunchTemplateId" if site.launch_template.startswith("lt-") else "LaunchTemplateName"
        request["LaunchTemplate"] = {by: site.launch_template}
    if site.instance_profile:
        request["IamInstanceProfile"] = {"Name": site.instance_profile}
    if offer.purchase == "spot":
        terms = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": terms}
    return request


def _placement(site: AwsSite, zone: str | None) -> dict[str, str]:
    placement = {"AvailabilityZone": zone, "GroupName": site.placement_group}
    return {name: value for name, value in placement.items() if value}


def _network(site: AwsSite, zone: str | None) -> dict[str, Any]:
    """Return subnet and security groups, for the instance or for each of its network interfaces."""
    subnet = site.subnets.get(zone or "")
    groups = list(site.security_groups)
    if site.efa_interfaces == 0:
        return ({"SubnetId": subnet} if subnet else {}) | ({"SecurityGroupIds": groups} if groups else {})
    return {
        "NetworkInterfaces": [
            # The first interface has the machine's address; the others are on further network cards, one each.
            {"DeviceIndex": min(card, 1), "NetworkCardIndex": card, "InterfaceType": "efa"}
            | ({"SubnetId": subnet} if subnet else {})
            | ({"Groups": groups} if groups else {})
            for card in range(site.efa_interfaces)
        ]
    }


def _tags(site: AwsSite, intent: Intent) -> list[dict[str, str]]:
    own = {
        TAG_SITE: site.name,
        TAG_INTENT: str(intent.id),
        TAG_POOL: intent.pool,
        "Name": f"muster-{intent.pool}",
    }
    return [{"Key": key, "Value": value} for key, value in {**site.tags, **own}.items()]
