"""A worker's labels, as its settings give them."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from worker.settings import WorkerSection


def test_labels_are_read_from_one_line() -> None:
    own = WorkerSection(id="w1", directory=Path("/tmp/w1"), labels="zone=a, rack=r7,")
    assert own.own_labels == {"rack": "r7", "zone": "a"}
    assert WorkerSection(id="w1", directory=Path("/tmp/w1")).own_labels == {}


@pytest.mark.parametrize("text", ["rack", "rack=", "=r7", "rack=r7,rack=r8", "rack=r 7", "-rack=r7", "a=b=c"])
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="label"):
        WorkerSection(id="w1", directory=Path("/tmp/w1"), labels=text)
