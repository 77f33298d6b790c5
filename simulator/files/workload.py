"""Converts a workload file to what is simulated: trials without a search, and experiments whose trials the
search creates."""

from pathlib import Path

from muster.config import ExperimentConfig, Timed, load_config
from muster.errors import Rejected
from services.scheduler.core.state.records.labels import where_of
from simulator.experiments.submission import Submission
from simulator.experiments.synthetic_curves import Learning
from simulator.files.reading import read_config
from simulator.files.schema import ExperimentEntry, TrialEntry, Workload
from simulator.trials import PlainWork, WorkloadTrial


def items_of(workload: Workload) -> list[WorkloadTrial]:
    """Return the trials without a search."""
    return [item for trial in workload.trials for item in _items(trial)]


def submissions_of(workload: Workload, path: Path) -> list[Submission]:
    """Return the experiments of the file at `path`; configs that it names are relative to it. Raises Rejected."""
    return [
        submission
        for number, experiment in enumerate(workload.experiments)
        for submission in _submissions(experiment, path.parent, f"{path}, experiments[{number}]")
    ]


def learning_of(experiment: ExperimentEntry, config: ExperimentConfig, place: str) -> Learning:
    """Return how its trials learn. Raises Rejected if neither file nor config gives the training length."""
    steps = experiment.steps or _max_time(config)
    if steps is None:
        raise Rejected(
            "missing_key",
            f"the number of training steps is missing, and searcher {config.searcher.name!r} does not define it",
            place,
            hint="set `steps`",
        )
    curves = experiment.learning
    return Learning(
        steps=steps,
        step_ms=experiment.step_s * 1000,
        spread=experiment.spread,
        validate_every=experiment.validate_every or max(1, steps // 100),
        first=curves.first,
        best=curves.best,
        worst=curves.worst,
        halves_after=curves.halves_after or steps / 5,
        noise=curves.noise,
    )


def _submissions(experiment: ExperimentEntry, folder: Path, place: str) -> list[Submission]:
    config = _config(experiment, folder, place)
    learning = learning_of(experiment, config, place)
    return [
        Submission(
            name=experiment.name if experiment.count == 1 else f"{experiment.name}-{number + 1}",
            config=config,
            learning=learning,
            arrives_ms=_ms(experiment.arrives_s + number * experiment.every_s),
            tenant=experiment.tenant,
            user=experiment.user,
            seed=experiment.seed + number,
            checkpoint_ms=None if experiment.checkpoint_s is None else max(1, _ms(experiment.checkpoint_s)),
            launch_ms=_ms(experiment.launch_s),
        )
        for number in range(experiment.count)
    ]


def _config(experiment: ExperimentEntry, folder: Path, place: str) -> ExperimentConfig:
    if isinstance(experiment.config, str):
        return read_config(folder / experiment.config)
    try:
        return load_config(experiment.config)
    except Rejected as error:
        where = f"{place}.config.{error.place}" if error.place else f"{place}.config"
        raise Rejected(error.code, error.message, where, hint=error.hint) from None


def _max_time(config: ExperimentConfig) -> int | None:
    searcher = config.searcher
    return searcher.max_time if isinstance(searcher, Timed) else None


def _items(trial: TrialEntry) -> list[WorkloadTrial]:
    first_ms, every_ms = _ms(trial.arrives_s), trial.every_s * 1000
    return [
        WorkloadTrial(
            name=trial.name if trial.count == 1 else f"{trial.name}-{number + 1}",
            arrives_ms=first_ms + round(number * every_ms),
            work=PlainWork(max(1, _ms(trial.length_s)), trial.whole_slots),
            min_slots=trial.min_slots or trial.whole_slots,
            max_slots=trial.whole_slots,
            fraction=trial.fraction,
            tenant=trial.tenant,
            workspace=trial.workspace,
            user=trial.user,
            experiment=trial.experiment,
            priority=trial.priority,
            weight=trial.weight,
            single_node=trial.single_node,
            where=where_of(trial.required_labels, trial.preferred_labels, ()),
            checkpoint_ms=None if trial.checkpoint_s is None else max(1, _ms(trial.checkpoint_s)),
            launch_ms=_ms(trial.launch_s),
            resize_ms=None if trial.resize_s is None else _ms(trial.resize_s),
            experiment_max_slots=trial.max_slots,
        )
        for number in range(trial.count)
    ]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
