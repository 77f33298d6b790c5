"""A search that a program drives: what is told is carried out once, what happens is told in order, and nothing runs undecided."""

import random
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from services.searcher.core.driving import DriverEvent, events_of
from services.searcher.core.entities import Checkpoint
from services.searcher.core.journal import fold, recompute, replay
from services.searcher.core.machines import ExperimentState, TrialState
from services.searcher.core.methods.custom import Operation, Verb
from services.searcher.core.search import Search
from shared.errors import Conflict, MusterError, Rejected
from shared.ids import CheckpointId
from shared.messages.specs import Wanted
from tests.unit.searcher.world import SEED, World, config

SPACE: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "step": 0.1, "when": {"optimizer": "sgd"}},
    "width": 8,
}
POINT = {"lr": 0.01, "optimizer": "adam"}


def world(**more: object) -> World:
    made = World(config({"name": "custom", "max_concurrent_trials": 2, **more}, SPACE))
    made.begin()
    return made


def create(key: str, **more: object) -> Operation:
    return Operation(Verb.CREATE, key, **{"point": POINT, "until": 2.0} | more)  # type: ignore[arg-type]


def tell(made: World, *operations: Operation) -> None:
    made.tell(operations)


def events(made: World, after: int = 0) -> list[DriverEvent]:
    return [event for entry in made.journal if entry.position > after for event in events_of(entry)]


def kinds(made: World) -> list[tuple[str, str]]:
    return [(event.kind, event.key) for event in events(made)]


def wanted(made: World, number: int) -> Wanted:
    return made.trials[number].wanted


def decide_at(made: World, number: int) -> float | None:
    return made.trials[number].decide_at


def state(made: World, number: int) -> TrialState:
    return made.trials[number].state


def train(made: World, number: int, step: int, loss: float = 1.0) -> None:
    if made.trials[number].state is TrialState.QUEUED:
        made.grant(number)
    made.validate(number, step, loss)


def test_nothing_is_tried_until_the_program_says_so() -> None:
    made = world()
    assert made.trials == {} and made.experiment.state is ExperimentState.ACTIVE
    assert made.experiment.planned is None


def test_a_trial_has_the_programs_point_and_the_spaces_constants() -> None:
    made = world()
    tell(made, create("a"), create("b", point=None))
    assert made.trials[1].point == POINT | {"width": 8}
    assert set(made.trials[2].point) >= {"lr", "optimizer", "width"}, "no point: the sampler proposes one"
    assert [(event.key, event.trial, event.point) for event in events(made)] == [
        ("a", 1, made.trials[1].point),
        ("b", 2, made.trials[2].point),
    ]


def test_a_trial_that_came_as_far_as_it_was_told_gives_up_its_place_until_it_is_decided() -> None:
    made = world()
    tell(made, create("a"), create("b"), create("c"))
    assert sorted(made.trials) == [1, 2], "no more than may be open"
    train(made, 1, 1)
    train(made, 1, 2, 0.5)
    assert wanted(made, 1) is Wanted.PARK
    made.obey(1)
    assert state(made, 1) is TrialState.PARKED and sorted(made.trials) == [1, 2, 3]
    assert kinds(made)[2:] == [("validation", "a"), ("created", "c")]
    assert events(made)[2].time == 2 and events(made)[2].value == 0.5
    tell(made, Operation(Verb.GO_ON, "a", until=5))
    assert state(made, 1) is TrialState.PARKED, "both places are taken"
    tell(made, Operation(Verb.STOP, "b"))
    made.obey(2)
    assert state(made, 2) is TrialState.STOPPED
    assert wanted(made, 1) is Wanted.RUN and made.trials[1].decide_at == 5


