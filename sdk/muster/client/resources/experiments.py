"""Experiments: create, list, follow and control them. A reference is a number or an id.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.experiments` has the other methods.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed, streamed
from muster.client.handwritten.experiments import HandwrittenExperiments
from muster.client.http.fields import json_body, query_params, text, texts
from muster.client.http.paging import Items, follow, pages
from muster.client.http.transport import Reference, segment
from muster.client.models import JsonObject


class Experiments(HandwrittenExperiments):
    """Experiments: create, list, follow and control them. A reference is a number or an id."""

    def fork(
        self,
        experiment: Reference,
        overrides: JsonObject | None = None,
        *,
        name: str | None = None,
        labels: Sequence[str] = (),
    ) -> models.ExperimentDetail:
        """Create an experiment with the code of another one and a changed config.

        Args:
            overrides: Merged into the config (JSON merge patch, RFC 7396).
        """
        return self._transport.post(
            models.ExperimentDetail,
            f"/v1/experiments/{segment(experiment)}/fork",
            json_body(overrides=overrides, name=name, labels=labels),
        )

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
        """List the tenant's experiments, newest first by default.

        Args:
            states: Any of submitted, active, paused, stopping, completed, cancelled, error or rejected.
            archived: True lists archived experiments instead.
            hyperparameters: True includes the hyperparameters of each best trial.
            filter: An expression over `number`, `name`, `description`, `workspace`, `project`, `labels`, `owner`,
                `state`, `progress`, `searcher`, `metric`, `best.value`, `trials.running`, `trials.error`, `priority`,
                `code_sha256`, `forked_from`, `final`, `created_at`, `started_at`, `ended_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.ExperimentPage,
            "/v1/experiments",
            query_params(
                state=states,
                label=labels,
                name_contains=name_contains,
                archived=archived,
                hyperparameters=hyperparameters,
                filter=filter,
                sort=sort,
            ),
        )

    def get(self, experiment: Reference) -> models.ExperimentDetail:
        """Show one experiment with its config."""
        return self._transport.get(models.ExperimentDetail, f"/v1/experiments/{segment(experiment)}")

    def journal(self, experiment: Reference) -> Items[models.JournalEntry]:
        """List the decisions of an experiment's search, oldest first."""
        return pages(self._transport, models.JournalPage, f"/v1/experiments/{segment(experiment)}/journal")

    def replay(self, experiment: Reference) -> models.Replay:
        """Replay an experiment's search from its journal and report the first decision that differs."""
        return self._transport.get(models.Replay, f"/v1/experiments/{segment(experiment)}/replay")

    def pause(self, experiment: Reference) -> models.Experiment:
        """Pause an experiment: its trials save and release their slots."""
        return self._transport.post(models.Experiment, f"/v1/experiments/{segment(experiment)}/pause")

    def resume(self, experiment: Reference) -> models.Experiment:
        """Resume a paused experiment."""
        return self._transport.post(models.Experiment, f"/v1/experiments/{segment(experiment)}/resume")

    def cancel(self, experiment: Reference) -> models.Experiment:
        """Cancel an experiment: its trials are asked to save and stop."""
        return self._transport.post(models.Experiment, f"/v1/experiments/{segment(experiment)}/cancel")

    def kill(self, experiment: Reference) -> models.Experiment:
        """Kill an experiment: its trials end at once."""
        return self._transport.post(models.Experiment, f"/v1/experiments/{segment(experiment)}/kill")

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
        pool: Reference | None = None,
    ) -> models.ExperimentDetail:
        """Edit an experiment's priority, weight, pool, or limits of slots and trials. Omitted fields stay unchanged.

        Args:
            priority: 1 (first) to 99 (last).
            weight: Fair-share weight, above 0.
            max_slots: Limit of the slots that its trials use together.
            no_max_slots: True removes `max_slots`.
            max_trials: Limit of the trials that run at the same time, however many the search has open.
            no_max_trials: True removes `max_trials`.
            pool: Pool of its next runs; current runs are asked to save and move there.
        """
        return self._transport.patch(
            models.ExperimentDetail,
            f"/v1/experiments/{segment(experiment)}",
            json_body(
                priority=priority,
                weight=weight,
                max_slots=max_slots,
                no_max_slots=no_max_slots or None,
                max_trials=max_trials,
                no_max_trials=no_max_trials or None,
                pool=text(pool),
            ),
        )

    def edit_search(
        self,
        experiment: Reference,
        *,
        max_trials: int | None = None,
        max_concurrent_trials: int | None = None,
        slot_hours: float | None = None,
        no_slot_hours: bool = False,
        cost: float | None = None,
        no_cost: bool = False,
        deadline: datetime | None = None,
        no_deadline: bool = False,
    ) -> models.ExperimentDetail:
        """Edit the number of trials, the concurrency and the budget of a running search. Omitted fields stay unchanged.

        Args:
            max_trials: Total number of trials; at least as many as it has created.
            max_concurrent_trials: Limit of the trials that are open at the same time; trials that are already open
                stay.
            slot_hours: New budget in slot-hours.
            no_slot_hours: True removes `slot_hours`.
            cost: New budget in the currency of the pools' prices.
            no_cost: True removes `cost`.
            deadline: Time by which it must have ended.
            no_deadline: True removes `deadline`.
        """
        return self._transport.patch(
            models.ExperimentDetail,
            f"/v1/experiments/{segment(experiment)}/search",
            json_body(
                max_trials=max_trials,
                max_concurrent_trials=max_concurrent_trials,
                slot_hours=slot_hours,
                no_slot_hours=no_slot_hours or None,
                cost=cost,
                no_cost=no_cost or None,
                deadline=deadline,
                no_deadline=no_deadline or None,
            ),
        )

    def finish(self, experiment: Reference) -> models.Experiment:
        """Complete a search early with the best result so far: its trials are asked to save and stop."""
        return self._transport.post(models.Experiment, f"/v1/experiments/{segment(experiment)}/finish")

    def archive(self, experiment: Reference) -> models.Experiment:
        """Archive an ended experiment: lists hide it by default."""
        return self._transport.post(models.Experiment, f"/v1/experiments/{segment(experiment)}/archive")

    def unarchive(self, experiment: Reference) -> models.Experiment:
        """Unarchive an experiment: lists show it again."""
        return self._transport.post(models.Experiment, f"/v1/experiments/{segment(experiment)}/unarchive")

    def groups(self, by: str, *, archived: bool = False, filter: str = "") -> Items[models.ExperimentGroup]:
        """List the distinct values of one field among the matching experiments, with counts.

        Args:
            by: One of owner, workspace, project, state, searcher, metric or labels.
            archived: True counts archived experiments instead.
            filter: An expression over `number`, `name`, `description`, `workspace`, `project`, `labels`, `owner`,
                `state`, `progress`, `searcher`, `metric`, `best.value`, `trials.running`, `trials.error`, `priority`,
                `code_sha256`, `forked_from`, `final`, `created_at`, `started_at`, `ended_at`.
        """
        return pages(
            self._transport,
            models.ExperimentGroupPage,
            "/v1/experiment-groups",
            query_params(by=by, archived=archived, filter=filter),
        )

    def delete(self, experiment: Reference, *, force: bool = False) -> models.Deletion:
        """Delete an experiment with its trials, metrics, logs and checkpoints. Running trials are killed first.

        Args:
            force: Also delete model versions that are registered from it.
        """
        return self._transport.delete(
            models.Deletion, f"/v1/experiments/{segment(experiment)}", query_params(force=force)
        )

    def front(self, experiment: Reference) -> Items[models.FrontTrial]:
        """List the Pareto-optimal trials of an experiment, among those within the limits of its search."""
        return pages(self._transport, models.FrontPage, f"/v1/experiments/{segment(experiment)}/front")

    def metrics(
        self,
        experiment: Reference,
        *,
        trials: Sequence[Reference] = (),
        names: Sequence[str] = (),
        group: str | None = None,
        max_points: int = 200,
        first_step: int | None = None,
        last_step: int | None = None,
    ) -> models.ExperimentMetrics:
        """Get the metrics of several trials of an experiment.

        Args:
            first_step: Return only the steps from here to `last_step`, thinned separately: a narrower range shows
                more detail.
        """
        return self._transport.get(
            models.ExperimentMetrics,
            f"/v1/experiments/{segment(experiment)}/metrics",
            query_params(
                trial=texts(trials),
                name=names,
                group=group,
                max_points=max_points,
                first_step=first_step,
                last_step=last_step,
            ),
        )

    def follow_metrics(
        self,
        experiment: Reference,
        *,
        names: Sequence[str] = (),
        group: str | None = None,
        after: str | None = None,
        from_now: bool = False,
    ) -> Iterator[models.ReportedValue]:
        """Stream the metrics that the trials of an experiment report, in order within each trial, until the experiment ends.

        Args:
            from_now: Without `after`: only what comes from now on.
        """
        return follow(
            self._transport,
            models.ReportedValue,
            f"/v1/experiments/{segment(experiment)}/metrics/follow",
            query_params(name=names, group=group, from_now=from_now),
            after,
        )

    def logs(
        self,
        experiment: Reference,
        *,
        rank: int | None = None,
        contains: str | None = None,
        stream: str | None = None,
        pattern: str | None = None,
        level: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tail: int | None = None,
    ) -> Items[models.LogLine]:
        """List log lines of an experiment's trials, trial by trial.

        Args:
            stream: One of stdout, stderr or platform.
            pattern: Regular expression (RE2 syntax) to match anywhere in the line.
            level: Minimum level. Lines without a level are omitted. One of debug, info, warning or error.
            since: Start of the period, inclusive, by the time at which the worker read the line.
            until: End of the period, exclusive, by the time at which the worker read the line.
        """
        return pages(
            self._transport,
            models.LogPage,
            f"/v1/experiments/{segment(experiment)}/logs",
            query_params(
                rank=rank,
                contains=contains,
                stream=stream,
                pattern=pattern,
                level=level,
                since=since,
                until=until,
                tail=tail,
            ),
        )

    def follow_logs(
        self,
        experiment: Reference,
        *,
        rank: int | None = None,
        contains: str | None = None,
        stream: str | None = None,
        pattern: str | None = None,
        level: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tail: int | None = None,
        after: str | None = None,
    ) -> Iterator[models.LogLine]:
        """Stream the logs of an experiment's trials until the experiment ends.

        Args:
            stream: One of stdout, stderr or platform.
            pattern: Regular expression (RE2 syntax) to match anywhere in the line.
            level: Minimum level. Lines without a level are omitted. One of debug, info, warning or error.
            since: Start of the period, inclusive, by the time at which the worker read the line.
            until: End of the period, exclusive, by the time at which the worker read the line.
        """
        return follow(
            self._transport,
            models.LogLine,
            f"/v1/experiments/{segment(experiment)}/logs/follow",
            query_params(
                rank=rank,
                contains=contains,
                stream=stream,
                pattern=pattern,
                level=level,
                since=since,
                until=until,
                tail=tail,
            ),
            after,
        )

    def code(self, experiment: Reference) -> models.ExperimentCode:
        """List the files of an experiment's code, with sizes and hashes."""
        return self._transport.get(models.ExperimentCode, f"/v1/experiments/{segment(experiment)}/code")

    def code_file(self, experiment: Reference, path: str) -> models.CodeFileText:
        """Show one text file of an experiment's code."""
        return self._transport.get(
            models.CodeFileText, f"/v1/experiments/{segment(experiment)}/code/file", query_params(path=path)
        )

    def events(
        self, experiment: Reference | None = None, *, after: str | None = None, kinds: Sequence[str] = ()
    ) -> Iterator[models.Event]:
        """Stream every change of the tenant's entities. Resume with the last event's id.

        Args:
            kinds: Kinds to stream; by default experiment, trial, run, checkpoint, model and version. Other kinds must
                be named. Any of experiment, trial, run, checkpoint, model, version, budget, request or labels.
        """
        return follow(
            self._transport,
            models.Event,
            "/v1/events",
            query_params(experiment=text(experiment), kind=kinds),
            after,
        )


class AsyncExperiments(AsyncAPIResource[Experiments]):
    """`Experiments`, awaited."""

    put_code = awaited(Experiments.put_code)
    create = awaited(Experiments.create)
    plan = awaited(Experiments.plan)
    wait = awaited(Experiments.wait)
    fork = awaited(Experiments.fork)
    list = listed(Experiments.list)
    get = awaited(Experiments.get)
    journal = listed(Experiments.journal)
    replay = awaited(Experiments.replay)
    pause = awaited(Experiments.pause)
    resume = awaited(Experiments.resume)
    cancel = awaited(Experiments.cancel)
    kill = awaited(Experiments.kill)
    edit = awaited(Experiments.edit)
    edit_search = awaited(Experiments.edit_search)
    finish = awaited(Experiments.finish)
    archive = awaited(Experiments.archive)
    unarchive = awaited(Experiments.unarchive)
    groups = listed(Experiments.groups)
    delete = awaited(Experiments.delete)
    front = listed(Experiments.front)
    metrics = awaited(Experiments.metrics)
    follow_metrics = streamed(Experiments.follow_metrics)
    logs = listed(Experiments.logs)
    follow_logs = streamed(Experiments.follow_logs)
    code = awaited(Experiments.code)
    code_file = awaited(Experiments.code_file)
    events = streamed(Experiments.events)
