"""Job completion times of the published workloads (`simulator/workloads/pollux`) under every policy, replayed through the scheduler's own
turns on virtual time: 160 jobs of one user each on 16 machines of 4 GPUs; every start costs 30 s.

`default` is a pool that nobody has configured: jobs ask for as many GPUs as their users did, name no priority, and save at the end of each epoch.
Under `fifo`, `priority` and `fair_share` a job keeps the GPUs and the batch size that its user asked for; `priority` may preempt, and
a job's priority is 40 + the GPUs that it asks for, so who asks for little goes first. Under `elastic` a job takes from 1 GPU to as many as its
largest batch feeds, and its batch size follows; what the policy knows of it is what the job has measured so far.

`python -m tests.bench.scheduler_jct FILE.svg` also draws the distributions.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.trial import SlotNeeds
from services.scheduler.service import default_policy
from services.scheduler.settings import PoolSection
from shared.ids import PoolName
from simulator.workloads.published import (
    MACHINES,
    RESTART_MS,
    SLOTS_PER_MACHINE,
    Job,
    read_jobs,
    workloads,
)
from simulator.workloads.replay import ReplayOutcome, Setting, WorkloadReplay
from simulator.workloads.training import alone_ms, limits_of
from tests.bench.figures.distributions import COLOURS, draw
from tests.bench.harness import Figures, Report, percentile, run
from tests.support.policies import plain

PUBLISHED_S: Mapping[str, Mapping[str, float]] = {
    "Pollux": {"workload-1": 2088.8, "workload-2": 3322.9, "workload-3": 2188.5, "workload-4": 2721.0},
    "Tiresias": {"workload-1": 2473.7, "workload-2": 5145.0, "workload-3": 3876.3, "workload-4": 3280.3},
}
"""Average completion times of the study (README of the workloads)."""
POOL = PoolName("gpus")
PLAIN = ("fifo", "priority", "fair_share")
QUANTUM = timedelta(minutes=10)


def as_asked(job: Job) -> SlotNeeds:
    return SlotNeeds(job.slots, job.slots)


def as_it_scales(job: Job) -> SlotNeeds:
    return SlotNeeds(1, limits_of(job.profile).most_slots)


def _setting(
    policy: PoolPolicy, needs: Callable[[Job], SlotNeeds], priority: Callable[[Job], int] = lambda job: 42
) -> Setting:
    return Setting(policy, MACHINES, SLOTS_PER_MACHINE, needs, priority)


SETTINGS: Mapping[str, Setting] = {
    "default": _setting(replace(default_policy(PoolSection()), name=POOL), as_asked),
    "fifo": _setting(plain(POOL, order="fifo"), as_asked),
    "priority": _setting(
        plain(POOL, order="priority", preemption=True), as_asked, lambda job: 40 + job.slots
    ),
    "fair_share": _setting(
        plain(POOL, order="fair_share", preemption=True, half_life=timedelta(hours=1)), as_asked
    ),
    "elastic": _setting(plain(POOL, order="fifo", elastic=True), as_it_scales),
    "fifo_turns": _setting(plain(POOL, order="fifo", quantum=QUANTUM), as_asked),
    "fair_share_turns": _setting(
        plain(POOL, order="fair_share", half_life=timedelta(hours=1), quantum=QUANTUM), as_asked
    ),
}
"""`…_turns`: no job asks by rank; what has had its GPUs for a quantum yields to equals."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One workload under one policy.

    Attributes:
        utilisation: Part of all slots that was held, from the first arrival to the last end.
        jain: Jain's index of the jobs' speeds, each relative to having what it asked for from its arrival on; 1: all were slowed down alike.
        starts: How often a job began, on average.
    """

    mean_s: float
    p99_s: float
    makespan_s: float
    utilisation: float
    jain: float
    starts: float


def summarise(outcomes: Sequence[ReplayOutcome]) -> Summary:
    seconds = [outcome.completion_ms / 1000 for outcome in outcomes]
    begin = min(outcome.job.arrives_ms for outcome in outcomes)
    makespan_ms = max(outcome.job.arrives_ms + outcome.completion_ms for outcome in outcomes) - begin
    held_ms = sum(outcome.service_ms for outcome in outcomes)
    speeds = [(RESTART_MS + alone_ms(outcome.job)) / outcome.completion_ms for outcome in outcomes]
    return Summary(
        mean_s=sum(seconds) / len(seconds),
        p99_s=percentile(seconds, 0.99),
        makespan_s=makespan_ms / 1000,
        utilisation=held_ms / (makespan_ms * MACHINES * SLOTS_PER_MACHINE),
        jain=sum(speeds) ** 2 / (len(speeds) * sum(speed**2 for speed in speeds)),
        starts=sum(outcome.starts for outcome in outcomes) / len(outcomes),
    )


def measure(report: Report) -> Figures:
    report.inputs(machines=MACHINES, slots_per_machine=SLOTS_PER_MACHINE, restart_s=RESTART_MS / 1000)
    summaries: dict[str, dict[str, Summary]] = {policy: {} for policy in SETTINGS}
    completions_s: dict[str, list[float]] = {policy: [] for policy in SETTINGS}
    unfinished = 0
    report.say(f"{'':24}  mean s   p99 s  makespan s  used  Jain  starts")
    for policy, setting in SETTINGS.items():
        for path in workloads():
            outcomes = WorkloadReplay(setting, read_jobs(path)).run()
            unfinished += sum(outcome.ended_ms is None for outcome in outcomes)
            found = summaries[policy][path.stem] = summarise(outcomes)
            completions_s[policy] += [outcome.completion_ms / 1000 for outcome in outcomes]
            report.say(
                f"{policy:12}{path.stem:12}{found.mean_s:8.0f}{found.p99_s:8.0f}{found.makespan_s:12.0f}"
                f"{found.utilisation:6.2f}{found.jain:6.2f}{found.starts:8.2f}"
            )
    means = {policy: {stem: one.mean_s for stem, one in by.items()} for policy, by in summaries.items()}
    if sys.argv[-1].endswith(".svg"):
        by_policy = {policy: completions_s[policy] for policy in COLOURS}
        Path(sys.argv[-1]).write_text(
            draw(by_policy, {policy: means[policy] for policy in by_policy}, PUBLISHED_S)
        )
    report.check("unfinished", 0, unfinished)
    elastic = _worst(means["elastic"], PUBLISHED_S["Pollux"])
    plain = {policy: _worst(means[policy], PUBLISHED_S["Tiresias"]) for policy in PLAIN}
    default = _mean(means["default"])
    report.say(f"default takes {default:.0f} s in the mean, {default / _mean(means['fifo']):.3f} of fifo's")
    best = min(plain, key=lambda policy: plain[policy])
    report.say(f"elastic takes at most {elastic:.3f} of Pollux's time on each workload")
    report.say(f"{best}, the best plain policy, takes at most {plain[best]:.3f} of Tiresias's")
    report.check("elastic_beyond_pollux", False, elastic > 1)
    report.check("best_plain_beyond_tiresias", False, plain[best] > 1)
    report.check("default_beyond_fair_share_turns", False, default > 1.05 * _mean(means["fair_share_turns"]))
    return {
        "mean_jct_s": means,
        "default_mean_jct_s": default,
        **{
            name: {
                policy: {stem: getattr(one, field) for stem, one in by.items()}
                for policy, by in summaries.items()
            }
            for name, field in _FIELDS.items()
        },
        "elastic_to_pollux": elastic,
        "best_plain_to_tiresias": plain[best],
    }


_FIELDS = {
    "p99_jct_s": "p99_s",
    "makespan_s": "makespan_s",
    "utilisation": "utilisation",
    "jain": "jain",
    "starts": "starts",
}


def _mean(means: Mapping[str, float]) -> float:
    return sum(means.values()) / len(means)


def _worst(means: Mapping[str, float], published: Mapping[str, float]) -> float:
    return max(means[stem] / published[stem] for stem in published)


if __name__ == "__main__":
    run("scheduler_jct", measure)