def test_a_trial_that_is_decided_while_it_saves_goes_on() -> None:
    made = world()
    tell(made, create("a"))
    train(made, 1, 2)
    tell(made, Operation(Verb.GO_ON, "a", until=4))
    assert (wanted(made, 1), made.trials[1].decide_at) == (Wanted.RUN, 4)
    made.close(1, "parked")  # it had obeyed the earlier wish
    assert wanted(made, 1) is Wanted.RUN and made.trials[1].is_open
    train(made, 1, 4)
    assert wanted(made, 1) is Wanted.PARK


def test_a_trial_trains_on_while_undecided_where_the_config_says_so() -> None:
    made = world(undecided="train")
    tell(made, create("a"))
    train(made, 1, 2)
    train(made, 1, 3)
    assert wanted(made, 1) is Wanted.RUN
    assert kinds(made) == [("created", "a"), ("validation", "a")]
    tell(made, Operation(Verb.GO_ON, "a", until=4))
    train(made, 1, 4)
    tell(made, Operation(Verb.STOP, "a"))
    made.obey(1)
    assert [event.time for event in events(made) if event.kind == "validation"] == [2, 4]
    assert state(made, 1) is TrialState.STOPPED


def test_a_time_told_ahead_spares_the_pause() -> None:
    made = world()
    tell(made, create("a"), Operation(Verb.GO_ON, "a", until=3))
    tell(made, Operation(Verb.GO_ON, "a", until=6))
    train(made, 1, 3)
    assert decide_at(made, 1) == 6 and [kind for kind, _ in kinds(made)] == ["created"]
    tell(made, Operation(Verb.GO_ON, "a", until=None))
    train(made, 1, 9)
    assert decide_at(made, 1) is None and wanted(made, 1) is Wanted.RUN
    made.close(1, "completed")
    ended = events(made)[-1]
    assert (ended.kind, ended.state, ended.value) == ("ended", "completed", 1.0)


def test_what_waits_for_a_place_can_be_stopped_and_told_a_later_time() -> None:
    made = world(max_concurrent_trials=1)
    tell(made, create("a"), create("b"), create("c"))
    train(made, 1, 2)
    made.obey(1)
    tell(made, Operation(Verb.GO_ON, "a", until=4))
    tell(made, Operation(Verb.GO_ON, "a", until=8))
    tell(made, Operation(Verb.STOP, "c"))
    assert kinds(made)[-1] == ("ended", "c") and sorted(made.trials) == [1, 2]
    tell(made, Operation(Verb.STOP, "b"))
    made.obey(2)
    assert (wanted(made, 1), decide_at(made, 1)) == (Wanted.RUN, 8)
    made.grant(1)
    made.close(1, "completed")
    assert made.open() == [] and sorted(made.trials) == [1, 2], "c never begins"


def test_what_is_told_twice_happens_once() -> None:
    made = world()
    told = (
        create("a"),
        create("b"),
        create("c"),
        Operation(Verb.STOP, "c"),
        Operation(Verb.GO_ON, "a", until=4),
    )
    tell(made, *told)
    before = dict(made.trials)
    tell(made, *told)
    assert {number: trial.wanted for number, trial in before.items()} == {1: Wanted.RUN, 2: Wanted.RUN}
    assert made.trials == before
    assert kinds(made) == [("ended", "c"), ("created", "a"), ("created", "b")], "c never began"


def test_a_trial_starts_from_the_newest_checkpoint_of_another_though_that_one_has_ended() -> None:
    made = world()
    tell(made, create("a"))
    train(made, 1, 2)
    saved = Checkpoint(CheckpointId(UUID(int=5)), run=1, step=2, is_good=True)
    made.turn(lambda turn: turn.on_checkpoint(1, saved), 1)
    tell(made, Operation(Verb.STOP, "a"))
    made.obey(1)
    assert state(made, 1) is TrialState.STOPPED
    tell(made, create("b", source="a"))
    assert (made.trials[2].source, made.trials[2].start_checkpoint) == (1, saved.id)
    assert replay(made.config, SEED, made.journal) is None


