"""What EC2 is asked for an intent, and what its errors mean."""

from dataclasses import replace
from typing import Any

import pytest

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.drivers.aws.error_codes import cause_of, refusal
from services.provisioner.drivers.aws.request import (
    LARGEST_USER_DATA_BYTES,
    MOST_MACHINES,
    AwsSite,
    run_instances,
)
from services.provisioner.drivers.bootstrap import Bootstrap
from shared.errors import Rejected
from tests.contract.machine_driver import an_intent

P5 = Offer(MachineKind("p5.48xlarge", "aws", 8, "cuda", gpu="H100"), "us-east-1b")
SITE = AwsSite("site-a", "us-east-1", Bootstrap("https://muster.example", cloud="aws"), image="ami-1")


def asked(site: AwsSite = SITE, offer: Offer = P5, machines: int = 2) -> dict[str, Any]:
    intent = an_intent(offer, machines)
    return run_instances(site, intent, {one.worker: "t" * 43 for one in intent.instances})


def test_the_intent_is_the_client_token_and_on_every_machine() -> None:
    intent = an_intent(P5, 2)
    request = run_instances(SITE, intent, {})
    assert request["ClientToken"] == str(intent.id)
    assert (request["MinCount"], request["MaxCount"]) == (1, 2)
    for said in request["TagSpecifications"]:
        tags = {tag["Key"]: tag["Value"] for tag in said["Tags"]}
        assert (tags["muster:intent"], tags["muster:site"]) == (str(intent.id), "site-a")


def test_metadata_is_for_the_machine_itself_and_it_ends_with_its_shutdown() -> None:
    request = asked()
    assert request["MetadataOptions"]["HttpTokens"] == "required"
    assert request["MetadataOptions"]["HttpPutResponseHopLimit"] == 1
    assert request["InstanceInitiatedShutdownBehavior"] == "terminate"


def test_spot_is_asked_for_once_and_taken_back_by_ending() -> None:
    assert "InstanceMarketOptions" not in asked()
    options = asked(offer=replace(P5, purchase="spot"))["InstanceMarketOptions"]
    assert options["MarketType"] == "spot"
    assert options["SpotOptions"]["InstanceInterruptionBehavior"] == "terminate"


def test_zone_subnet_group_and_profile() -> None:
    request = asked(
        replace(
            SITE,
            subnets={"us-east-1b": "subnet-b"},
            security_groups=("sg-1",),
            placement_group="near",
            instance_profile="worker",
        )
    )
    assert request["Placement"] == {"AvailabilityZone": "us-east-1b", "GroupName": "near"}
    assert (request["SubnetId"], request["SecurityGroupIds"]) == ("subnet-b", ["sg-1"])
    assert request["IamInstanceProfile"] == {"Name": "worker"}


def test_efa_interfaces_are_on_cards_of_their_own_and_have_the_subnet() -> None:
    site = replace(SITE, subnets={"us-east-1b": "subnet-b"}, security_groups=("sg-1",), efa_interfaces=4)
    request = asked(site)
    cards = request["NetworkInterfaces"]
    assert [card["NetworkCardIndex"] for card in cards] == [0, 1, 2, 3]
    assert [card["DeviceIndex"] for card in cards] == [0, 1, 1, 1]
    assert all(
        (card["InterfaceType"], card["SubnetId"], card["Groups"]) == ("efa", "subnet-b", ["sg-1"])
        for card in cards
    )
    assert "SubnetId" not in request and "SecurityGroupIds" not in request, "EC2 takes them in one place only"


@pytest.mark.parametrize(
    ("template", "by"), [("lt-0abc", "LaunchTemplateId"), ("workers", "LaunchTemplateName")]
)
def test_a_launch_template_by_id_or_name(template: str, by: str) -> None:
    request = asked(replace(SITE, launch_template=template, image=None))
    assert request["LaunchTemplate"] == {by: template}
    assert "ImageId" not in request


def test_as_many_machines_as_fit_one_call() -> None:
    full = asked(machines=MOST_MACHINES)
    assert len(full["UserData"]) <= LARGEST_USER_DATA_BYTES
    with pytest.raises(Rejected, match="101 machines do not fit"):
        asked(machines=MOST_MACHINES + 1)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("InsufficientInstanceCapacity", "no_capacity"),
        ("VcpuLimitExceeded", "quota"),
        ("RequestLimitExceeded", "throttled"),
        ("ExpiredToken", "credentials"),
        ("InvalidSubnetID.NotFound", "bad_request"),
        ("InvalidParameterValue", "bad_request"),
        ("NewInTheYear2030", "unknown"),
    ],
)
def test_causes(code: str, cause: str) -> None:
    assert cause_of(code) == cause


def test_a_refusal_says_what_where_and_the_way_out() -> None:
    refused = refusal(
        "VcpuLimitExceeded", "You have requested more vCPU capacity than your limit.", P5.label
    ).reason
    assert refused == (
        "AWS refused p5.48xlarge in us-east-1b: You have requested more vCPU capacity than your limit (VcpuLimitExceeded);"
        " ask AWS to raise the limit, or lower the pool's maximum"
    )
