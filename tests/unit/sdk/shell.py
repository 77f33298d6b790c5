"""The command line in this process, with a platform that answers what a test says."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import pytest

import muster.client
from muster.cli import main
from muster.cli.base.output import out
from muster.client.client import Client
from muster.client.http.transport import Transport
from muster.client.settings import Address

ID = "018f0000-0000-7000-8000-000000000001"
CONFIG = "name: x\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss}\n"
EXPERIMENT = {
    "id": ID, "number": 31, "name": "digits", "workspace": "w", "project": "p", "owner": "me", "state": "completed",
    "searcher": "random", "metric": "accuracy", "progress": 1.0, "final": True, "version": 4,
    "created_at": "2026-01-01T00:00:00Z", "code_sha256": "a" * 64,
    "trials": {"completed": 2, "planned": 2},
    "best": {"trial": ID, "trial_number": 2, "step": 12, "value": 0.98},
    "config": {
        "name": "digits", "entrypoint": "python3 train.py",
        "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}, "width": 8},
        "searcher": {"name": "random", "metric": "accuracy", "smaller_is_better": False, "max_trials": 2},
    },
}  # fmt: skip
TRIAL = {
    "id": ID, "experiment": ID, "experiment_number": 31, "number": 2, "state": "completed", "seed": 1, "slots": 1,
    "hyperparameters": {"lr": 0.01, "width": 8}, "created_at": "2026-01-01T00:00:00Z", "version": 2,
}  # fmt: skip

Answer = Callable[[httpx.Request], httpx.Response]


@dataclass
class Ended:
    code: int
    out: str
    err: str


class Shell:
    """Runs `muster …` against a gateway made of a table of answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.answers: dict[str, httpx.Response | Exception] = {}
        self.requests: list[httpx.Request] = []
        http = httpx.Client(transport=httpx.MockTransport(self._answer))
        address = Address("http://platform", "t", "a test")
        transport = Transport(address, http, attempts=2, sleep=lambda _: None)
        monkeypatch.setattr(muster.client, "connect", lambda *_: Client(transport))

    def __call__(self, *arguments: str) -> Ended:
        out.json, out.debug, out.fields = False, False, ()
        self._monkeypatch.setattr(sys, "argv", ["muster", *arguments])
        self._monkeypatch.setattr(httpx.Client, "close", lambda _: None)
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        printed = self._capsys.readouterr()
        return Ended(code if isinstance(code, int) else 0, printed.out, printed.err)

    def sent(self, method: str, path: str) -> dict[str, object]:
        found = next(one for one in self.requests if (one.method, one.url.path) == (method, path))
        content: dict[str, object] = json.loads(found.content)
        return content

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.get(f"{request.method} {request.url.path}")
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        content = {"type": "urn:muster:error:rejected", "code": "not_found", "detail": "it was not found"}
        return httpx.Response(404, json=content, headers={"content-type": "application/problem+json"})
