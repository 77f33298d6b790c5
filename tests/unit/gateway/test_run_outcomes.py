"""What the API calls the end of a run."""

from types import SimpleNamespace

import pytest

from services.gateway.trials.render import render_run
from shared.messages.runs import WORKER_STOPPED
from tests.unit.sdk.shell import ID


@pytest.mark.parametrize(
    ("outcome", "reason", "shown"),
    [
        ("lost", WORKER_STOPPED, "interrupted"),
        ("lost", "no heartbeat for 4 s", "lost"),
        ("lost", f"{WORKER_STOPPED}; 10 runs in a row ended without a new checkpoint", "lost"),
        ("cancelled", WORKER_STOPPED, "cancelled"),
        (None, None, None),
    ],
)
def test_a_run_is_interrupted_if_its_worker_was_stopped_on_purpose(
    outcome: str | None, reason: str | None, shown: str | None
) -> None:
    event = {
        "run_id": ID,
        "trial_id": ID,
        "number": 1,
        "pool": "default",
        "members": [],
        "granted_at": "2026-01-01T00:00:00Z",
        "outcome": outcome,
        "reason": reason,
    }
    run = render_run(SimpleNamespace(state="ended", last_event=event))
    assert run.outcome == shown
