"""Verdicts come from the searcher alone: what a stream delivers to a worker's subject is none."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

import pytest

from shared.ids import RunId, WorkerId
from shared.messages.experiments import TrialVerdict
from worker.connection.signed_sets import SignedSets
from worker.handlers import Handlers
from worker.runs.run_table import Runs

VERDICT = TrialVerdict(run_id=RunId(UUID(int=1)), validation=1, verdict="stop")


class FakeRuns:
    def __init__(self) -> None:
        self.verdicts: list[TrialVerdict] = []

    def on_verdict(self, verdict: TrialVerdict) -> None:
        self.verdicts.append(verdict)


class Message:
    headers: Mapping[str, str] | None = None

    def __init__(self, data: bytes, reply: str) -> None:
        self.data = data
        self.reply = reply

    async def respond(self, data: bytes) -> None:
        raise AssertionError("a verdict is not answered")


@pytest.mark.parametrize(
    ("reply", "count"), [("", 1), ("$JS.ACK.EVT.gateway.1.1.1.1.0", 0), ("_INBOX_x.y", 0)]
)
async def test_a_verdict_with_a_reply_subject_is_refused(reply: str, count: int) -> None:
    runs = FakeRuns()
    senders = SignedSets(WorkerId("w"), lambda: "", lambda: None)
    nothing: Any = None
    await Handlers(cast(Runs, runs), senders, nothing, nothing).on_verdict(Message(VERDICT.to_bytes(), reply))
    assert len(runs.verdicts) == count
