"""Simulates one experiment's search in several futures. Futures differ in the best point, the learning speed,
the step time and the durations of background jobs. Outcomes that most futures share are likely; where they
differ the outcome is uncertain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from muster.config import Custom, ExperimentConfig, Pbt, Timed, load_config
from muster.errors import Rejected
from services.searcher.core.experiment.results import time_metric
from services.searcher.core.reducers.changes import Decision
from services.searcher.core.search.prior_observations import PriorObservations, PriorTrial
from shared.messages.trial_specs import WHOLE_SLOT
from simulator.experiments.replayed_curves import Earlier, EarlierRunData, Terms, length_of
from simulator.experiments.submission import Submission
from simulator.experiments.synthetic_curves import Learning
from simulator.machines.machine_slots import Kind
from simulator.observers.experiments import Experiments
from simulator.observers.measures import Measures
from simulator.observers.observer import Observer
from simulator.planning.background_jobs import NOW_MS, are_unknown, items_of, marks_of
from simulator.planning.capacity_check import check_room
from simulator.planning.run_history import read_earlier
from simulator.planning.supported_limits import playable
from simulator.planning.worker_protocol import (
    OWN_TENANT,
    OWN_WORKSPACE,
    Basics,
    Future,
    Question,
    tenant_name,
    workspace_name,
)
from simulator.policies import bookings_of, policy_of, quotas_of, rented_of
from simulator.run_workload import POOL, TEMPO, machines_of
from simulator.simulation import Setup, Simulation

NAME = "experiment"
SPREAD = 0.1
"""The spread of all durations between futures, and between trials if no earlier runs show it."""
NOISE = 0.02
"""Of a validation, relative to the total improvement."""
LAUNCH_MS = 2000
"""From the grant to the first step."""
LONGEST_MS = 366 * 86_400_000
MOST_RUNGS = 12
"""A method with more decision points has no meaningful rungs."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A validated question. `steps`: of one trial; `notes`: on what is not simulated."""

    question: Question
    config: ExperimentConfig
    seen: list[EarlierRunData]
    steps: int
    notes: tuple[str, ...] = ()

    @property
    def is_length_known(self) -> bool:
        """Whether the training length of a trial is given."""
        return self.question.steps is not None or isinstance(self.config.searcher, Timed)


def understand(question: Question) -> ParsedQuestion:
    """Validate a question. Raises Rejected: a trial fits nowhere, or the training length is unknown."""
    config = load_config(question.config)
    priority = config.resources.priority or question.policy.default_priority
    resources = config.resources.model_copy(update={"priority": priority})
    config = config.model_copy(update={"workspace": workspace_name(OWN_WORKSPACE), "resources": resources})
    check_room(config.resources, question.cluster)
    seen = read_earlier(question.earlier, _slots(config))
    budget, notes = playable(config.budget, is_timed=question.step_s is not None or bool(seen))
    config = config.model_copy(update={"budget": budget})
    return ParsedQuestion(question, config, seen, _steps(question, config, seen), notes)


def basics_of(play: ParsedQuestion) -> Basics:
    """Return what the futures are based on."""
    question, seen = play.question, play.seen
    unknown = are_unknown(question.background_jobs)
    notes = (
        [
            f"the remaining time of {unknown} other runs or requests is unknown; they are assumed to take about as long again as so far"
        ]
        if unknown
        else []
    )
    given = question.step_s
    return Basics(
        slots=_slots(play.config),
        unit=time_metric(play.config) or "step",
        earlier_runs=len(seen),
        earlier_experiments=len({run.experiment_id for run in question.earlier}) if seen else 0,
        step_s=given
        if given is not None or not seen
        else sum(one.step_ms for one in seen) / len(seen) / 1000,
        notes=(*notes, *play.notes, *_notes_of_start(play)),
    )


def futures(play: ParsedQuestion) -> Iterator[Future]:
    """Yield the futures asked for; equal questions give equal futures. Raises Rejected if the search does not
    end within a year."""
    for seed in range(play.question.futures):
        yield _play(play, seed)


def _play(play: ParsedQuestion, seed: int) -> Future:
    chance = Random(f"future {seed}")
    question, pool = play.question, policy_of(play.question.policy, play.question.cluster, POOL)
    measures, experiments, rungs = Measures(), Experiments(), _Rungs()
    setup = Setup(
        pool, _machines(question), items_of(question.background_jobs, chance), seed, TEMPO,
        quotas=quotas_of(question.cluster), submissions=[_submission(play, seed, chance)],
        rented=rented_of(question.cluster, POOL), bookings=bookings_of(question.cluster),
    )  # fmt: skip
    simulation = Simulation(setup, [measures, experiments, rungs])
    measures.agenda = simulation.agenda
    simulation.begin()
    _run_search(simulation)
    (result,) = experiments.results(measures.slot_ms_of)
    return Future(
        trials=result.trials,
        stopped=result.stopped,
        steps=result.steps,
        slot_hours=result.slot_hours,
        waits_s=_waited_ms(measures) / 1000,
        took_s=result.took_s or 0.0,
        reached=rungs.reached(),
    )


