"""A thousand seeded schedules in which the provisioner is killed at every step and the cloud answers late, twice or wrongly (`provisioning/faulty`,
`provisioning/schedule`); the decisions are those of the real core, on virtual time.

`orphans`: machines that stood on nobody's record for more than five minutes. `double_launches`: machines that our calls made for an intent beyond one for
each of its instances. `ledger_error`: the ledger's machine time against the cloud's bill for it. Schedules: the first argument (1,000).
"""

import sys
from concurrent.futures import ProcessPoolExecutor

from tests.bench.harness import Figures, Report, run
from tests.bench.provisioning.schedule import FAULTS_MS, KILLS, MINUTE_MS, Found, Schedule

SCHEDULES, PROCESSES = 1000, 2


def play(seed: int) -> Found:
    return Schedule(seed).play()


def measure(report: Report) -> Figures:
    schedules = int(sys.argv[1]) if len(sys.argv) > 1 else SCHEDULES
    report.inputs(schedules=schedules, kills_each=KILLS, minutes_of_faults=FAULTS_MS // MINUTE_MS)
    total = Found()
    with ProcessPoolExecutor(PROCESSES) as processes:
        for seed, found in enumerate(processes.map(play, range(schedules), chunksize=10)):
            total = total.plus(found)
            if found.orphans or found.double_launches or found.left:
                report.say(f"schedule {seed}: {found}")
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


if __name__ == "__main__":
    run("provision_faults", measure)
