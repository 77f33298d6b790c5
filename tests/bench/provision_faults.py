"""A thousand seeded schedules in which the provisioner is killed at every step and the cloud answers late, twice or wrongly (`provisioning/faulty`,
`provisioning/schedule`); the decisions are those of the real core, on virtual time.

`orphans`: machines that stood on nobody's record for more than five minutes. `double_launches`: machines that our calls made for an intent beyond one for
each of its instances. `ledger_error`: the ledger's machine time against the cloud's bill for it.

`python -m tests.bench.provision_faults [--schedules N] [--results FILE [--time-limit S]]`: a schedule takes half a second of a processor. What `--results` holds is
not played again.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict

from tests.bench.harness import Figures, Report, run
from tests.bench.kept import OPTIONS, Outcome, play_parts
from tests.bench.provisioning.schedule import FAULTS_MS, KILLS, MINUTE_MS, Found, Schedule

SCHEDULES, PROCESSES, AT_ONCE = 1000, 2, 10


def play(seeds: range) -> Outcome:
    """Some schedules: what they came to together, and those that say more than that."""
    total, wrong = Found(), {}
    for seed in seeds:
        found = Schedule(seed).play()
        total = total.plus(found)
        if found.orphans or found.double_launches or found.left:
            wrong[str(seed)] = asdict(found)
    return {"total": asdict(total), "wrong": wrong}


def measure(report: Report) -> Figures:
    chosen = _chosen()
    schedules: int = chosen.schedules
    report.inputs(schedules=schedules, kills_each=KILLS, minutes_of_faults=FAULTS_MS // MINUTE_MS)
    parts = [range(at, min(at + AT_ONCE, schedules)) for at in range(0, schedules, AT_ONCE)]
    with ProcessPoolExecutor(PROCESSES) as processes:
        outcomes = play_parts(processes, play, parts, chosen.results, chosen.time_limit)
    total = Found()
    for outcome in outcomes:
        total = total.plus(Found(**outcome["total"]))
        for seed, found in outcome["wrong"].items():
            report.say(f"schedule {seed}: {Found(**found)}")
    report.check("orphans", 0, total.orphans)
    report.check("double_launches", 0, total.double_launches)
    report.check("left", 0, total.left)
    return {
        "schedules": schedules,
        "kills": total.kills,
        "machines": total.machines,
        "orphans": total.orphans,
        "double_launches": total.double_launches,
        "ledger_error": abs(total.ledger_s - total.billed_s) / total.billed_s,
        "made_by_the_cloud_itself": total.extras_s / total.billed_s,
    }


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="provision_faults", parents=[OPTIONS])
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    return parser.parse_args()


if __name__ == "__main__":
    run("provision_faults", measure)