def _run_search(simulation: Simulation) -> None:
    """Run until the search has ended; background jobs may continue."""
    agenda = simulation.agenda
    while simulation.searcher.left:
        next_ms = agenda.next_ms()
        if next_ms is None or next_ms > LONGEST_MS:
            raise Rejected("does_not_end", "the search does not end within a year")
        agenda.step()


def _submission(play: ParsedQuestion, seed: int, chance: Random) -> Submission:
    question, config, steps = play.question, play.config, play.steps
    first, best = (1.0, 0.0) if config.searcher.smaller_is_better else (0.0, 1.0)
    given_ms = None if question.step_s is None else question.step_s * 1000
    pace = chance.lognormvariate(0.0, SPREAD)
    learning = Learning(
        steps=steps,
        step_ms=(given_ms or 1000.0) * pace,
        spread=SPREAD,
        validate_every=max(1, steps // 100),
        first=first,
        best=best,
        worst=0.5,
        halves_after=steps / 5 * 2.0 ** chance.uniform(-1.0, 1.0),
        noise=NOISE,
    )
    terms = Terms(given_ms, pace, play.is_length_known)
    earlier = Earlier(config, play.seen, seed, terms) if play.seen else None
    # With earlier runs the launch time includes the end. Copies (PBT) need checkpoints during training.
    more: dict[str, Any] = {"stop_ms": 0} if earlier else {}
    if isinstance(config.searcher, Pbt):
        more["checkpoint_ms"] = max(1, round(learning.step_ms))
    return Submission(
        NAME, config, learning, arrives_ms=NOW_MS, tenant=tenant_name(OWN_TENANT), seed=seed,
        launch_ms=LAUNCH_MS, earlier=earlier, prior_observations=_prior(play), **more,
    )  # fmt: skip


def _prior(play: ParsedQuestion) -> PriorObservations:
    """Prior results are used only if the simulated trials follow earlier ones; the values of a model are not
    comparable."""
    start = play.question.start
    known = start.known if play.seen else ()
    return PriorObservations(start.points, tuple(PriorTrial(**each.model_dump()) for each in known))


def _notes_of_start(play: ParsedQuestion) -> tuple[str, ...]:
    start = play.question.start
    if not start.known or play.seen:
        return start.notes
    note = f"the {len(start.known)} earlier trials that the sampler learns from are left out, because no earlier run of this code is available"
    return (*start.notes, note)


def _machines(question: Question) -> list[Kind]:
    """Return the machines, labelled for the runs that are on them now."""
    marks = marks_of(question.background_jobs)
    return [
        Kind(one.name, one.pool, one.slots, one.slot_kind, _labelled(one, marks.get(one.name, {})), one.host)
        for one in machines_of(question.cluster)
    ]


def _labelled(kind: Kind, marks: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((*kind.labels, *marks.items())))


def _waited_ms(measures: Measures) -> int:
    """Return the time until one of the search's trials has slots; 0 if none ever had."""
    mine = (way.granted_ms for way in measures.ways.values() if way.item.experiment == NAME)
    return max(0, min((at for at in mine if at is not None), default=0) - NOW_MS)


def _slots(config: ExperimentConfig) -> float:
    fraction = config.resources.slot_fraction
    return fraction / WHOLE_SLOT if fraction else config.resources.slot_range[1]


def _steps(question: Question, config: ExperimentConfig, seen: list[EarlierRunData]) -> int:
    searcher = config.searcher
    if isinstance(searcher, Custom):
        message = (
            "a search with searcher 'custom' cannot be simulated, because its own program chooses the trials"
        )
        raise Rejected(
            "not_plannable", message, "searcher.name", "plan a single trial with searcher.name: single"
        )
    steps = question.steps or (searcher.max_time if isinstance(searcher, Timed) else length_of(seen))
    if steps is None:
        raise Rejected(
            "missing_key",
            f"searcher {searcher.name!r} does not define how long a trial trains, and there are no earlier runs to derive it from",
            "searcher",
            hint="set --steps",
        )
    return steps


class _Rungs(Observer):
    """How far each trial of the search came."""

    def __init__(self) -> None:
        self._steps: dict[int, int] = {}
        self._levels: set[float] = set()

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        for number, trial in decision.trials.items():
            if trial.decide_at is not None:
                self._levels.add(trial.decide_at)
            self._steps[number] = max(self._steps.get(number, 0), trial.latest.step if trial.latest else 0)

    def reached(self) -> dict[float, int]:
        """Empty if the method has no rungs."""
        if len(self._levels) > MOST_RUNGS:
            return {}
        return {
            level: sum(steps >= level for steps in self._steps.values()) for level in sorted(self._levels)
        }
