"""What would one experiment cost, and when would it end? Its search is played in several futures: in each another point is the best, trials
learn faster or slower, and steps take a little more or less. What is true in most of them is likely; what differs is not known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from muster.config import Custom, ExperimentConfig, Timed
from muster.errors import Rejected
from services.scheduler.core.placement.labels import Where
from shared.ids import WorkerId
from simulator.files.schema import Cluster, Policy
from simulator.searching.learning import Learning
from simulator.searching.submission import Submission, where_asked
from simulator.simulate import simulate
from simulator.watching.experiments import ExperimentResult

LOW, HIGH = 0.1, 0.9
SPREAD = 0.1
"""By how much trials differ in the time of a step."""
NOISE = 0.02
"""Of a validation, against what is learned in all."""
LONGEST_S = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class Range:
    """In eight of ten futures between `low` and `high`; `middle` is the median."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an experiment comes to. `step_s` None: how long a step takes was not said, so times and slots are left out.

    Attributes:
        trials: Made by the search; `stopped` of them before their time.
        steps: Trained in all.
        took_s: From the submission to the end.
    """

    futures: int
    trials: Range
    stopped: Range
    steps: Range
    slots: int
    step_s: float | None
    slot_hours: Range | None = None
    took_s: Range | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be foretold. `steps`: of one trial, in the units of the search's time; None: as the search has it."""

    config: ExperimentConfig
    cluster: Cluster
    policy: Policy
    steps: int | None = None
    step_s: float | None = None
    launch_s: float = 10.0


def predict(question: Question, seeds: Sequence[int], go_on: Callable[[int], bool]) -> Prediction:
    """Plays the search once for each seed, with the cluster to itself.

    Args:
        go_on: is told how many futures are done; False ends it with those.

    Raises:
        Rejected: a trial fits nowhere, it is not known how long one trains, or the search does not end within a year.
    """
    _check_room(question)
    steps = _steps(question)
    found: list[ExperimentResult] = []
    for result in (_play(question, steps, seed) for seed in seeds):
        found.append(result)
        if not go_on(len(found)):
            break
    is_timed = question.step_s is not None
    return Prediction(
        futures=len(found),
        trials=_range(one.trials for one in found),
        stopped=_range(one.stopped for one in found),
        steps=_range(one.steps for one in found),
        slots=question.config.resources.slot_range[1],
        step_s=question.step_s,
        slot_hours=_range(one.slot_hours for one in found) if is_timed else None,
        took_s=_range(one.took_s or 0.0 for one in found) if is_timed else None,
    )


def _play(question: Question, steps: int, seed: int) -> ExperimentResult:
    chance = Random(f"future {seed}")
    first, best = (1.0, 0.0) if question.config.searcher.smaller_is_better else (0.0, 1.0)
    learning = Learning(
        steps=steps,
        step_ms=(question.step_s or 1.0) * 1000 * chance.lognormvariate(0.0, SPREAD),
        spread=SPREAD,
        validate_every=max(1, steps // 100),
        first=first,
        best=best,
        worst=0.5,
        halves_after=steps / 5 * 2.0 ** chance.uniform(-1.0, 1.0),
        noise=NOISE,
    )
    launch_ms = round(question.launch_s * 1000)
    asked = Submission("experiment", question.config, learning, seed=seed, launch_ms=launch_ms)
    answer = simulate(question.policy, question.cluster, [], seed, LONGEST_S, submissions=[asked])
    result = answer.result.experiments[0]
    if result.took_s is None:
        raise Rejected("does_not_end", "the search does not end within a year")
    return result


def _check_room(question: Question) -> None:
    """Raises Rejected where a trial would wait for ever, which nobody would see the end of."""
    resources, cluster = question.config.resources, question.cluster
    where = where_asked(resources) or Where()
    sizes = [
        group.slots
        for group in cluster.machines
        if resources.slot_kind in (None, group.kind)
        for number in range(group.count)
        if where.admits(WorkerId(f"{group.name}-{number + 1}"), group.labels_of(number))
    ]
    must_be_one = resources.is_single_node or not cluster.exclusive
    provider = cluster.provider
    # What a provider brings has no labels here.
    if provider is not None and resources.slot_kind in (None, provider.kind) and not where.required:
        sizes += [provider.slots] * (1 if must_be_one else provider.maximum)
    room = max(sizes, default=0) if must_be_one else sum(sizes)
    least, _ = resources.slot_range
    if least > room:
        wanted = f" of kind {resources.slot_kind}" if resources.slot_kind else ""
        machines = f" {where}" if str(where) else ""
        slots = f"{least} slot{'' if least == 1 else 's'}{wanted}"
        on = (
            f"on one machine{machines}" if must_be_one else f"on machines{machines}" if machines else "in all"
        )
        raise Rejected(
            "slots_unsatisfiable",
            f"a trial needs {slots}; there {'is' if room == 1 else 'are'} {room} {on}",
            "resources.slots_per_trial" if sizes else "resources",
        )


def _steps(question: Question) -> int:
    searcher = question.config.searcher
    if isinstance(searcher, Custom):
        message = "what a search of searcher 'custom' tries is known to its program alone"
        raise Rejected(
            "not_plannable", message, "searcher.name", "plan one trial of it: searcher.name: single"
        )
    steps = question.steps or (searcher.max_time if isinstance(searcher, Timed) else None)
    if steps is None:
        raise Rejected(
            "missing_key",
            f"searcher {searcher.name!r} does not say how long a trial trains",
            "searcher",
            hint="give --steps",
        )
    return steps


def _range(values: Iterator[float]) -> Range:
    ordered = sorted(values)
    last = len(ordered) - 1
    return Range(ordered[round(LOW * last)], ordered[round(0.5 * last)], ordered[round(HIGH * last)])
