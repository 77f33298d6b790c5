"""Trials side by side, and their metrics in bulk: `python examples/registry/trials.py 31` (with pyarrow for the last part)."""

import sys

from muster.client import connect


def main(experiment: str) -> None:
    """Print the best trials, those that a filter chooses, and how many points each metric has."""
    with connect() as client:
        print("names:", ", ".join(client.trials.columns_of(experiment)))
        for row in client.trials.best(experiment, 3):
            print("best:", row.number, row.values)
        for row in client.trials.table(
            experiment, filter="state = completed and best is not absent", sort="best"
        ):
            print("completed:", row.number, row.values)
        try:
            import pyarrow as pa
        except ImportError:
            return
        parts = [pa.ipc.open_stream(part).read_all() for part in client.exports.arrow(experiment)]
        print(pa.concat_tables(parts).group_by(["group", "name"]).aggregate([("value", "count")]).to_pylist())


if __name__ == "__main__":
    main(sys.argv[1])
