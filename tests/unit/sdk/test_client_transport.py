"""The client's one exchange: what is retried, what is raised, what is sent."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.client.client import Client
from muster.client.http.errors import wait_s
from muster.client.http.fields import query_params
from muster.client.http.transport import Call, Transport, segment
from muster.client.models import Me, Model
from muster.client.settings import Address
from muster.errors import Broken, Conflict, NotFound, Rejected, Transient

ADDRESS = Address("http://platform", "secret", "a test")
PROBLEM = {"content-type": "application/problem+json"}
MODEL = {
    "id": "018f0000-0000-7000-8000-000000000001", "name": "digits", "workspace": "Uncategorized", "owner": "me", "version": 1,
    "created_at": "2026-01-01T00:00:00Z",
}  # fmt: skip


class Gateway:
    """Answers with the responses given, in turn; the last one for good."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def transport(self) -> Transport:
        http = httpx.Client(transport=httpx.MockTransport(self))
        return Transport(ADDRESS, http, attempts=4, sleep=self.waits.append)

    def client(self) -> Client:
        return Client(self.transport())


def problem(status: int, kind: str, code: str, **members: object) -> httpx.Response:
    content = {"type": f"urn:muster:error:{kind}", "code": code, "detail": "it is so", **members}
    return httpx.Response(status, json=content, headers=PROBLEM)


BUSY = problem(503, "transient", "unavailable", retry_after=2.5)


def test_every_request_carries_the_token() -> None:
    gateway = Gateway(httpx.Response(200, json=MODEL))
    gateway.client().models.get("digits")
    assert gateway.requests[0].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("value", "code"),
    [(float("nan"), "invalid_number"), (float("-inf"), "invalid_number"), (object(), "invalid_type")],
)
def test_what_json_does_not_know_is_refused_where_it_stands(value: Any, code: str) -> None:
    gateway = Gateway(httpx.Response(200, json=MODEL))
    with pytest.raises(Rejected) as caught:
        gateway.client().experiments.create({"hyperparameters": {"net": {"widths": [8, value]}}})
    assert (caught.value.code, caught.value.place) == (code, "config.hyperparameters.net.widths[1]")
    assert not gateway.requests


@pytest.mark.parametrize(
    "config", ["entrypoint: python3 train.py\n", {"entrypoint": ["python3", "train.py"]}]
)
def test_a_folder_without_the_entrypoints_script_is_refused_before_it_is_sent(
    tmp_path: Path, config: Any
) -> None:
    (tmp_path / "fit.py").write_text("")
    gateway = Gateway(httpx.Response(200, json=MODEL))
    with pytest.raises(Rejected, match=r"runs train\.py, but the code .* has 1 file: fit\.py") as caught:
        gateway.client().experiments.create(config, tmp_path)
    assert caught.value.code == "entrypoint_missing" and not gateway.requests


def test_who_has_no_token_yet_sends_no_empty_one() -> None:
    """An empty one is no header: the connection broke before anybody could sign in."""
    gateway = Gateway(httpx.Response(200, json=MODEL))
    http = httpx.Client(transport=httpx.MockTransport(gateway))
    Transport(Address("http://platform", "", "a test"), http).get(Model, "/v1/models/digits")
    assert "authorization" not in gateway.requests[0].headers


def test_a_create_is_repeated_under_one_idempotency_key_and_waits_as_told() -> None:
    gateway = Gateway(httpx.ConnectError("refused"), BUSY, httpx.Response(201, json=MODEL))
    assert gateway.client().models.create("digits").name == "digits"
    keys = {request.headers["idempotency-key"] for request in gateway.requests}
    assert len(gateway.requests) == 3 and len(keys) == 1
    assert gateway.waits[1] >= 2.5 * 0.75


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_whatever_changes_something_is_repeated_under_one_key(method: str) -> None:
    gateway = Gateway(BUSY, httpx.Response(200, json=MODEL))
    gateway.transport().call(Model, Call(method, "/v1/models/digits"))
    first, second = (request.headers["idempotency-key"] for request in gateway.requests)
    assert first == second


def test_two_creates_have_two_keys() -> None:
    gateway = Gateway(httpx.Response(201, json=MODEL))
    client = gateway.client()
    client.models.create("a")
    client.models.create("b")
    first, second = (request.headers["idempotency-key"] for request in gateway.requests)
    assert first != second


def test_a_refusal_is_raised_at_once_with_place_and_hint() -> None:
    gateway = Gateway(
        problem(400, "rejected", "unknown_key", place="line 3, column 1", hint="did you mean 'searcher'?")
    )
    with pytest.raises(Rejected) as caught:
        gateway.client().experiments.create({"name": "x"})
    assert (caught.value.code, caught.value.place) == ("unknown_key", "line 3, column 1")
    assert caught.value.hint == "did you mean 'searcher'?"
    assert len(gateway.requests) == 1


