"""A search that a program drives: what is told is carried out once, what happens is told in order, and nothing runs undecided."""

from uuid import UUID

import pytest

from services.searcher.core.experiment.entities import TrialCheckpoint
from services.searcher.core.experiment.states import ExperimentState, TrialState
from services.searcher.core.journal.replay import replay
from services.searcher.core.methods.custom import Operation, OperationKind
from services.searcher.core.reducers.checkpoints import on_checkpoint
from services.searcher.core.reducers.events import CheckpointReport
from shared.errors import Conflict, MusterError, Rejected
from shared.ids import CheckpointId
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.driven import (
    POINT,
    apply,
    create,
    decide_at,
    events,
    kinds,
    state,
    train,
    wanted,
    world,
)
from tests.unit.searcher.world import SEED, World, config


def test_nothing_is_tried_until_the_program_says_so() -> None:
    made = world()
    assert made.trials == {} and made.experiment.state is ExperimentState.ACTIVE
    assert made.experiment.planned is None


def test_a_trial_has_the_programs_point_and_the_spaces_constants() -> None:
    made = world()
    apply(made, create("a"), create("b", point=None))
    assert made.trials[1].point == POINT | {"width": 8}
    assert set(made.trials[2].point) >= {"lr", "optimizer", "width"}, "no point: the sampler proposes one"
    assert [(event.key, event.trial, event.point) for event in events(made)] == [
        ("a", 1, made.trials[1].point),
        ("b", 2, made.trials[2].point),
    ]


def test_a_trial_that_came_as_far_as_it_was_told_gives_up_its_place_until_it_is_decided() -> None:
    made = world()
    apply(made, create("a"), create("b"), create("c"))
    assert sorted(made.trials) == [1, 2], "no more than may be open"
    train(made, 1, 1)
    train(made, 1, 2, 0.5)
    assert wanted(made, 1) is DesiredState.PARK
    made.obey(1)
    assert state(made, 1) is TrialState.PARKED and sorted(made.trials) == [1, 2, 3]
    assert kinds(made)[2:] == [("validation", "a"), ("created", "c")]
    assert events(made)[2].time == 2 and events(made)[2].value == 0.5
    apply(made, Operation(OperationKind.GO_ON, "a", until=5))
    assert state(made, 1) is TrialState.PARKED, "both places are taken"
    apply(made, Operation(OperationKind.STOP, "b"))
    made.obey(2)
    assert state(made, 2) is TrialState.STOPPED
    assert wanted(made, 1) is DesiredState.RUN and made.trials[1].decide_at == 5


def test_a_trial_that_is_decided_while_it_saves_goes_on() -> None:
    made = world()
    apply(made, create("a"))
    train(made, 1, 2)
    apply(made, Operation(OperationKind.GO_ON, "a", until=4))
    assert (wanted(made, 1), made.trials[1].decide_at) == (DesiredState.RUN, 4)
    made.close(1, "parked")  # it had obeyed the earlier request
    assert wanted(made, 1) is DesiredState.RUN and made.trials[1].is_open
    train(made, 1, 4)
    assert wanted(made, 1) is DesiredState.PARK


def test_a_trial_trains_on_while_undecided_where_the_config_says_so() -> None:
    made = world(undecided="train")
    apply(made, create("a"))
    train(made, 1, 2)
    train(made, 1, 3)
    assert wanted(made, 1) is DesiredState.RUN
    assert kinds(made) == [("created", "a"), ("validation", "a")]
    apply(made, Operation(OperationKind.GO_ON, "a", until=4))
    train(made, 1, 4)
    apply(made, Operation(OperationKind.STOP, "a"))
    made.obey(1)
    assert [event.time for event in events(made) if event.kind == "validation"] == [2, 4]
    assert state(made, 1) is TrialState.STOPPED


def test_a_time_told_ahead_spares_the_pause() -> None:
    made = world()
    apply(made, create("a"), Operation(OperationKind.GO_ON, "a", until=3))
    apply(made, Operation(OperationKind.GO_ON, "a", until=6))
    train(made, 1, 3)
    assert decide_at(made, 1) == 6 and [kind for kind, _ in kinds(made)] == ["created"]
    apply(made, Operation(OperationKind.GO_ON, "a", until=None))
    train(made, 1, 9)
    assert decide_at(made, 1) is None and wanted(made, 1) is DesiredState.RUN
    made.close(1, "completed")
    ended = events(made)[-1]
    assert (ended.kind, ended.state, ended.value) == ("ended", "completed", 1.0)


def test_what_waits_for_a_place_can_be_stopped_and_told_a_later_time() -> None:
    made = world(max_concurrent_trials=1)
    apply(made, create("a"), create("b"), create("c"))
    train(made, 1, 2)
    made.obey(1)
    apply(made, Operation(OperationKind.GO_ON, "a", until=4))
    apply(made, Operation(OperationKind.GO_ON, "a", until=8))
    apply(made, Operation(OperationKind.STOP, "c"))
    assert kinds(made)[-1] == ("ended", "c") and sorted(made.trials) == [1, 2]
    apply(made, Operation(OperationKind.STOP, "b"))
    made.obey(2)
    assert (wanted(made, 1), decide_at(made, 1)) == (DesiredState.RUN, 8)
    made.grant(1)
    made.close(1, "completed")
    assert made.open() == [] and sorted(made.trials) == [1, 2], "c never begins"


