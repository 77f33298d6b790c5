"""How large one search may be: its decisions in the core alone, its samplers' proposals, and the whole service with its database.

`python -m tests.bench.search_scale core` (`promotion`, `samplers`, `service`) measures one part; `… samplers tpe` one sampler.
"""

import random
import resource
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from multiprocessing import get_context
from time import perf_counter, process_time
from typing import TypeVar
from uuid import UUID

from muster.config import ExperimentConfig, load_config
from services.searcher.core.experiment.entities import (
    ClosedRequest,
    ExperimentRecord,
    RunEndReport,
    TrialRecord,
)
from services.searcher.core.experiment.results import Result
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import fold
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.ending import end_rest
from services.searcher.core.reducers.events import RequestEnd, RunEnd
from services.searcher.core.reducers.runs import on_closed, on_run_ended
from services.searcher.core.reducers.starting import resume_loaded
from services.searcher.core.reducers.submissions import Submitted, on_submission
from services.searcher.core.reducers.validations import on_validation
from services.searcher.core.samplers import Observation, make_sampler
from services.searcher.core.search.search import Search
from services.searcher.core.search.state import save_state
from services.searcher.runner import snapshots as saving
from shared.ids import ExperimentId
from shared.messages.queue import RequestOutcome
from shared.messages.trial_specs import DesiredState
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.service_scale import measure_service

T = TypeVar("T")
TRIALS, REPORTS, OPEN, SEED = 100_000, 1_000_000, 64, 7
MOST_P99_MS, MOST_PEAK_MIB = 1.0, 1536
SLOW_S, RECENT, ALL_UNTIL = 0.05, 9, 200
"""So many trials are all proposed; after that fewer and fewer of those there are, and the rest are drawn by chance."""
SAMPLERS = ("tpe", "gp", "cmaes", "nsga2", "quasi_random")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPACE: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -5, "maxval": 0},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.99},
    "width": {"type": "int", "minval": 8, "maxval": 256},
    "act": {"type": "categorical", "vals": ["relu", "tanh"]},
}


def config(**searcher: object) -> ExperimentConfig:
    return load_config(
        {"entrypoint": "true", "hyperparameters": SPACE, "searcher": {"metric": "loss", **searcher}}
    )


def asha(trials: int, stop_once: bool) -> ExperimentConfig:
    """Three rungs, at 4, 17 and 68 steps: ten reports a trial."""
    return config(
        name="async_halving", max_trials=trials, max_time=68, num_rungs=3, divisor=4, time_metric="step",
        max_concurrent_trials=OPEN, stop_once=stop_once,
    )  # fmt: skip


class Core:
    """Tells a search what happens to its trials, and times what it makes of each report."""

    def __init__(self, chosen: ExperimentConfig) -> None:
        self.config = chosen
        self.search = Search(chosen, SEED)
        self.experiment = ExperimentRecord(ExperimentId(UUID(int=1)), 1, NOW)
        self.trials: dict[int, TrialRecord] = {}
        self.open: list[int] = []
        self.listed: set[int] = set()
        self.journal: list[Entry] = []
        self.took: list[float] = []

    def apply(self, act: Callable[[Changes], None], *numbers: int) -> None:
        changes = Changes(self.config, self.experiment, [self.trials[n] for n in numbers], self.search, NOW)
        act(changes)
        if changes.missing:
            resume_loaded(changes, [self.trials[each] for each in changes.missing])
        if changes.needs_rest:
            end_rest(changes, [trial for trial in self.trials.values() if not trial.is_final])
        decision = changes.decide()
        self.experiment = decision.experiment
        self.trials.update(decision.trials)
        self.journal += decision.entries
        for number in decision.requested:
            if number not in self.listed and self.trials[number].desired_state is DesiredState.RUN:
                self.open.append(number)
                self.listed.add(number)

    def play(self) -> None:
        """From the first trial to the last, the open ones in an order by chance."""
        chance, steps = random.Random(SEED), dict[int, int]()
        self.apply(lambda changes: on_submission(changes, Submitted()))
        while self.open:
            at = chance.randrange(len(self.open))
            number = self.open[at]
            trial = self.trials[number]
            if trial.desired_state is DesiredState.RUN:
                steps[number] = step = steps.get(number, 0) + 1
                loss = (number * 0.6180339887 % 1.0) + chance.random() / step
                self.report(Result(number, trial.request, step, step, {"loss": loss}))
            else:
                self.open[at] = self.open[-1]
                self.open.pop()
                self.listed.remove(number)
                self.end(trial)

    def report(self, result: Result) -> None:
        before = perf_counter()
        self.apply(lambda changes: on_validation(changes, result), result.trial)
        self.took.append(perf_counter() - before)

    def end(self, trial: TrialRecord) -> None:
        outcome: RequestOutcome = "parked" if trial.desired_state is DesiredState.PARK else "stopped"
        ended = RunEndReport(trial.request, trial.reported[1], 0)

        def act(changes: Changes) -> None:
            on_run_ended(changes, RunEnd(trial.number, ended, is_requeued=False))
            on_closed(
                changes,
                RequestEnd(trial.number, trial.request, ClosedRequest(outcome, trial.request, None, NOW)),
            )

        self.apply(act, trial.number)


