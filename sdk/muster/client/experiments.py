"""Experiments: steer, wait for, and follow; what creates them is in `submissions`. A reference is a number or an id."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Unpack

from pydantic import JsonValue

from muster.client import models
from muster.client.models import JsonObject
from muster.client.paging import (
    Items,
    LogFilter,
    ReportFilter,
    follow,
    log_query,
    ordered,
    pages,
    part,
    report_query,
)
from muster.client.submissions import Submissions
from muster.client.transport import Query, Reference, segment
from muster.client.waiting import until_final


class Experiments(Submissions):
    """The experiments of the caller's tenant."""

    def list(
        self,
        *,
        states: Sequence[str] = (),
        labels: Sequence[str] = (),
        name_contains: str | None = None,
        archived: bool = False,
        hyperparameters: bool = False,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.Experiment]:
        """Return the experiments, newest first or as they are sorted.

        Args:
            hyperparameters: Each tells those of its best trial, too.
            filter: Such as `state = active and best.value < 0.3`, by any field that an experiment shows.
            sort: Up to four fields separated by commas, the greatest first behind `-`: `-created_at,name`.
        """
        query: Query = {
            "state": states,
            "label": labels,
            "name_contains": name_contains,
            "archived": archived,
            "hyperparameters": hyperparameters,
            **ordered(filter, sort),
        }
        return pages(self._transport, models.ExperimentPage, "/v1/experiments", query)

    def get(self, experiment: Reference) -> models.ExperimentDetail:
        """Return one experiment with its config."""
        return self._transport.get(models.ExperimentDetail, _path(experiment))

    def code(self, experiment: Reference) -> models.ExperimentCode:
        """Return the files of an experiment's code, by path, with sizes and hashes.

        Raises:
            NotFound: It runs without code of its own.
        """
        return self._transport.get(models.ExperimentCode, f"{_path(experiment)}/code")

    def code_file(self, experiment: Reference, path: str) -> models.CodeFileText:
        """Return one file of an experiment's code; `text` is None where it is no text, and its first 192 KiB where it is longer.

        Raises:
            NotFound: No file of the code has this path.
        """
        return self._transport.get(models.CodeFileText, f"{_path(experiment)}/code/file", {"path": path})

    def journal(self, experiment: Reference) -> Items[models.JournalEntry]:
        """Return the decisions of the search, oldest first."""
        return pages(self._transport, models.JournalPage, f"{_path(experiment)}/journal")

    def replay(self, experiment: Reference) -> models.Replay:
        """Have the search decided again from its journal; `difference` is None where the first `checked` decisions are the same."""
        return self._transport.get(models.Replay, f"{_path(experiment)}/replay")

    def front(self, experiment: Reference) -> Items[models.FrontTrial]:
        """Return the trials that none other beats in every metric, best by the first metric first; those within the limits only."""
        return pages(self._transport, models.FrontPage, f"{_path(experiment)}/front")

    def pause(self, experiment: Reference) -> models.Experiment:
        """Ask the trials to save and give their slots back."""
        return self._tell(experiment, "pause")

    def resume(self, experiment: Reference) -> models.Experiment:
        """Let a paused experiment go on."""
        return self._tell(experiment, "resume")

    def cancel(self, experiment: Reference) -> models.Experiment:
        """End an experiment; its trials may save a last checkpoint."""
        return self._tell(experiment, "cancel")

    def kill(self, experiment: Reference) -> models.Experiment:
        """End an experiment at once, without a last checkpoint."""
        return self._tell(experiment, "kill")

    def edit(
        self,
        experiment: Reference,
        *,
        priority: int | None = None,
        weight: float | None = None,
        max_slots: int | None = None,
        no_max_slots: bool = False,
        max_trials: int | None = None,
        no_max_trials: bool = False,
        pool: str | None = None,
    ) -> models.ExperimentDetail:
        """Change an experiment's part in the queue; what is None stays, and `no_…` takes a cap away."""
        given: JsonObject = {"priority": priority, "weight": weight}
        given |= {"max_slots": max_slots, "max_trials": max_trials, "pool": pool}
        body: dict[str, JsonValue] = {name: value for name, value in given.items() if value is not None}
        lifted = {"no_max_slots": no_max_slots, "no_max_trials": no_max_trials}
        body |= {name: True for name, is_lifted in lifted.items() if is_lifted}
        return self._transport.patch(models.ExperimentDetail, _path(experiment), body)

    def edit_search(
        self,
        experiment: Reference,
        *,
        max_trials: int | None = None,
        max_concurrent_trials: int | None = None,
        slot_hours: float | None = None,
        cost: float | None = None,
        deadline: datetime | None = None,
        lifted: Sequence[str] = (),
    ) -> models.ExperimentDetail:
        """Change how many trials a running search makes, how many at once, and its budget; what is None stays.

        `lifted`: limits of the budget that are taken away: `slot_hours`, `cost`, `deadline`. A deadline has a zone.

        Raises:
            Rejected: Its method has no such number, or more trials are made already.
            Conflict: It is over.
        """
        given: JsonObject = {"max_trials": max_trials, "max_concurrent_trials": max_concurrent_trials}
        until = None if deadline is None else deadline.isoformat()
        given |= {"slot_hours": slot_hours, "cost": cost, "deadline": until}
        body: JsonObject = {name: value for name, value in given.items() if value is not None}
        body |= {f"no_{limit}": True for limit in lifted}
        return self._transport.patch(models.ExperimentDetail, f"{_path(experiment)}/search", body)

    def finish(self, experiment: Reference) -> models.Experiment:
        """End a search early, as completed, with the best so far; its trials may save a last checkpoint."""
        return self._tell(experiment, "finish")

    def archive(self, experiment: Reference) -> models.Experiment:
        """Hide an ended experiment from lists."""
        return self._tell(experiment, "archive")

    def unarchive(self, experiment: Reference) -> models.Experiment:
        """Show an archived experiment in lists again."""
        return self._tell(experiment, "unarchive")

    def delete(self, experiment: Reference, *, force: bool = False) -> models.Deletion:
        """Delete an experiment with all that came of it; what trains is ended first. `force`: registered versions go too, else they keep it.

        Raises:
            Conflict: Versions are registered of it, or trials elsewhere start from its checkpoints.
        """
        return self._transport.delete(models.Deletion, _path(experiment), {"force": force})

    def wait(
        self,
        experiment: Reference,
        *,
        timeout_s: float | None = None,
        on_look: Callable[[models.ExperimentDetail], None] | None = None,
    ) -> models.ExperimentDetail:
        """Return the experiment once it is final; `on_look` is told at every look, at least once a second.

        A platform that is away for less than a minute is waited for.

        Raises:
            Transient: It is not final after `timeout_s`, or the platform stays away.
        """
        return until_final(lambda: self.get(experiment), timeout_s, on_look)

    def metrics(
        self,
        experiment: Reference,
        *,
        trials: Sequence[Reference] = (),
        names: Sequence[str] = (),
        group: str | None = None,
        max_points: int = 200,
        steps: tuple[int | None, int | None] = (None, None),
    ) -> models.ExperimentMetrics:
        """Return the metrics of the trials given, else of the 50 best; of the steps from the first to the last that are given."""
        chosen = [str(trial) for trial in trials]
        query = {"trial": chosen, "name": names, "group": group, "max_points": max_points, **part(steps)}
        return self._transport.get(models.ExperimentMetrics, f"{_path(experiment)}/metrics", query)

    def follow_metrics(
        self, experiment: Reference, **wanted: Unpack[ReportFilter]
    ) -> Iterator[models.ReportedValue]:
        """Yield what all trials of an experiment report as it comes, those that begin meanwhile too, without a gap over broken connections, until it has ended."""
        path, query = f"{_path(experiment)}/metrics/follow", report_query(wanted)
        return follow(self._transport, models.ReportedValue, path, query, wanted.get("after"))

    def logs(self, experiment: Reference, **wanted: Unpack[LogFilter]) -> Items[models.LogLine]:
        """Return the logs so far, trial by trial, each oldest line first."""
        query = log_query(wanted, wanted.get("tail"))
        return pages(self._transport, models.LogPage, f"{_path(experiment)}/logs", query)

    def follow_logs(self, experiment: Reference, **wanted: Unpack[LogFilter]) -> Iterator[models.LogLine]:
        """Yield log lines as they come, without a gap over broken connections, until the experiment has ended."""
        path, query = f"{_path(experiment)}/logs/follow", log_query(wanted, wanted.get("tail"))
        return follow(self._transport, models.LogLine, path, query)

    def events(
        self, experiment: Reference | None = None, *, kinds: Sequence[str] = (), after: str | None = None
    ) -> Iterator[models.Event]:
        """Yield every change from `after` (an event's id; default: now) on, in order; it does not end by itself.

        Args:
            kinds: by default experiment, trial, run, checkpoint, model and version; budget and request are told to who names them.
        """
        query = {"experiment": None if experiment is None else str(experiment), "kind": kinds}
        return follow(self._transport, models.Event, "/v1/events", query, after=after)

    def _tell(self, experiment: Reference, verb: str) -> models.Experiment:
        return self._transport.post(models.Experiment, f"{_path(experiment)}/{verb}", {})


def _path(experiment: Reference) -> str:
    return f"/v1/experiments/{segment(experiment)}"