def test_attempts_end() -> None:
    gateway = Gateway(httpx.ReadTimeout("slow"))
    with pytest.raises(Transient):
        gateway.client().models.get("digits")
    assert len(gateway.requests) == 4


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(404, "rejected", "not_found"), NotFound),
        (problem(409, "conflict", "already"), Conflict),
        (problem(500, "broken", "broken"), Broken),
        (httpx.Response(404, text="nginx"), NotFound),
        (httpx.Response(400, text="<html>"), Rejected),
        (httpx.Response(500, text="oops"), Broken),
        (httpx.Response(502, text="bad gateway"), Transient),
        (httpx.Response(200, text="<html>"), Broken),
        (httpx.Response(200, json={"unrelated": 1}), Broken),
    ],
)
def test_whatever_comes_back_is_an_error_of_the_tree(answer: httpx.Response, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        Gateway(answer).client().models.get("digits")


def test_references_cannot_leave_their_segment() -> None:
    assert segment("../tokens?x=1#y") == "..%2Ftokens%3Fx%3D1%23y"
    assert segment("") == "-"


def test_lists_become_repeated_query_names_and_absent_values_vanish() -> None:
    gateway = Gateway(httpx.Response(200, json={"items": []}))
    gateway.client().experiments.list(states=["active", "paused"]).all()
    query = gateway.requests[0].url.params.multi_items()
    assert ("state", "active") in query and ("state", "paused") in query
    assert ("archived", "false") in query and not any(
        name in ("cursor", "name_contains") for name, _ in query
    )


def test_known_code_is_not_sent_again(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "train.py").write_text("print(1)")
    known = Gateway(httpx.Response(200, json={"sha256": "a" * 64, "size_bytes": 1}))
    known.client().experiments.put_code(folder)
    assert [request.method for request in known.requests] == ["GET"]

    unknown = Gateway(
        problem(404, "rejected", "not_found"), httpx.Response(200, json={"sha256": "a" * 64, "size_bytes": 1})
    )
    moved: list[tuple[int, int]] = []
    unknown.client().experiments.put_code(folder, lambda more, total: moved.append((more, total)))
    put = unknown.requests[1]
    assert put.method == "PUT" and put.content[:2] == b"\x1f\x8b"
    assert sum(more for more, _ in moved) == moved[0][1] == len(put.content)


def test_pages_are_walked_to_the_end() -> None:
    pages = [
        httpx.Response(200, json={"items": [MODEL | {"name": "a"}], "next_cursor": "c1"}),
        httpx.Response(200, json={"items": [MODEL | {"name": "b"}], "next_cursor": None}),
    ]
    gateway = Gateway(*pages)
    assert [model.name for model in gateway.client().models.list()] == ["a", "b"]
    assert gateway.requests[1].url.params["cursor"] == "c1"


def test_waits_grow_and_respect_the_server() -> None:
    assert wait_s(0) <= 0.25 and 2.4 <= wait_s(4) <= 4.0
    assert wait_s(0, retry_after_s=3.0) >= 2.25


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(Rejected, match="not an address"):
        Transport(Address("platform", "t", "a test"), attempts=1).get(Me, "/v1/me")


def test_the_body_is_json() -> None:
    gateway = Gateway(httpx.Response(201, json=MODEL))
    gateway.client().models.create("digits", description="numbers")
    assert json.loads(gateway.requests[0].content)["description"] == "numbers"


UNSURE = "may still take effect: check with `muster experiment describe 12` before you retry"


@pytest.mark.parametrize(
    "first",
    [
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("closed"),
        httpx.Response(504, text="a proxy"),
        problem(503, "transient", "unavailable", may_take_effect=True),
    ],
)
def test_a_change_that_may_have_arrived_says_so_though_nobody_was_found_at_last(
    first: httpx.Response | Exception,
) -> None:
    gateway = Gateway(first, httpx.ConnectError("refused"))
    with pytest.raises(Transient) as caught:
        gateway.transport().post(Model, "/v1/experiments/12/pause")
    assert caught.value.code == "unreachable" and caught.value.may_take_effect
    assert UNSURE in str(caught.value)


def test_a_change_that_never_left_says_nothing_of_the_kind() -> None:
    gateway = Gateway(httpx.ConnectError("refused"))
    with pytest.raises(Transient) as caught:
        gateway.transport().post(Model, "/v1/experiments/12/pause")
    assert not caught.value.may_take_effect and "take effect" not in str(caught.value)


@pytest.mark.parametrize("path", ["/v1/plans", "/v1/sessions", "/v1/sign-in/token", "/v1/sign-in/finish"])
def test_a_post_that_changes_nothing_says_nothing_of_the_kind(path: str) -> None:
    gateway = Gateway(httpx.ReadTimeout("slow"))
    with pytest.raises(Transient) as caught:
        gateway.transport().post(Model, path)
    assert not caught.value.may_take_effect and "take effect" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("/v1/experiments/12/fork", "muster experiment list"),
        ("/v1/trials/12.3/kill", "muster trial describe 12.3"),
        ("/v1/models/digits", "muster model describe digits"),
    ],
)
def test_a_change_that_may_have_arrived_names_the_command_that_shows_it(path: str, command: str) -> None:
    gateway = Gateway(httpx.ReadTimeout("slow"))
    with pytest.raises(Transient, match=f"check with `{command}` before"):
        gateway.transport().post(Model, path)


def test_a_read_that_broke_changes_nothing() -> None:
    gateway = Gateway(httpx.ReadTimeout("slow"))
    with pytest.raises(Transient) as caught:
        gateway.transport().get(Model, "/v1/experiments/12")
    assert not caught.value.may_take_effect


def test_an_accepted_change_that_cannot_be_followed_names_its_operation() -> None:
    accepted = {"location": "/v1/operations/7", "preference-applied": "respond-async"}
    gateway = Gateway(httpx.Response(202, json={}, headers=accepted), httpx.ConnectError("refused"))
    with pytest.raises(Transient) as caught:
        gateway.transport().post(Model, "/v1/experiments/12/pause")
    assert caught.value.may_take_effect and "`muster operation show 7`" in str(caught.value)


def test_only_an_empty_filter_or_sort_order_is_left_out_of_a_query() -> None:
    """An empty name, of a variable that is not set, is the gateway's to refuse: left out, everything would be listed."""
    assert query_params(actor="", filter="", sort="", since=None) == {"actor": ""}
