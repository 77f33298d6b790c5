"""Find trials that printed a pattern, over all experiments or some, with the lines before the first match:
`python examples/registry/logs.py 'NaN or Inf' 31 32`."""

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta

from muster.client import Client, connect
from muster.client.models import LogLine

DAYS, MOST = 7, 10_000


def name_of(line: LogLine) -> str:
    """Return the trial as EXPERIMENT.TRIAL."""
    return f"{line.experiment_number}.{line.trial_number}"


def show_around(client: Client, line: LogLine) -> None:
    """Print the line, and what the same rank wrote in the second before."""
    for each in client.trials.logs(
        line.trial,
        rank=line.rank,
        since=line.time - timedelta(seconds=1),
        until=line.time + timedelta(milliseconds=1),
    ):
        print(f"  {each.time:%H:%M:%S} {each.text}")


def main(text: str, *experiments: str) -> None:
    """Count the matching lines of each trial, newest experiment first, and show the context of the first one."""
    since = datetime.now(UTC) - timedelta(days=DAYS)
    counts, first = Counter[str](), dict[str, LogLine]()
    with connect() as client:
        for line in client.search_logs(experiments=experiments, contains=text, since=since):
            counts[name_of(line)] += 1
            first.setdefault(name_of(line), line)
            if counts.total() >= MOST:
                print(f"more than {MOST} lines: the oldest experiments are omitted")
                break
        for trial, count in counts.most_common():
            print(f"{trial}: {count} lines, the first in run {first[trial].run}")
            show_around(client, first[trial])
    print(f"{counts.total()} lines of {len(counts)} trials in {DAYS} days")


if __name__ == "__main__":
    main(*sys.argv[1:])
