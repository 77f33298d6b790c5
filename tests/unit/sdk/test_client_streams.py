"""Event streams: taken up where they broke, ended when the server ends them."""

from collections.abc import Iterator

import httpx
import pytest

from muster.client.http.errors import RetryDeadline
from muster.client.http.paging import follow
from muster.client.http.transport import Transport
from muster.client.models import LogLine
from muster.client.settings import Address
from muster.errors import Broken, NotFound, Transient

SSE = {"content-type": "text/event-stream"}


def line(number: int) -> bytes:
    content = (
        f'{{"cursor":"c{number}","trial":"018f0000-0000-7000-8000-000000000001","trial_number":1,"run":1,'
        f'"rank":0,"stream":"stdout","time":"2026-01-01T00:00:00Z","text":"line {number}"}}'
    )
    return f"id: c{number}\ndata: {content}\n\n".encode()


END = b"event: end\ndata: {}\n\n"


class Broken_(httpx.SyncByteStream):
    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        raise httpx.RemoteProtocolError("peer closed connection")


def transport(*answers: httpx.Response) -> tuple[Transport, list[httpx.Request]]:
    left, seen = list(answers), list[httpx.Request]()

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return left.pop(0)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return Transport(Address("http://platform", "t", "a test"), http), seen


def texts(sender: Transport) -> list[str]:
    return [one.text for one in follow(sender, LogLine, "/v1/trials/1.1/logs/follow", {})]


def test_a_broken_stream_goes_on_behind_the_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.client.http.errors.wait_s", lambda *_: 0.0)
    sender, seen = transport(
        httpx.Response(200, headers=SSE, stream=Broken_(b": beat\n\n", line(1), line(2), b": beat\n\n")),
        httpx.Response(200, headers=SSE, content=line(3) + END),
    )
    assert texts(sender) == ["line 1", "line 2", "line 3"]
    assert "last-event-id" not in seen[0].headers
    assert seen[1].headers["last-event-id"] == "c2" and seen[1].url.params["after"] == "c2"


def test_a_position_without_an_item_is_gone_on_from_and_a_silent_close_is_a_break(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("muster.client.http.errors.wait_s", lambda *_: 0.0)
    sender, seen = transport(
        httpx.Response(200, headers=SSE, content=b"id: here\n\n"),
        httpx.Response(200, headers=SSE, content=line(1) + END),
    )
    assert texts(sender) == ["line 1"] and seen[1].headers["last-event-id"] == "here"


def test_a_problem_in_the_stream_is_raised() -> None:
    content = (
        b'event: problem\ndata: {"type":"urn:muster:error:rejected","code":"not_found","detail":"gone"}\n\n'
    )
    sender, _ = transport(httpx.Response(200, headers=SSE, content=line(1) + content))
    with pytest.raises(NotFound):
        texts(sender)


def test_patience_ends_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(
        "muster.client.http.paging.RetryDeadline", lambda: RetryDeadline(waited.append, lambda: sum(waited))
    )
    sender, seen = transport(*[httpx.Response(200, headers=SSE, stream=Broken_()) for _ in range(200)])
    with pytest.raises(Transient):
        texts(sender)
    assert 50 <= sum(waited) <= 60 and len(seen) == len(waited) + 1


def test_an_answer_that_is_no_stream_is_named() -> None:
    sender, _ = transport(httpx.Response(200, text="<html>"))
    with pytest.raises(Broken, match="event stream"):
        texts(sender)
