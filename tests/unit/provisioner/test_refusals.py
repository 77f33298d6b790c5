"""Why no machine came: what is held back by each cause, for how long, and what is said of it."""

from datetime import timedelta
from typing import get_args

import pytest

from services.provisioner.core.catalogue import Catalogue, MachineKind, Offer
from services.provisioner.core.instances.refusals import (
    BACKOFFS,
    Cause,
    LaunchBackoff,
    LaunchRefusal,
    fault_of,
    is_held,
    on_refused,
)
from shared.errors import Rejected
from tests.unit.provisioner.world import NOW, seconds

SMALL = MachineKind("g5.xlarge", "aws", 1, "cuda", "A10G", 24, boot_s=120)
HERE, THERE = Offer(SMALL, "a", price_per_hour=1.0), Offer(SMALL, "b", price_per_hour=1.0)
SPOT = Offer(SMALL, "a", "spot", 0.4, interruptions_per_hour=0.1)
ELSEWHERE = Offer(MachineKind("n1", "gcp", 1, "cuda"), "a", price_per_hour=2.0)
ALL = (HERE, THERE, SPOT, ELSEWHERE)


def held_by(cause: Cause) -> set[str]:
    hold = on_refused(None, HERE, LaunchRefusal(cause, "no"), NOW)
    return {offer.label for offer in ALL if is_held(offer, [hold], NOW)}


@pytest.mark.parametrize("cause", get_args(Cause))
def test_a_refusal_holds_the_offer_or_all_of_its_provider_and_nothing_of_others(cause: Cause) -> None:
    mine = {"g5.xlarge in a"}
    provider = mine | {"g5.xlarge in b", "spot g5.xlarge in a"}
    assert held_by(cause) == (provider if cause in ("throttled", "credentials", "version") else mine)


@pytest.mark.parametrize("cause", get_args(Cause))
def test_a_hold_grows_to_its_longest_and_ends(cause: Cause) -> None:
    hold, now, pauses = None, NOW, []
    for _ in range(20):
        hold = on_refused(hold, HERE, LaunchRefusal(cause, "no"), now)
        pauses.append(hold.until - now)
        now = hold.until
        assert not hold.is_on(now)
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (BACKOFFS[cause].first, BACKOFFS[cause].longest)


def test_calls_under_way_together_count_once() -> None:
    first = on_refused(None, HERE, LaunchRefusal("no_capacity", "none"), NOW)
    second = on_refused(first, HERE, LaunchRefusal("no_capacity", "none left"), NOW + seconds(1))
    assert (second.failures, second.until) == (1, first.until)
    assert second.reason == "none left"


def test_a_new_cause_and_one_long_ago_begin_anew() -> None:
    hold = on_refused(None, HERE, LaunchRefusal("quota", "0 of 8"), NOW)
    hold = on_refused(hold, HERE, LaunchRefusal("quota", "0 of 8"), hold.until)
    assert hold.failures == 2
    assert on_refused(hold, HERE, LaunchRefusal("no_capacity", "none"), hold.until).failures == 1
    assert (
        on_refused(hold, HERE, LaunchRefusal("quota", "0 of 8"), hold.until + timedelta(hours=7)).failures
        == 1
    )


def test_a_provider_that_says_when_is_heeded() -> None:
    hold = on_refused(None, HERE, LaunchRefusal("throttled", "slow down", seconds(20)), NOW)
    assert hold.until - NOW == seconds(20)


def test_a_pool_says_what_is_held_why_and_until_when_and_nothing_of_what_it_may_not_rent() -> None:
    holds: list[LaunchBackoff] = [on_refused(None, SPOT, LaunchRefusal("no_capacity", "none in a"), NOW)]
    assert fault_of(holds, [HERE, SPOT], NOW) == (
        "spot g5.xlarge in a: no capacity, next attempt at 12:00:30 UTC: none in a"
    )
    assert fault_of(holds, [HERE], NOW) is None
    assert fault_of(holds, [SPOT], NOW + timedelta(minutes=11)) is None


def test_an_hour_of_use_is_dearer_where_machines_boot_long_and_are_taken_back() -> None:
    assert HERE.effective_hourly_cost(timedelta(hours=1)) == pytest.approx(1 + 120 / 3600)
    assert HERE.effective_hourly_cost(timedelta(minutes=10)) == pytest.approx(1.2)
    often = Offer(SMALL, "a", "spot", 1.0, interruptions_per_hour=3.0)
    assert often.effective_hourly_cost(timedelta(hours=1)) > HERE.effective_hourly_cost(timedelta(hours=1))


def test_a_kind_that_the_catalogue_does_not_know_is_refused_with_the_nearest() -> None:
    with pytest.raises(Rejected) as refused:
        Catalogue(ALL).kind("g5.xlarg")
    assert refused.value.code == "unknown_kind"
    assert "did you mean 'g5.xlarge'" in str(refused.value)