def test_what_is_told_twice_happens_once() -> None:
    made = world()
    operations = (
        create("a"),
        create("b"),
        create("c"),
        Operation(OperationKind.STOP, "c"),
        Operation(OperationKind.GO_ON, "a", until=4),
    )
    apply(made, *operations)
    before = dict(made.trials)
    apply(made, *operations)
    assert {number: trial.desired_state for number, trial in before.items()} == {
        1: DesiredState.RUN,
        2: DesiredState.RUN,
    }
    assert made.trials == before
    assert kinds(made) == [("ended", "c"), ("created", "a"), ("created", "b")], "c never began"


def test_a_trial_starts_from_the_newest_checkpoint_of_another_though_that_one_has_ended() -> None:
    made = world()
    apply(made, create("a"))
    train(made, 1, 2)
    saved = TrialCheckpoint(CheckpointId(UUID(int=5)), run=1, step=2, is_good=True)
    made.apply(lambda changes: on_checkpoint(changes, CheckpointReport(1, saved)), 1)
    apply(made, Operation(OperationKind.STOP, "a"))
    made.obey(1)
    assert state(made, 1) is TrialState.STOPPED
    apply(made, create("b", source="a"))
    assert (made.trials[2].source, made.trials[2].start_checkpoint) == (1, saved.id)
    assert replay(made.config, SEED, made.journal) is None


def test_further_metrics_are_told_beside_the_first() -> None:
    made = world(limits=["size <= 5"])
    apply(made, create("a"))
    made.grant(1)
    made.validate(1, 2, 0.5, size=3.0)
    assert events(made)[-1].others == {"size": 3.0}
    apply(made, Operation(OperationKind.STOP, "a"))
    made.obey(1)
    assert (events(made)[-1].kind, events(made)[-1].others) == ("ended", {"size": 3.0})


def test_a_trial_that_its_script_calls_invalid_is_told_so_and_not_replaced() -> None:
    made = world()
    apply(made, create("a"))
    made.grant(1)
    made.close(1, "invalid")
    assert (events(made)[-1].kind, events(made)[-1].state) == ("ended", "invalid")
    assert len(made.trials) == 1 and made.experiment.state is ExperimentState.ACTIVE


def test_a_failure_is_told_and_ends_nothing_else() -> None:
    made = world()
    apply(made, create("a"))
    train(made, 1, 1)
    made.close(1, "failed")
    ended = events(made)[-1]
    assert (ended.kind, ended.key, ended.state, ended.value) == ("ended", "a", "error", None)
    assert made.experiment.state is ExperimentState.ACTIVE


def test_a_shutdown_lets_end_what_was_told_and_ends_what_is_undecided() -> None:
    made = world(max_concurrent_trials=1)
    apply(made, create("a"), create("b"))
    train(made, 1, 2)
    made.obey(1)
    apply(
        made, Operation(OperationKind.PROGRESS, share=0.5), Operation(OperationKind.SHUTDOWN, reason="enough")
    )
    assert state(made, 1) is TrialState.STOPPED and made.experiment.progress == 0.5
    train(made, 2, 2)
    assert wanted(made, 2) is DesiredState.STOP
    made.obey(2)
    assert state(made, 2) is TrialState.COMPLETED, "it had all the time that it was to have"
    assert made.experiment.state is ExperimentState.COMPLETED
    assert made.experiment.reason == "enough" and made.experiment.progress == 1.0
    with pytest.raises(Conflict, match="completed"):
        apply(made, create("d"))


def test_a_program_may_give_its_search_up() -> None:
    made = world()
    apply(made, create("a"), Operation(OperationKind.FAIL, reason="the model is wrong"))
    assert wanted(made, 1) is DesiredState.KILL
    made.obey(1)
    assert made.experiment.state is ExperimentState.ERROR and made.experiment.reason == "the model is wrong"


def test_a_search_without_a_trial_can_be_shut_down() -> None:
    made = world()
    apply(made, Operation(OperationKind.SHUTDOWN))
    assert made.experiment.is_final


@pytest.mark.parametrize(
    ("operation", "code", "place"),
    [
        (create("a", point={"lr": 0.5, "optimizer": "adam"}), "out_of_range", "operations[1].hyperparameters.lr"),
        (create("b", point={"lr": 0.01}), "missing_key", "operations[1].hyperparameters.optimizer"),
        (create("b", point=POINT | {"momentum": 0.1}), "takes_no_part", "operations[1].hyperparameters.momentum"),
        (create("b", point=POINT | {"width": 9}), "out_of_range", "operations[1].hyperparameters.width"),
        (create("a", until=3.0), "key_taken", "operations[1].key"),
        (Operation(OperationKind.STOP, "z"), "unknown_key", "operations[1].key"),
        (create("b", source="z"), "unknown_key", "operations[1].source"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_its_place(operation: Operation, code: str, place: str) -> None:
    made = world()
    with pytest.raises(MusterError) as refused:
        apply(made, create("a"), operation)
    assert isinstance(refused.value, Rejected | Conflict)
    assert (refused.value.code, refused.value.place) == (code, place)


def test_other_methods_take_nothing_told() -> None:
    made = World(config({"name": "random", "max_trials": 2}))
    made.begin()
    with pytest.raises(Conflict, match="random"):
        apply(made, create("a"))
