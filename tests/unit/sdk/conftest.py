"""Each test of the command line begins as a process does: neither JSON nor a traceback was asked for yet."""

import pytest

from muster.cli.output import out


@pytest.fixture(autouse=True)
def as_a_process_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "json", False)
    monkeypatch.setattr(out, "debug", False)