def measure_core(report: Report, stop_once: bool = True) -> Figures:
    """In a process of its own, so that its memory is the search's alone."""
    with get_context("spawn").Pool(1) as pool:
        found = pool.apply(_play, (stop_once,))
    name = "" if stop_once else "promotion_"
    report.check(f"{name}is_restored", 1, found.pop("is_restored"))
    report.check(f"{name}trials", TRIALS, found.pop("trials"))
    report.check(f"{name}state", "completed", found.pop("state"))
    report.check(f"{name}as_many_reports_as_asked", 1, int(int(str(found["reports"])) >= REPORTS))
    return {name + key: value for key, value in found.items()}


def _play(stop_once: bool) -> Figures:
    core, began = Core(asha(TRIALS, stop_once)), perf_counter()
    core.play()
    took, peak = perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fold_s, _ = _timed(lambda: fold(Search(core.config, SEED), core.journal))
    save_s, state = _timed(lambda: saving.pack(core.search))
    assert state is not None
    again = Search(core.config, SEED)
    restore_s, _ = _timed(lambda: saving.restore(again, state))
    return {
        "is_restored": int(save_state(again) == save_state(core.search)),
        "trials": len(core.trials),
        "state": core.experiment.state.value,
        "reports": len(core.took),
        "report_p50_ms": percentile(core.took, 0.5) * 1000,
        "report_p99_ms": percentile(core.took, 0.99) * 1000,
        "report_max_ms": max(core.took) * 1000,
        "peak_mib": peak,
        "whole_s": took,
        "entries": len(core.journal),
        "fold_s": fold_s,
        "save_s": save_s,
        "restore_s": restore_s,
        "state_mib": len(state) / 2**20,
    }


def _timed(act: Callable[[], T]) -> tuple[float, T]:
    before = perf_counter()
    found = act()
    return perf_counter() - before, found


def measure_samplers(report: Report) -> Figures:
    """For each, with how many trials before it one proposal takes 50 ms, and what the last one took; `slow_reached_…` is 0 where it is quicker
    with as many as a search may have."""
    figures: Figures = {}
    for name in [name for name in SAMPLERS if name in sys.argv[1:]] or SAMPLERS:
        trials, seconds = slow_at(report, name)
        figures |= {
            f"slow_at_{name}": trials,
            f"slow_reached_{name}": int(seconds >= SLOW_S),
            f"last_proposal_ms_{name}": seconds * 1000,
        }
    return figures


def slow_at(report: Report, name: str) -> tuple[int, float]:
    """Return at which trial it was given up, and the median of the last proposals in seconds.

    To propose all of 100,000 takes some samplers an hour. What a proposal costs follows from how many trials there are, more than from who
    proposed these: beyond the first 200, one in n / 200 is proposed. What is counted is the processor's time: a proposal is made in one thread and
    waits for nothing, and so others on the machine matter little.
    """
    sampler = make_sampler(config(name="random", max_trials=TRIALS, sampler=name), SEED)
    drawn = make_sampler(config(name="random", max_trials=TRIALS), SEED)
    chance, recent, next_report = random.Random(SEED), list[float](), 1000
    for trial in range(1, TRIALS + 1):
        if trial % max(1, trial // ALL_UNTIL):
            sampler.take(trial, drawn.propose(trial))
        else:
            before = process_time()
            sampler.propose(trial)
            recent = [*recent[1 - RECENT :], process_time() - before]
        median = sorted(recent)[len(recent) // 2]
        if median >= SLOW_S and len(recent) == RECENT:
            break
        if trial >= next_report:
            report.say(f"{name}: {median * 1000:.1f} ms a proposal after {trial} trials")
            next_report *= 2
        sampler.observe(trial, Observation(chance.random()))
    return trial, median


PARTS: Mapping[str, Callable[[Report], Figures]] = {
    "core": measure_core,
    "promotion": lambda report: measure_core(report, stop_once=False),
    "samplers": measure_samplers,
    "service": measure_service,
}


def measure(report: Report) -> Figures:
    report.inputs(trials=TRIALS, reports=REPORTS, open=OPEN, seed=SEED)
    asked = [name for name in sys.argv[1:] if name in PARTS] or list(PARTS)
    return {key: value for name in asked for key, value in PARTS[name](report).items()}


if __name__ == "__main__":
    run("search_scale", measure)
