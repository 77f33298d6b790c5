"""Field masks: what is kept of what is shown, over either protocol, and what is refused."""

from typing import Any

import orjson
import pytest

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.lists.field_masks import FIELDS, keep, read_mask
from services.gateway.platform.schema import JsonObject, Resource
from services.gateway.transports.grpc.mapper import Mapper
from services.gateway.transports.grpc.stubs import muster_pb2
from shared.errors import Rejected


class Wheel(Resource):
    """A part of a part."""

    size: int
    maker: str | None = None


class Car(Resource):
    """Something with parts."""

    id: str
    spare: Wheel | None = None
    wheels: list[Wheel] = []
    papers: JsonObject = {}


class CarPage(Resource):
    """Several."""

    items: list[Car]
    next_cursor: str | None = None


CAR = Car(id="a", spare=Wheel(size=3), wheels=[Wheel(size=1, maker="x"), Wheel(size=2)], papers={"tax": {"paid": True, "by": [1]}, "age": None})  # fmt: skip


@pytest.mark.parametrize(
    ("mask", "kept"),
    [
        ("id", {"id": "a"}),
        ("id , spare.size", {"id": "a", "spare": {"size": 3}}),
        ("spare.size,spare", {"spare": {"size": 3, "maker": None}}),
        ("spare,spare.size", {"spare": {"size": 3, "maker": None}}),
        ("wheels.maker", {"wheels": [{"maker": "x"}, {"maker": None}]}),
        ("papers.tax.paid,papers.none", {"papers": {"tax": {"paid": True}}}),
        ("papers.age", {"papers": {"age": None}}),
    ],
)
def test_only_what_is_named_is_kept(mask: str, kept: dict[str, Any]) -> None:
    assert keep(orjson.loads(CAR.to_json()), read_mask(mask, Car)) == kept
    page = CarPage(items=[CAR, CAR], next_cursor="on")
    shown = keep(orjson.loads(page.to_json()), read_mask(mask, CarPage))
    assert shown == {"items": [kept, kept], "next_cursor": "on"}


@pytest.mark.parametrize(
    ("mask", "hint"),
    [
        ("", "use the form id"),
        ("id,,spare", "use the form id"),
        ("nope", "fields: id, spare"),
        ("id.x", "use id"),
        ("spare.nope", "size, maker"),
        ("items.id", "fields: id"),
        ("x" * 3000, ""),
    ],
)
def test_a_wrong_name_is_refused_with_those_that_there_are(mask: str, hint: str) -> None:
    with pytest.raises(Rejected) as refused:
        read_mask(mask, CarPage)
    assert refused.value.place == "fields" and hint in (refused.value.hint or "")


def test_a_masked_message_has_the_rest_unset() -> None:
    row = next(row for row in OPERATIONS if row.name == "GetMe")
    whole = {
        "tenant": "0193b8c4-0000-7000-8000-000000000001",
        "tenant_name": "acme",
        "token": "0193b8c4-0000-7000-8000-000000000002",
        "name": "ada",
        "role": "viewer",
        "permissions": ["experiment.read"],
        "roles": [{"role": "editor", "workspace": "vision"}, {"role": "viewer"}],
    }
    me = row.response.model_validate(whole)
    message: Any = Mapper(muster_pb2).to_message(keep(me, read_mask("name,roles.workspace", row.response)))
    assert (message.name, message.tenant_name, list(message.permissions)) == ("ada", "", [])
    assert [(held.role, held.workspace) for held in message.roles] == [("", "vision"), ("", "")]


def test_no_request_has_a_field_of_that_name() -> None:
    assert not [row.name for row in OPERATIONS if row.is_masked and FIELDS in row.request.model_fields]
