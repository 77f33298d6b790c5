"""Register an experiment's best checkpoint as a model version, and make it the champion if it is better:
`python examples/registry/models.py 31 digits`."""

import sys

from muster.client import Client, connect
from muster.client.models import ExperimentDetail, ModelVersion
from muster.errors import NotFound


def main(number: str, name: str) -> None:
    """Register, compare, and move the alias `champion` to the better version."""
    with connect() as client:
        experiment = client.experiments.get(number)
        model = f"{experiment.workspace}/{name}"
        if not any(one.name == name for one in client.models.list(workspace=experiment.workspace)):
            client.models.create(name, workspace=experiment.workspace, notes="# Made by an example")
        best = client.checkpoints.best_of(experiment)
        made = client.models.register(model, best.id, comment=f"the best of experiment {number}")
        print(
            f"registered {name}@{made.number}, trained on", [str(one.name) for one in made.lineage.datasets]
        )
        champion = champion_of(client, model)
        if champion is None or beats(experiment, made, champion):
            client.models.set_alias(model, "champion", made.number)
            print(f"{name}@champion is version {made.number}")
        else:
            print(f"{name}@champion stays version {champion.number}; differences:")
            for one in client.models.compare(model, "champion", made.number).differences:
                print(f"  {one.what} {one.name}: {one.base} → {one.other}")


def champion_of(client: Client, model: str) -> ModelVersion | None:
    """Return the version of the alias."""
    try:
        return client.models.version(model, "champion")
    except NotFound:
        return None


def beats(experiment: ExperimentDetail, one: ModelVersion, other: ModelVersion) -> bool:
    """Whether `one` is better than `other` by the experiment's metric."""
    metric = experiment.metric or ""
    worst = float("inf") if experiment.smaller_is_better else float("-inf")
    mine, others = (version.lineage.metrics.get(metric, worst) for version in (one, other))
    return mine < others if experiment.smaller_is_better else mine > others


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
