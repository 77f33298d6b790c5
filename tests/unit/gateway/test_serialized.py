"""What gRPC made of an experiment is made once for one object, and again for every other one."""

from typing import Any

from services.gateway.experiments.schema import ExperimentDetail
from services.gateway.health.schema import Health
from services.gateway.platform.schema import Resource
from services.gateway.transports.grpc.message_cache import Serialized


def experiment(name: str) -> ExperimentDetail:
    fields: dict[str, Any] = {"name": name}
    return ExperimentDetail.model_construct(**fields)


def test_each_form_of_an_experiment_is_made_once_and_of_anything_else_each_time() -> None:
    made: list[Resource] = []

    def make(resource: Resource) -> int:
        made.append(resource)
        return len(made)

    serialized, first = Serialized(), experiment("first")
    assert [serialized.once(first, "message", make) for _ in range(2)] == [1, 1]
    assert serialized.once(first, "etag", make) == 2
    assert serialized.once(experiment("first"), "message", make) == 3
    health = Health(status="ok", version="1")
    assert [serialized.once(health, "message", make) for _ in range(2)] == [4, 5]


def test_an_experiment_that_is_gone_leaves_nothing_to_another_at_its_place() -> None:
    serialized = Serialized()
    for number in range(5000):
        name = f"experiment {number}"
        assert serialized.once(experiment(name), "message", lambda one: getattr(one, "name", "")) == name