def test_further_metrics_are_told_beside_the_first() -> None:
    made = world(limits=["size <= 5"])
    tell(made, create("a"))
    made.grant(1)
    made.validate(1, 2, 0.5, size=3.0)
    assert events(made)[-1].others == {"size": 3.0}
    tell(made, Operation(Verb.STOP, "a"))
    made.obey(1)
    assert (events(made)[-1].kind, events(made)[-1].others) == ("ended", {"size": 3.0})


def test_a_trial_that_its_script_calls_invalid_is_told_so_and_not_replaced() -> None:
    made = world()
    tell(made, create("a"))
    made.grant(1)
    made.close(1, "invalid")
    assert (events(made)[-1].kind, events(made)[-1].state) == ("ended", "invalid")
    assert len(made.trials) == 1 and made.experiment.state is ExperimentState.ACTIVE


def test_a_failure_is_told_and_ends_nothing_else() -> None:
    made = world()
    tell(made, create("a"))
    train(made, 1, 1)
    made.close(1, "failed")
    ended = events(made)[-1]
    assert (ended.kind, ended.key, ended.state, ended.value) == ("ended", "a", "error", None)
    assert made.experiment.state is ExperimentState.ACTIVE


def test_a_shutdown_lets_end_what_was_told_and_ends_what_is_undecided() -> None:
    made = world(max_concurrent_trials=1)
    tell(made, create("a"), create("b"))
    train(made, 1, 2)
    made.obey(1)
    tell(made, Operation(Verb.PROGRESS, share=0.5), Operation(Verb.SHUTDOWN, reason="enough"))
    assert state(made, 1) is TrialState.STOPPED and made.experiment.progress == 0.5
    train(made, 2, 2)
    assert wanted(made, 2) is Wanted.STOP
    made.obey(2)
    assert state(made, 2) is TrialState.COMPLETED, "it had all the time that it was to have"
    assert made.experiment.state is ExperimentState.COMPLETED
    assert made.experiment.reason == "enough" and made.experiment.progress == 1.0
    with pytest.raises(Conflict, match="completed"):
        tell(made, create("d"))


def test_a_program_may_give_its_search_up() -> None:
    made = world()
    tell(made, create("a"), Operation(Verb.FAIL, reason="the model is wrong"))
    assert wanted(made, 1) is Wanted.KILL
    made.obey(1)
    assert made.experiment.state is ExperimentState.ERROR and made.experiment.reason == "the model is wrong"


def test_a_search_without_a_trial_can_be_shut_down() -> None:
    made = world()
    tell(made, Operation(Verb.SHUTDOWN))
    assert made.experiment.is_final


