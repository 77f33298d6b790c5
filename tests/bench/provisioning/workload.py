"""A day of searches that come in bursts, drawn from a seed.

Searches come as a Poisson process of 10 a day, four times as often between 8 and 20 o'clock as at night; each brings 4 to 48 trials (the
logarithm is even) within two minutes. Trials of a search take alike: its median is log-normal about 45 min (sigma 0.6), each of its trials
spreads by a sigma of 0.4, all between 5 min and 5 h. Of the searches 75 % train on one slot, 15 % on four and 10 % on eight, on one
machine. Trials save every 10 min, and when they are told to.
"""

from math import exp, log
from random import Random

from simulator.trials import PlainWork, WorkloadTrial

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
DAY_MS = 24 * HOUR_MS
SEARCHES = 10.0
CHECKPOINT_MS = 10 * MINUTE_MS
SHORTEST_MS, LONGEST_MS = 5 * MINUTE_MS, 5 * HOUR_MS


def day(seed: int) -> list[WorkloadTrial]:
    """The trials, as they arrive."""
    chance = Random(f"{seed}/workload")
    items: list[WorkloadTrial] = []
    at, most = 0.0, SEARCHES * 4 / 2.5 / DAY_MS
    number = 0
    while (at := at + chance.expovariate(most)) < DAY_MS:
        is_day = 8 <= at / HOUR_MS < 20
        if chance.random() < (1.0 if is_day else 0.25):
            items += _search(chance, number, round(at))
            number += 1
    return sorted(items, key=lambda item: item.arrives_ms)


def work_ms(item: WorkloadTrial) -> int:
    """What it takes when nothing is waited for."""
    return round(item.work.total)


def _search(chance: Random, number: int, at: int) -> list[WorkloadTrial]:
    slots = chance.choices((1, 4, 8), (75, 15, 10))[0]
    trials = round(exp(chance.uniform(log(4), log(48))))
    middle = 45 * MINUTE_MS * exp(chance.gauss(0, 0.6))
    made = []
    for trial in range(trials):
        length = round(min(LONGEST_MS, max(SHORTEST_MS, middle * exp(chance.gauss(0, 0.4)))))
        made.append(
            WorkloadTrial(
                f"s{number}t{trial}",
                at + round(chance.uniform(0, 2 * MINUTE_MS)),
                PlainWork(length, slots),
                slots,
                slots,
                experiment=f"s{number}",
                single_node=True,
                checkpoint_ms=CHECKPOINT_MS,
                launch_ms=10_000,
                stop_ms=5_000,
                upload_ms=5_000,
            )
        )
    return made
