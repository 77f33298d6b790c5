"""What the settings and the machine make of the pool, and what a worker gets of our environment."""

from pathlib import Path

import pytest

from services.provisioner.drivers.host_resources import find_gpus, worker_environment
from services.provisioner.service import spec_of
from services.provisioner.settings import ProvisionerSection
from shared.errors import Rejected


def section(**settings: object) -> ProvisionerSection:
    return ProvisionerSection.model_validate({"directory": Path("/w"), "gateway_url": "http://g"} | settings)


@pytest.mark.parametrize(
    ("settings", "gpus", "cores", "kind", "slots", "maximum"),
    [
        ({}, 0, 2, "cpu", 1, 2),
        ({}, 4, 64, "cuda", 4, 1),
        ({"slots_per_worker": 1}, 4, 64, "cuda", 1, 4),
        ({"slots_per_worker": 2}, 0, 8, "cpu", 2, 4),
        ({"slots_per_worker": 16}, 0, 8, "cpu", 16, 1),
        ({"slot_kind": "cpu"}, 4, 8, "cpu", 1, 8),
        ({"minimum": 3}, 0, 2, "cpu", 1, 3),
        ({"minimum": 0, "maximum": 0}, 0, 2, "cpu", 1, 0),
    ],
)
def test_policies(
    settings: dict[str, object], gpus: int, cores: int, kind: str, slots: int, maximum: int
) -> None:
    policy = spec_of(section(**settings), gpus, cores)
    assert (policy.kind, policy.slots_per_instance, policy.maximum) == (kind, slots, maximum)


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"slot_kind": "cuda"}, "no GPU"), ({"minimum": 3, "maximum": 2}, "above the maximum")],
)
def test_settings_that_cannot_be(settings: dict[str, object], says: str) -> None:
    with pytest.raises(Rejected, match=says):
        spec_of(section(**settings), 0, 4)


def test_no_credential_of_ours_reaches_a_worker() -> None:
    ours = {
        "PATH": "/bin",
        "MUSTER_NATS__CREDENTIALS": "/keys/provisioner.creds",
        "MUSTER_POSTGRES__OWNER_URL": "postgresql://secret",
        "MUSTER_SIDE__TOKEN": "secret",
        "MUSTER_PROVISIONER__DIRECTORY": "/w",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "MUSTER_WORKER__JOIN_TOKEN": "somebody's",
        "MUSTER_WORKER__USER": "nobody",
        "MUSTER_TELEMETRY__DIRECTORY": "/traces",
    }
    assert worker_environment(ours) == {
        "PATH": "/bin",
        "MUSTER_WORKER__USER": "nobody",
        "MUSTER_TELEMETRY__DIRECTORY": "/traces",
    }


@pytest.mark.parametrize(("visible", "found"), [("0,2", ("0", "2")), ("", ()), ("-1", ())])
def test_gpus_hidden_from_us_are_not_given_away(visible: str, found: tuple[str, ...]) -> None:
    assert find_gpus({"CUDA_VISIBLE_DEVICES": visible}) == found
