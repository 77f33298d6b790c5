"""A world around the searcher's core for tests: it grants, trains, validates and closes what is wanted."""

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TypeVar
from uuid import UUID

from muster.config import ExperimentConfig, load_config
from services.searcher.core.budget.ledger import SlotUsage
from services.searcher.core.experiment.entities import (
    ClosedRequest,
    ExperimentRecord,
    Outcome,
    RunEndReport,
    TrialCheckpoint,
    TrialRecord,
)
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.results import Result
from services.searcher.core.experiment.states import TrialState
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import fold
from services.searcher.core.methods.custom import Operation
from services.searcher.core.reducers.changes import Changes, Decision
from services.searcher.core.reducers.checkpoints import on_checkpoint
from services.searcher.core.reducers.driver_operations import apply_operations
from services.searcher.core.reducers.ending import choose_best, end_rest
from services.searcher.core.reducers.events import CheckpointReport, RequestEnd, RunEnd, RunSlots
from services.searcher.core.reducers.runs import on_closed, on_granted, on_run_ended
from services.searcher.core.reducers.starting import resume_loaded
from services.searcher.core.reducers.submissions import Submitted, on_submission
from services.searcher.core.reducers.validations import on_validation
from services.searcher.core.search.search import Search
from shared.ids import CheckpointId, ExperimentId
from shared.messages.queue import RequestOutcome
from shared.messages.trial_specs import DesiredState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EXPERIMENT = ExperimentId(UUID(int=7))
SEED = 11


def config(
    searcher: dict[str, object], space: dict[str, object] | None = None, **more: object
) -> ExperimentConfig:
    space = {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}} if space is None else space
    common = {"metric": "loss", "smaller_is_better": True}
    return load_config(
        {"entrypoint": "true", "hyperparameters": space, "searcher": common | searcher, **more}
    )


Fields = dict[str, object]


def asha(
    max_trials: int = 16, max_time: int = 9, rungs: int = 3, concurrent: int = 4, **more: object
) -> Fields:
    rule = {"max_trials": max_trials, "num_rungs": rungs, "divisor": 3}
    return _timed("async_halving", max_time, concurrent, rule | more)


def adaptive(max_trials: int = 16, max_time: int = 64, concurrent: int = 5, **more: object) -> Fields:
    return _timed("adaptive_asha", max_time, concurrent, {"max_trials": max_trials} | more)


def median(max_trials: int = 16, max_time: int = 12, concurrent: int = 4, **more: object) -> Fields:
    return _timed("median_stopping", max_time, concurrent, {"max_trials": max_trials} | more)


def hyperband(max_time: int = 9, concurrent: int = 4, **more: object) -> Fields:
    return _timed("hyperband", max_time, concurrent, more)


def pbt(population: int = 5, max_time: int = 12, concurrent: int = 0, **more: object) -> Fields:
    return _timed("pbt", max_time, concurrent, {"population_size": population, "interval": 3} | more)


def _timed(name: str, max_time: int, concurrent: int, more: Mapping[str, object]) -> Fields:
    places = {"max_concurrent_trials": concurrent}
    return {"name": name, "max_time": max_time, "time_metric": "step", **places, **more}


