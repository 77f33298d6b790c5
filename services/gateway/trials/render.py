"""From stored rows and other services' answers to what users see."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from services.gateway.checkpoints import schema as checkpoints
from services.gateway.events import schema as events
from services.gateway.logs import schema as logs
from services.gateway.metrics import schema as metrics
from services.gateway.trials import schema as trials
from shared.messages.checkpoints import CheckpointView, FileLinks
from shared.messages.experiments import FrontTrial, TrialChanged
from shared.messages.logs import StoredLine
from shared.messages.metrics import SeriesPage, TrialSummaries
from shared.messages.specs import WHOLE_SLOT, Thousandths

Row = Any
"""A row of SQLAlchemy, whose columns are attributes."""


def render_trial(row: Row, experiment_number: int, config: dict[str, Any]) -> trials.Trial:
    """`config` is its experiment's."""
    changed = TrialChanged.model_validate(row.changed)
    return trials.Trial(
        id=changed.trial_id,
        experiment=changed.experiment_id,
        experiment_number=experiment_number,
        number=changed.number,
        state=trials.TrialState(changed.state),
        invalid=changed.invalid,
        finishing=changed.finishing,
        reason=changed.reason,
        hyperparameters=changed.hyperparameters,
        seed=changed.seed,
        slots=changed.slots,
        source=changed.source,
        start_checkpoint=changed.start_checkpoint,
        min_slots=_least_slots(config),
        slot_part=_slot_part(config),
        best=_measured(changed.best),
        latest=_measured(changed.latest),
        runs=changed.runs,
        final=changed.final,
        created_at=changed.created_at,
        ended_at=changed.ended_at,
        version=changed.version,
    )


def render_on_front(found: FrontTrial) -> trials.FrontTrial:
    return trials.FrontTrial(
        trial=found.trial_id,
        trial_number=found.number,
        state=trials.TrialState(found.state),
        step=found.step,
        metrics=found.metrics,
        hyperparameters=found.hyperparameters,
    )


def render_run(row: Row) -> trials.Run:
    changed = row.changed
    members = [{**member, "slot_part": part_of(member.get("part", 0))} for member in changed["members"]]
    return trials.Run.model_validate(
        {
            **changed,
            "id": changed["run_id"],
            "trial": changed["trial_id"],
            "state": row.state,
            "members": members,
        }
    )


def part_of(part: Thousandths) -> float | None:
    """As people write it; none where slots are whole."""
    return part / WHOLE_SLOT if part else None


def render_series(page: SeriesPage) -> metrics.TrialMetrics:
    series = [
        metrics.MetricSeries(
            group=one.group,
            name=one.name,
            count=one.count,
            points=[
                metrics.MetricPoint(
                    step=point.step,
                    time=to_time(point.time_ms),
                    run=point.run_number,
                    value=finite(point.value),
                    not_finite=not_finite(point.value),
                )
                for point in one.points
            ],
        )
        for one in page.series
    ]
    return metrics.TrialMetrics(trial=page.trial_id, series=series)


def render_summaries(found: TrialSummaries) -> metrics.MetricSummaries:
    summaries = [
        metrics.MetricSummary(
            group=one.group,
            name=one.name,
            count=one.count,
            min=finite(one.min),
            max=finite(one.max),
            mean=finite(one.mean),
            last=finite(one.last),
            last_not_finite=not_finite(one.last),
            last_step=one.last_step,
        )
        for one in found.metrics
    ]
    return metrics.MetricSummaries(trial=found.trial_id, metrics=summaries)


def render_line(line: StoredLine, trial: UUID, trial_number: int, cursor: str) -> logs.LogLine:
    return logs.LogLine(
        cursor=cursor,
        trial=trial,
        trial_number=trial_number,
        run=line.run_number,
        rank=line.rank,
        stream=line.stream,
        level=line.level,
        time=to_time(line.time_ms),
        text=line.text,
    )


def render_checkpoint(view: CheckpointView) -> checkpoints.Checkpoint:
    return checkpoints.Checkpoint(
        id=view.checkpoint_id,
        trial=view.trial_id,
        experiment=view.experiment_id,
        run=view.run_number,
        step=view.step,
        state=checkpoints.CheckpointState(view.state),
        size_bytes=view.size_bytes,
        files=len(view.files),
        metrics=finite_only(view.metrics),
        not_finite=not_finite_only(view.metrics),
        metadata=view.metadata,
        reason=view.reason,
        created_at=view.created_at,
        verified_at=view.verified_at,
    )


def render_checkpoint_whole(view: CheckpointView) -> checkpoints.Checkpoint:
    """With its files."""
    files = [checkpoints.CheckpointFile.model_validate(file, from_attributes=True) for file in view.files]
    return render_checkpoint(view).model_copy(update={"manifest": files})


def render_download(found: FileLinks) -> checkpoints.Download:
    files = [
        checkpoints.FileDownload(path=file.path, size_bytes=file.size_bytes, sha256=file.sha256, url=file.url)
        for file in found.files
    ]
    return checkpoints.Download(checkpoint=found.checkpoint_id, step=found.step, files=files)


def render_event(row: Row, cursor: str) -> events.Event:
    return events.Event(
        id=cursor,
        time=row.at,
        kind=events.EventKind(row.kind),
        change=row.change,
        entity=row.entity,
        experiment=row.experiment,
        version=row.version,
        resource=row.resource,
    )


def render_machine_event(row: Row, cursor: str) -> events.MachineEvent:
    return events.MachineEvent(
        id=cursor,
        time=row.at,
        kind=events.MachineEventKind(row.kind),
        change=row.change,
        pool=row.resource["pool"],
        version=row.version,
        resource=row.resource,
    )


def finite(value: float) -> float | None:
    """None for NaN and infinities, which JSON has no word for."""
    return value if math.isfinite(value) else None


def not_finite(value: float) -> metrics.NotFinite | None:
    """What stands beside that None."""
    if math.isnan(value):
        return metrics.NotFinite.NAN
    if math.isinf(value):
        return metrics.NotFinite.INFINITY if value > 0 else metrics.NotFinite.NEGATIVE_INFINITY
    return None


def finite_only(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def not_finite_only(values: Mapping[str, float]) -> dict[str, metrics.NotFinite]:
    """What stands beside those."""
    return {name: word for name, value in values.items() if (word := not_finite(value))}


def to_time(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def _measured(validated: Any) -> trials.Measured | None:
    if not validated:
        return None
    return trials.Measured(
        step=validated.step,
        value=finite(validated.value),
        not_finite=not_finite(validated.value),
        others=finite_only(validated.others),
        others_not_finite=not_finite_only(validated.others),
    )


def _least_slots(config: dict[str, Any]) -> int | None:
    """Of a trial that is elastic."""
    asked = config["resources"]["slots_per_trial"]
    return asked["min"] if isinstance(asked, dict) else None


def _slot_part(config: dict[str, Any]) -> float | None:
    """Of a trial that shares a slot."""
    asked = config["resources"]["slots_per_trial"]
    return asked if isinstance(asked, float) and not asked.is_integer() else None
