"""Labels and excluded workers, through the whole platform: refused where nobody could ever serve them, kept to where somebody can."""

import pytest

from muster.errors import Rejected
from tests.e2e.platform import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_labels_that_no_machine_has_are_refused_and_a_shunned_worker_is_not_used(platform: Platform) -> None:
    with pytest.raises(Rejected) as refused:
        platform.create(resources={"required_labels": {"rack": "r99"}})
    assert refused.value.code == "labels_unknown" and "rack=r99" in str(refused.value)
    assert refused.value.place == "resources.required_labels"

    first = platform.completed(platform.create())
    (run, *_) = platform.client.trials.runs(f"{first.number}.1").all()
    shunned = run.members[0].worker
    other = platform.create(resources={"excluded_workers": [shunned], "preferred_labels": {"rack": "r1"}})
    platform.completed(other)
    (run, *_) = platform.client.trials.runs(f"{other.number}.1").all()
    assert run.members[0].worker != shunned
