"""A full disk is named in the reason of a run's end."""

import pytest

from worker.core.run.reasons import describe_full_disk

OWN = "the disk of worker w1 is full: free space under /var/muster"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (f"OSError: [Errno 28] {OWN}", OWN),
        (f"OSError: [Errno 28] {OWN}"[:60], OWN),
        ("", OWN),
        (
            "OSError: [Errno 28] No space left on device: '/data/x'",
            "the trial's code wrote to a full disk: No space left on device: '/data/x'",
        ),
    ],
)
def test_a_full_disk_is_named_by_whose_it_is(said: str, reason: str) -> None:
    assert describe_full_disk(said, OWN) == reason
