"""The table of trials as callers see it: one question by REST and gRPC, pages behind signed cursors, errors with their place."""

from typing import Any
from uuid import UUID

import grpc.aio
import pytest
from google.protobuf.json_format import MessageToDict

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.errors import Rejected
from shared.ids import TrialId, derived_id
from shared.messages.trial_tables import GetColumns, GetTable, KnownColumns, TablePage, TableRow
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_front import experiment

__all__ = ["experiment"]


@pytest.fixture
def asked(others: Others) -> list[GetTable]:
    """What the registry was asked; it has three trials, the last without a number."""
    questions: list[GetTable] = []

    def answer(_: Any, query: GetTable) -> TablePage:
        questions.append(query)
        first = int((query.after or ("0", "0"))[-1] or 0)
        rows = [
            _row(query.experiment_id, number) for number in range(first + 1, min(first + query.limit, 3) + 1)
        ]
        last = rows[-1].number
        following = (None if last == 3 else "0.5", str(last)) if last < 3 else None
        return TablePage(
            columns=("hparams.lr", "best"), rows=tuple(rows), next=following, total=None if query.after else 3
        )

    others.say(GetTable, answer)
    others.say(GetColumns, KnownColumns(columns=("number", "hparams.lr")))
    return questions


async def test_a_table_comes_in_pages_that_only_we_can_turn(
    gateway: Gateway, asked: list[GetTable], experiment: dict[str, Any]
) -> None:
    path = f"/v1/experiments/{experiment['number']}/table"
    given: dict[str, Any] = {
        "filter": "hparams.lr > 0",
        "sort": "best",
        "column": ["hparams.lr", "best"],
        "limit": 2,
    }
    async with gateway.client() as api:
        first = (await api.get(path, params=given)).json()
        second = (await api.get(path, params=given | {"cursor": first["next_cursor"]})).json()
        forged = await api.get(path, params=given | {"cursor": first["next_cursor"], "sort": "-best"})
        columns = (await api.get(f"/v1/experiments/{experiment['number']}/columns")).json()
    assert [row["number"] for row in first["items"] + second["items"]] == [1, 2, 3]
    assert first["items"][0]["values"] == {"hparams.lr": 0.1, "best": 0.9}
    assert list(second["items"][0]["values"].items()) == [("hparams.lr", "auto"), ("best", None)]
    assert (first["total"], second["total"], second["next_cursor"]) == (3, None, None)
    assert (forged.status_code, forged.json()["code"]) == (400, "cursor_invalid")
    assert columns["columns"] == ["number", "hparams.lr"]
    assert asked[1].after == ("0.5", "2") and asked[0].after is None
    assert asked[0].declared.metric == experiment["metric"]
    assert asked[0].declared.validation_metrics == ("accuracy", "size", "latency_ms")
    assert (asked[1].filter, asked[1].sort, asked[1].columns) == (
        "hparams.lr > 0",
        "best",
        ("hparams.lr", "best"),
    )


async def test_the_same_by_grpc(gateway: Gateway, asked: list[GetTable], experiment: dict[str, Any]) -> None:
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        found = await muster_pb2_grpc.MusterStub(channel).ListTrialTable(
            muster_pb2.TrialTableRequest(experiment=experiment["id"], filter="number > 0"),
            metadata=(("authorization", f"Bearer {gateway.admin_token}"),),
        )
    assert [MessageToDict(row.values) for row in found.items][1:] == [
        {"hparams.lr": 0.2, "best": 0.8},
        {"hparams.lr": "auto", "best": None},
    ]
    assert asked[0].filter == "number > 0"


async def test_what_is_wrong_with_a_filter_reaches_the_caller(
    gateway: Gateway, others: Others, experiment: dict[str, Any]
) -> None:
    others.say(GetTable, Rejected("bad_filter", "at character 3: expected =", "filter", "say number = 1"))
    async with gateway.client() as api:
        answer = await api.get(f"/v1/experiments/{experiment['number']}/table", params={"filter": "a b"})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["place"]) == (422, "bad_filter", "filter")
    assert (problem["detail"], problem["hint"]) == ("at character 3: expected =", "say number = 1")


def _row(experiment: UUID, number: int) -> TableRow:
    cells = ("auto", None) if number == 3 else (number / 10, 1 - number / 10)
    return TableRow(trial_id=TrialId(derived_id(experiment, "trial", number)), number=number, cells=cells)