@dataclass
class World:
    """Holds what the database would, and applies events by whole turns."""

    config: ExperimentConfig
    program: Sequence[Operation] = ()
    """What is told at the beginning of a search that a program drives."""
    experiment: ExperimentRecord = field(init=False)
    search: Search = field(init=False)
    trials: dict[int, TrialRecord] = field(default_factory=dict)
    journal: list[Entry] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    events: list[tuple[int, Callable[[Changes], object]]] = field(default_factory=list)
    """What was told of trials, so that it can be told again."""
    most_open: int = 0
    now: datetime = NOW

    def __post_init__(self) -> None:
        self.experiment = ExperimentRecord(EXPERIMENT, 1, NOW)
        self.search = Search(self.config, SEED)

    def apply(
        self, act: Callable[[Changes], object], number: int | None = None, named: Sequence[int] | None = None
    ) -> Decision:
        """One transaction; `number` is the trial that it is about, `named` are those of what a program tells, None: commands have all."""
        before = self.trials
        about = named if number is None else [number]
        known = self.trials.values() if about is None else [self.trials[each] for each in about]
        changes = Changes(self.config, self.experiment, known, self.search, self.now)
        act(changes)
        if number is not None:
            self.events.append((number, act))
        if changes.missing:
            resume_loaded(changes, [self.trials[each] for each in changes.missing])
        if changes.needs_bests:
            choose_best(changes, {n: trial.best for n, trial in before.items() if trial.best})
        if changes.needs_rest:
            end_rest(changes, [trial for trial in self.trials.values() if not trial.is_final])
        decision = changes.decide()
        self.experiment = decision.experiment
        self.trials = before | decision.trials
        self.journal += decision.entries
        self.decisions.append(decision)
        self.most_open = max(self.most_open, len(self.open()))
        self.check_counts()
        return decision

    def begin(self) -> Decision:
        decision = self.apply(lambda changes: on_submission(changes, Submitted()))
        return self.apply_operations(self.program) if self.program else decision

    def apply_operations(self, operations: Sequence[Operation]) -> Decision:
        """Have the search's program say something, with none but the trials in hand that this names."""
        return self.apply(
            lambda changes: apply_operations(changes, operations), named=self.search.named_by(operations)
        )

    def restart(self) -> None:
        """Loses the search, and rebuilds it from its journal as the database gives it back."""
        self.search = Search(self.config, SEED)
        fold(self.search, stored(self.journal))

    def open(self) -> list[TrialRecord]:
        return [trial for _, trial in sorted(self.trials.items()) if trial.is_open and not trial.is_final]

    def grant(self, number: int) -> Decision:
        run = self.trials[number].run + 1
        held = self.held(number)
        return self.apply(lambda changes: on_granted(changes, RunSlots(number, run, held)), number)

    def held(self, number: int, is_over: bool = False) -> SlotUsage | None:
        """What a trial's run holds, or has held until now; None: nobody says."""
        return None

    def validate(self, number: int, step: int, loss: float, **values: float) -> Decision:
        trial = self.trials[number]
        run = max(trial.run, 1)
        count = trial.reported[1] + 1 if trial.reported[0] == run else 1
        found = Result(number, run, count, step, {"loss": loss, **values})
        return self.apply(lambda changes: on_validation(changes, found), number)

    def save(self, number: int, step: int) -> Decision:
        """A checkpoint of it is stored; that is counted once, which the inbox sees to."""
        found = TrialCheckpoint(CheckpointId(UUID(int=number << 32 | step)), self.trials[number].run, step)
        decision = self.apply(lambda changes: on_checkpoint(changes, CheckpointReport(number, found)), number)
        self.events.pop()
        return decision

    def started_at(self, number: int) -> int:
        """The step of the checkpoint from which a trial started."""
        start = self.trials[number].start_checkpoint
        return 0 if start is None else start.int & 0xFFFFFFFF

    def requeue(self, number: int) -> Decision:
        """Its run fails, and it is to be started again."""
        ended = RunEndReport(self.trials[number].run, None, None)
        held = self.held(number, is_over=True)
        return self.apply(
            lambda changes: on_run_ended(changes, RunEnd(number, ended, is_requeued=True, holding=held)),
            number,
        )

    def close(self, number: int, outcome: Outcome, checkpoints: int = 0) -> Decision:
        trial = self.trials[number]
        run = trial.run
        announced = trial.reported[1] if trial.reported[0] == run else 0
        held, closed = self.held(number, is_over=True), ClosedRequest(outcome, run, None, self.now)

        def act(changes: Changes) -> None:
            if run:
                on_run_ended(
                    changes,
                    RunEnd(
                        number, RunEndReport(run, announced, checkpoints), is_requeued=False, holding=held
                    ),
                )
            on_closed(changes, RequestEnd(number, trial.request, closed))

        return self.apply(act, number)

    def obey(self, number: int) -> Decision | None:
        """Close the request of a trial that is told to end or park, as the scheduler would."""
        answers: dict[DesiredState, RequestOutcome] = {
            DesiredState.STOP: "stopped",
            DesiredState.PARK: "parked",
            DesiredState.CANCEL: "cancelled",
            DesiredState.KILL: "killed",
        }
        wanted = self.trials[number].desired_state
        return self.close(number, answers[wanted]) if wanted in answers else None

    def check_counts(self) -> None:
        seen = Counter(trial.state.value for trial in self.trials.values())
        assert seen == Counter(self.experiment.counts._asdict())


Loss = Callable[[int, int], float]
WorldT = TypeVar("WorldT", bound=World)


def stored(journal: list[Entry]) -> list[Entry]:
    """The journal after its way through the database."""
    return [Entry(each.position, each.kind, json.loads(json.dumps(each.facts))) for each in journal]


def others(config: ExperimentConfig, trial: int, step: int) -> dict[str, float]:
    """What a trial reports beside its loss: of all that the search goes by something from 0 to 1."""
    return {name: (1 + math.cos(trial * 7.1 + step)) / 2 for name in Objectives.of(config).others}


def run_search(
    world: WorldT,
    loss: Loss,
    *,
    chaos: random.Random,
    max_step: int = 10_000,
    fates: Mapping[int, Outcome] = MappingProxyType({}),
    restarts: float = 0.0,
    saves_every: int = 0,
    between: Callable[[WorldT], object] = lambda world: None,
) -> None:
    """Run a search to its end: open trials take steps in an order drawn from `chaos`.

    Those in `fates` end so at their second step, every other of the invalid ones at its first; of the steps `restarts` start a run again,
    perhaps from an earlier one; `between` is called after every event. Trials save a checkpoint every so many steps, and where they are
    told to pause.
    """
    steps: dict[int, int] = {}
    if not world.trials:
        world.begin()
    for _ in range(200_000):
        between(world)
        trials = world.open()
        if not trials:
            return
        number = chaos.choice(trials).number
        if world.trials[number].desired_state is not DesiredState.RUN:
            if world.trials[number].desired_state is DesiredState.PARK and number in steps:
                world.save(number, steps[number])
            world.obey(number)
            continue
        if world.trials[number].state is TrialState.QUEUED:
            world.grant(number)
        started = world.started_at(number)
        if restarts and chaos.random() < restarts:
            world.requeue(number)
            steps[number] = chaos.randint(started, steps.get(number, started))
            continue
        steps[number] = step = steps.get(number, started) + 1
        if number in fates and step - started >= (1 if fates[number] == "invalid" and number % 2 else 2):
            world.close(number, fates[number])
        elif step > max_step:
            world.close(number, "completed")
        else:
            world.validate(number, step, loss(number, step), **others(world.config, number, step))
            if saves_every and step % saves_every == 0:
                world.save(number, step)
    raise AssertionError("the search did not end")