@pytest.mark.parametrize(
    ("operation", "code", "place"),
    [
        (create("a", point={"lr": 0.5, "optimizer": "adam"}), "out_of_range", "operations[1].hyperparameters.lr"),
        (create("b", point={"lr": 0.01}), "missing_key", "operations[1].hyperparameters.optimizer"),
        (create("b", point=POINT | {"momentum": 0.1}), "takes_no_part", "operations[1].hyperparameters.momentum"),
        (create("b", point=POINT | {"width": 9}), "out_of_range", "operations[1].hyperparameters.width"),
        (create("a", until=3.0), "key_taken", "operations[1].key"),
        (Operation(Verb.STOP, "z"), "unknown_key", "operations[1].key"),
        (create("b", source="z"), "unknown_key", "operations[1].source"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_its_place(operation: Operation, code: str, place: str) -> None:
    made = world()
    with pytest.raises(MusterError) as refused:
        tell(made, create("a"), operation)
    assert isinstance(refused.value, Rejected | Conflict)
    assert (refused.value.code, refused.value.place) == (code, place)


def test_other_methods_take_nothing_told() -> None:
    made = World(config({"name": "random", "max_trials": 2}))
    made.begin()
    with pytest.raises(Conflict, match="random"):
        tell(made, create("a"))


Chaos = st.builds(random.Random, st.integers(0, 10**6))


class Program:
    """Successive halving by hand: it knows only what it was told, says all of it again at times, and loses its memory."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.acknowledged = 0
        self.told: list[Operation] = []

    def answer(self, event: DriverEvent) -> list[Operation]:
        match event.kind:
            case "validation" if (event.time or 0) >= 8:
                return [Operation(Verb.STOP, event.key)]
            case "validation":
                is_good = event.value is not None and event.value < 0.7
                return [
                    Operation(Verb.GO_ON, event.key, until=2 * (event.time or 0))
                    if is_good
                    else Operation(Verb.STOP, event.key)
                ]
            case "ended":
                index = int(event.key[1:]) + 2
                return [create(f"t{index}", until=1.0)] if index < self.total else []
        return []


def drive(made: World, chaos: random.Random, total: int, *, between: Callable[[], None]) -> None:
    """Train and drive to the end; the program is slow, repeats itself, and is begun anew at any time."""
    program = Program(total)
    tell(made, create("t0", until=1.0), create("t1", until=1.0))
    ended: set[str] = set()
    for _ in range(20_000):
        if made.experiment.is_final:
            return
        between()
        if chaos.random() < 0.3:
            page = events(made, program.acknowledged)[:3]
            for event in page:
                operations = program.answer(event)
                ended |= {event.key} if event.kind == "ended" else set()
                if len(ended) == total:
                    operations.append(Operation(Verb.SHUTDOWN))
                if operations:
                    tell(made, *operations)
                if chaos.random() < 0.2:  # It dies before it notes that: the event comes again.
                    break
                program.acknowledged = event.number
            continue
        trials = made.open()
        if trials:
            trial = chaos.choice(trials)
            if trial.wanted is not Wanted.RUN:
                made.obey(trial.number)
            elif trial.state is TrialState.RUNNING and chaos.random() < 0.05:
                made.close(trial.number, "failed")
            else:
                step = trial.latest.step + 1 if trial.latest else 1
                train(made, trial.number, step, chaos.random())
    raise AssertionError("the search did not end")


@settings(max_examples=40, deadline=None)
@given(chaos=Chaos, undecided=st.sampled_from(["park", "train"]))
def test_a_program_that_dies_and_repeats_itself_loses_nothing_and_doubles_nothing(
    chaos: random.Random, undecided: str
) -> None:
    made = world(undecided=undecided)
    drive(made, chaos, 7, between=lambda: None)
    found = events(made)
    for kind in ("created", "ended"):
        assert sorted(event.key for event in found if event.kind == kind) == [f"t{n}" for n in range(7)]
    assert len(made.trials) == 7 and made.most_open <= 2
    assert [event.number for event in found] == sorted(event.number for event in found)
    assert replay(made.config, SEED, made.journal) is None


@settings(max_examples=15, deadline=None)
@given(chaos=Chaos, cut=st.integers(0, 200))
def test_a_driven_search_rebuilt_at_any_entry_has_the_same_future(chaos: random.Random, cut: int) -> None:
    made = world(sampler="tpe")
    drive(made, chaos, 5, between=lambda: None)
    rebuilt = Search(made.config, SEED)
    fold(rebuilt, made.journal[:cut])
    for entry in made.journal[cut:]:
        decided = recompute(rebuilt, entry)
        assert decided == {key: entry.facts[key] for key in decided}


@settings(max_examples=15, deadline=None)
@given(chaos=Chaos)
def test_a_person_may_pause_and_resume_a_driven_search_at_any_time(chaos: random.Random) -> None:
    made = world()

    def between() -> None:
        if chaos.random() < 0.05:
            is_active = made.experiment.state is ExperimentState.ACTIVE
            made.turn(lambda turn: turn.pause() if is_active else turn.resume())

    drive(made, chaos, 6, between=between)
    assert len(made.trials) == 6 and replay(made.config, SEED, made.journal) is None
    assert made.experiment.counts.live == 0
