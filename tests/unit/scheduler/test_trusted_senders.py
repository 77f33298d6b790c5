"""Whose word is taken, and whose is not."""

from uuid import UUID

import pytest

from services.scheduler.core.state.heartbeat_admission import (
    HeartbeatClaim,
    HeartbeatGate,
    HeartbeatRejection,
)
from services.scheduler.core.state.records.worker import Worker
from shared.ids import PoolName, WorkerId
from shared.messages.trial_specs import SlotKind
from tests.unit.scheduler.world import POOL

NAME = WorkerId("a")
ONE, TWO = UUID(int=1), UUID(int=2)
JOINED = Worker(NAME, POOL)


def claim(life: UUID = ONE, sequence: int = 1, *slots: tuple[int, SlotKind]) -> HeartbeatClaim:
    return HeartbeatClaim(NAME, POOL, life, sequence, slots or ((0, "cuda"), (1, "cuda")))


def test_words_are_taken_in_their_order_and_of_the_newest_life_alone() -> None:
    voices = HeartbeatGate()
    taken = [
        voices.take(claim(life, sequence), JOINED, None)
        for life, sequence in ((ONE, 5), (ONE, 4), (ONE, 5), (ONE, 6), (TWO, 1), (TWO, 2))
    ]
    assert taken == [True, False, False, True, True, True]
    late = voices.take(claim(ONE, 7), JOINED, None)
    assert isinstance(late, HeartbeatRejection)
    assert late.code == "doubled_worker"
    assert voices.take(claim(TWO, 3), JOINED, None) is True


@pytest.mark.parametrize(
    ("slots", "kind", "code"),
    [
        (((0, "cuda"), (0, "cuda")), None, "wrong_slots"),
        (((-1, "cuda"),), None, "wrong_slots"),
        (((0, "cuda"), (1, "cpu")), None, "wrong_kind"),
        (((0, "cpu"),), "cuda", "wrong_kind"),
    ],
)
def test_what_cannot_be_is_doubted(
    slots: tuple[tuple[int, SlotKind], ...], kind: SlotKind | None, code: str
) -> None:
    doubt = HeartbeatGate().take(claim(ONE, 1, *slots), JOINED, kind)
    assert isinstance(doubt, HeartbeatRejection)
    assert doubt.code == code


def test_slots_do_not_change_in_one_life_of_a_worker() -> None:
    voices = HeartbeatGate()
    assert voices.take(claim(), JOINED, "cuda") is True
    more = voices.take(claim(ONE, 2, (0, "cuda"), (1, "cuda"), (2, "cuda")), JOINED, "cuda")
    assert isinstance(more, HeartbeatRejection)
    assert more.code == "wrong_slots"
    assert voices.take(claim(ONE, 2), JOINED, "cuda") is True, "a refused word is not counted"
    assert voices.take(claim(TWO, 1, (0, "cuda")), JOINED, "cuda") is True, "it was restarted"


def test_a_worker_stays_in_the_pool_that_it_joined() -> None:
    elsewhere = HeartbeatGate().take(claim(), Worker(NAME, PoolName("other")), None)
    assert isinstance(elsewhere, HeartbeatRejection)
    assert elsewhere.code == "wrong_pool"
