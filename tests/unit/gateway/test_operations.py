"""The table of operations, and the proto file and mapper made from it."""

import dataclasses
import json
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import BaseModel, JsonValue

from muster.client.http.transport import CHANGES_NOTHING
from services.gateway.experiments import schema as experiments
from services.gateway.model_versions import schema as versions
from services.gateway.operation_table import OPERATIONS
from services.gateway.platform import schema as base
from services.gateway.platform.audit.records import Audited
from services.gateway.platform.auth.permissions import Access
from services.gateway.platform.operation import Idempotency, Operation, Retirement
from services.gateway.tokens import schema as access
from services.gateway.transports.grpc.field_types import shape_of
from services.gateway.transports.grpc.mapper import Mapper
from services.gateway.transports.grpc.proto import collect_schema, render_proto
from services.gateway.transports.grpc.stubs import muster_pb2
from services.gateway.transports.rest.openapi import render_openapi
from shared.errors import Rejected
from tests.support.drill_share import examples

MAPPER = Mapper(muster_pb2)
SCHEMA = collect_schema(OPERATIONS)
NUMBERS = st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False))
JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_a_row_without_a_permission_is_no_row() -> None:
    row = OPERATIONS[0]
    with pytest.raises(TypeError, match="permission"):
        dataclasses.replace(row, permission=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Operation("X", "GET", "/v1/x", base.Empty, base.Done)  # type: ignore[call-arg]


def test_a_path_names_only_fields_of_its_request() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        dataclasses.replace(OPERATIONS[0], path="/v1/x/{nowhere}")


def test_names_and_routes_are_unique() -> None:
    assert len({row.name for row in OPERATIONS}) == len(OPERATIONS)
    assert len({(row.verb, row.path) for row in OPERATIONS}) == len(OPERATIONS)


def test_what_only_reads_is_safe_and_creates_take_a_key() -> None:
    for row in OPERATIONS:
        assert (row.verb == "GET") == (row.idempotent is Idempotency.SAFE), row.name
    keyed = {row.name for row in OPERATIONS if row.idempotent is Idempotency.KEY}
    creating = {row.name for row in OPERATIONS if row.status == 201}
    on_models = {row.name for row in OPERATIONS if row.path.startswith("/v1/models") and row.verb != "GET"}
    assert not (creating | on_models) - keyed
    assert not {row.name for row in OPERATIONS if row.name.startswith("Create")} - creating


def test_what_shows_a_secret_says_so() -> None:
    """Its answer is then kept sealed for who repeats the request."""
    shown = {"secret", "token", "jwt", "password", "credentials"}
    for row in OPERATIONS:
        holds = shown & set(row.response.model_fields) and row.response is not access.Me
        assert row.secret == bool(holds), row.name


def test_every_request_refuses_unknown_fields() -> None:
    for row in OPERATIONS:
        assert row.request.model_config.get("extra") == "forbid", row.request.__name__


def test_field_numbers_are_only_ever_appended() -> None:
    text, numbers = render_proto(OPERATIONS, {})
    assert render_proto(OPERATIONS, numbers) == (text, numbers)
    fewer = tuple(row for row in OPERATIONS if row.name != "GetMe")
    _, kept = render_proto(fewer, numbers)
    assert kept == numbers
    old = {name: dict(fields) for name, fields in numbers.items()}
    old["Experiment"]["colour"] = 99
    newer, later = render_proto(OPERATIONS, old)
    assert later["Experiment"]["colour"] == 99 and "reserved 99;" in newer and 'reserved "colour";' in newer
    del old["Experiment"]["number"]
    _, later = render_proto(OPERATIONS, old)
    assert (
        later["Experiment"]["number"] == 100 and later["Experiment"]["name"] == numbers["Experiment"]["name"]
    )


def test_every_model_has_a_message_and_every_field_its_place() -> None:
    for name, model in SCHEMA.models.items():
        fields = set(MAPPER.message_type(model).DESCRIPTOR.fields_by_name) - {"data"}
        assert fields == set(model.model_fields), name


@settings(max_examples=examples(6, 30), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
@pytest.mark.parametrize("name", sorted(SCHEMA.models))
def test_messages_say_what_models_say(name: str, data: st.DataObject) -> None:
    model = SCHEMA.models[name]
    values = data.draw(values_of(model))
    made = model.model_construct(**values)
    back = MAPPER.to_values(model, MAPPER.to_message(made))
    assert said(back) == said(values)


def said(values: dict[str, Any]) -> dict[str, Any]:
    """Without what protobuf does not tell from absent."""
    return {key: value for key, value in values.items() if value is not None and value != [] and value != {}}


@cache
def values_of(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Made once: Hypothesis looks through each new strategy, which takes longer than what is drawn from it."""
    return st.fixed_dictionaries({field: value_of(model, field) for field in model.model_fields})


def value_of(model: type[BaseModel], field: str) -> st.SearchStrategy[Any]:
    shape = shape_of(model.model_fields[field])
    one: dict[str, st.SearchStrategy[Any]] = {
        "string": st.text(max_size=5),
        "uuid": st.uuids().map(str),
        "int": st.integers(-(2**63), 2**63 - 1),
        "double": st.floats(allow_nan=False),
        "bool": st.booleans(),
        "bytes": st.binary(max_size=5),
        "value": JSON,
        "struct": st.dictionaries(st.text(max_size=3), JSON, max_size=3),
        "timestamp": st.datetimes().map(lambda time: time.replace(tzinfo=UTC)),
        "enum": st.sampled_from(list(shape.enum or ["x"])).map(str),
        "message": st.just(None),
    }
    strategy = one[shape.kind]
    if shape.kind == "message":
        return st.just([]) if shape.label == "repeated" else st.none()
    if shape.label == "repeated":
        return st.lists(strategy, max_size=3)
    if shape.label == "map":
        return st.dictionaries(st.text(max_size=3), strategy, max_size=3)
    return strategy


def test_absent_fields_take_the_models_defaults() -> None:
    message = muster_pb2.ListExperimentsRequest(label=["a"])
    values = MAPPER.to_values(experiments.ListExperimentsRequest, message)
    assert experiments.ListExperimentsRequest.model_validate(values) == experiments.ListExperimentsRequest(
        label=["a"]
    )
    message.limit = 0
    assert MAPPER.to_values(experiments.ListExperimentsRequest, message)["limit"] == 0


def test_unknown_fields_and_values_are_refused() -> None:
    unknown = muster_pb2.ExperimentRequest.FromString(b"\xc0\x0c\x01")
    with pytest.raises(Rejected, match="200"):
        MAPPER.to_values(experiments.ExperimentRequest, unknown)
    with pytest.raises(Rejected) as caught:
        MAPPER.to_values(
            experiments.ListExperimentsRequest,
            muster_pb2.ListExperimentsRequest(state=[77]),  # type: ignore[list-item]
        )
    assert caught.value.place == "state[0]"


@given(JSON)
def test_json_survives_the_way_there_and_back(value: JsonValue) -> None:
    message = muster_pb2.CreateExperimentRequest()
    json_format.ParseDict({"config": {"a": value}}, message) if value is not None else None
    found = MAPPER.to_values(experiments.CreateExperimentRequest, message)
    if value is not None:
        assert found["config"] == {"a": value}


@pytest.mark.parametrize(
    ("signature", "unknown"),
    [({"input": []}, "input"), ({"inputs": [{"name": "x", "type": "int64"}]}, "type")],
)
def test_a_misspelt_signature_is_refused(signature: dict[str, Any], unknown: str) -> None:
    plain = {"model": "digits", "checkpoint": UUID(int=1), "signature": signature}
    with pytest.raises(ValueError, match=f"unknown field '{unknown}' in a signature"):
        versions.CreateModelVersionRequest.model_validate(plain)


def test_what_is_on_its_way_out_says_so_everywhere() -> None:
    since, until = datetime(2026, 11, 22, tzinfo=UTC), datetime(2027, 11, 22, tzinfo=UTC)
    retired = Retirement(since, until, "https://muster.example/api#retired")
    row = dataclasses.replace(OPERATIONS[0], retired=retired)
    assert retired.headers() == {
        "Deprecation": "@1795305600",
        "Sunset": "Mon, 22 Nov 2027 00:00:00 GMT",
        "Link": '<https://muster.example/api#retired>; rel="deprecation"; type="text/html"',
    }
    document = json.loads(render_openapi((row,)))
    assert document["paths"][row.path][row.verb.lower()]["deprecated"] is True
    assert "option deprecated = true" in render_proto((row,), {})[0]
    assert "deprecated" not in render_proto((OPERATIONS[0],), {})[0]


def test_the_sdk_knows_which_posts_change_nothing() -> None:
    only_answer = {
        one.path
        for one in OPERATIONS
        if one.verb != "GET" and (one.audits is Audited.NEVER or one.permission is Access.PUBLIC)
    }
    assert only_answer == CHANGES_NOTHING
