"""What a plan is told of a warm start fits into one reply, however much each trial has to say."""

from services.searcher.core.search.prior_observations import PriorObservations, PriorTrial
from services.searcher.queries import known_at_start
from shared.bus.responder import MAX_REPLY_BYTES


def test_trials_with_many_metrics_are_counted_whole() -> None:
    others = {f"{index}{'x' * 250}": 1.5 for index in range(8)}
    trials = tuple(PriorTrial(12, number, {"lr": 0.1}, 0.5, None, others) for number in range(500))
    reply = known_at_start(PriorObservations(({"lr": 0.2},), trials), ("a note",))
    assert len(reply.model_dump_json()) <= MAX_REPLY_BYTES
    assert reply.points == ({"lr": 0.2},)
    assert 100 < len(reply.known) < 500
    assert [trial.trial for trial in reply.known] == list(range(len(reply.known)))
    assert reply.notes[0] == "a note" and f"{500 - len(reply.known)} of 501" in reply.notes[1]


def test_what_fits_is_told_whole() -> None:
    trials = (PriorTrial(12, 1, {"lr": 0.1}, 0.5),)
    reply = known_at_start(PriorObservations((), trials), ())
    assert (len(reply.known), reply.notes) == (1, ())
