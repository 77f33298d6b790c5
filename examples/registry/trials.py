"""Compare trials, and export an experiment's data: `python examples/registry/trials.py 31` (with pyarrow for the last part).

`FOLDER` behind the number keeps the files: `duckdb -c "SELECT * FROM 'FOLDER/points/*.parquet' JOIN 'FOLDER/trials/*.parquet' USING (trial)"`.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from muster.client import Client, connect

FINISHED = "state in (completed, stopped) and best is not absent"


def show_trials(client: Client, experiment: str) -> None:
    """Print the column names, the best trials, and trials selected by a filter."""
    print("names:", ", ".join(client.trials.columns_of(experiment)))
    for row in client.trials.best(experiment, 3):
        print("best:", row.number, row.values)
    for row in client.trials.table(
        experiment, filter=FINISHED, sort="best,-number", columns=["best", "runs"]
    ):
        print("finished:", row.number, row.values)


def fetch(client: Client, experiment: str, folder: Path) -> None:
    """Save all points, and the table of all trials with hyperparameters and last metric values."""
    points = client.exports.metrics(experiment, folder / "points")
    trials = client.exports.table(experiment, folder / "trials", sort="best")
    print(f"fetched: {points.rows} points, {trials.rows} trials")


def show_files(folder: Path) -> None:
    """Print the number of points per metric, and the trials' columns."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        return
    points, trials = (pq.read_table(folder / name) for name in ("points", "trials"))
    for row in points.group_by(["group", "name"]).aggregate([("value", "count")]).to_pylist():
        print("metric:", row["group"], row["name"], row["value_count"])
    print("columns:", ", ".join(f"{field.name} {field.type}" for field in trials.schema))
    joined = points.join(trials.select(["trial", "best"]), "trial")
    print("joined:", joined.num_rows)


def main(experiment: str, folder: str | None = None) -> None:
    """Show an experiment's trials, and export its data."""
    with connect() as client, TemporaryDirectory() as passing:
        kept = Path(folder or passing)
        show_trials(client, experiment)
        fetch(client, experiment, kept)
        show_files(kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
