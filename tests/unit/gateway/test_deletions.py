"""In which order a deletion is carried to those who hold parts (decision 0160)."""

from collections.abc import Iterator

import pytest

from services.gateway.deletions.core import DELETION, OWNERS_BY_STAGE, DeletionStage, DeletionTrigger
from shared.errors import Broken
from shared.messages.deletions import BY_OWNER

WAY = (DeletionTrigger.ENDED, DeletionTrigger.CONFIRMED, DeletionTrigger.CONFIRMED, DeletionTrigger.EMPTIED)


def stages() -> Iterator[DeletionStage]:
    """Of a deletion that nobody refuses."""
    stage = DELETION.initial
    yield stage
    for trigger in WAY:
        stage = DELETION.next(stage, trigger)
        yield stage


def test_it_ends_what_trains_asks_the_registry_alone_then_the_others_and_lets_go_itself_at_last() -> None:
    told = [OWNERS_BY_STAGE.get(stage, ()) for stage in stages()]
    assert told == [(), ("registry",), ("searcher", "scheduler"), (), ()]
    assert list(stages())[-1] is DeletionStage.DONE


def test_every_owner_that_can_be_asked_is_asked_once() -> None:
    asked = [owner for owners in OWNERS_BY_STAGE.values() for owner in owners]
    assert sorted(asked) == sorted(BY_OWNER)


def test_it_is_refused_only_while_nobody_has_let_go_of_anything() -> None:
    can_be_refused = [stage for stage in stages() if DELETION.moves(stage, DeletionTrigger.REFUSED)]
    assert can_be_refused == [DeletionStage.ENDING, DeletionStage.REGISTRY]
    assert {DELETION.next(stage, DeletionTrigger.REFUSED) for stage in can_be_refused} == {
        DeletionStage.REFUSED
    }


@pytest.mark.parametrize("stage", [DeletionStage.OWNERS, DeletionStage.GATEWAY])
def test_who_refuses_later_is_a_fault_that_shows(stage: DeletionStage) -> None:
    with pytest.raises(Broken, match="refused"):
        DELETION.next(stage, DeletionTrigger.REFUSED)


@pytest.mark.parametrize("stage", [DeletionStage.DONE, DeletionStage.REFUSED])
def test_what_is_over_stays_so_whatever_is_told_late(stage: DeletionStage) -> None:
    assert {DELETION.next(stage, trigger) for trigger in DeletionTrigger} == {stage}
