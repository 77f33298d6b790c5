"""Checkpoints: listed, fetched onto this machine's disk, verified, labelled, deleted and collected."""

from collections.abc import Sequence
from pathlib import Path

from muster.client import models
from muster.client.download import OnBytes, fetch_into
from muster.client.models import JsonObject
from muster.client.paging import Items, ordered, pages
from muster.client.transport import Reference, Transport, segment
from muster.errors import Rejected


class Checkpoints:
    """Saved states of trials."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def of_trial(self, trial: Reference, *, filter: str = "", sort: str = "") -> Items[models.Checkpoint]:
        """Return a trial's checkpoints, oldest first or as they are sorted; `filter` as `state = saved and step > 1000`."""
        path = f"/v1/trials/{segment(trial)}/checkpoints"
        return pages(self._transport, models.CheckpointPage, path, ordered(filter, sort))

    def of_experiment(
        self, experiment: Reference, *, filter: str = "", sort: str = ""
    ) -> Items[models.Checkpoint]:
        """Return the checkpoints of all trials of an experiment, oldest first or as they are sorted; `filter` as of a trial's."""
        path = f"/v1/experiments/{segment(experiment)}/checkpoints"
        return pages(self._transport, models.CheckpointPage, path, ordered(filter, sort))

    def best_of(self, experiment: models.Experiment) -> models.Checkpoint:
        """Return the saved checkpoint of the best validation; failing that, the best trial's newest.

        Raises:
            Rejected: No trial was validated, or none of the best trial's checkpoints is saved.
        """
        best = experiment.best
        saved = [one for one in self.of_trial(best.trial) if one.state == "saved"] if best else []
        if best is None or not saved:
            raise Rejected(
                "no_checkpoint",
                f"experiment {experiment.number} has no saved checkpoint of a validated trial",
                hint="wait for one, or choose one with `muster trial checkpoints`",
            )
        return next((one for one in saved if one.step == best.step), max(saved, key=lambda one: one.step))

    def get(self, checkpoint: Reference) -> models.Checkpoint:
        """Return one checkpoint."""
        return self._transport.get(models.Checkpoint, f"/v1/checkpoints/{segment(checkpoint)}")

    def download(
        self,
        checkpoint: Reference,
        directory: Path,
        on_bytes: OnBytes | None = None,
        *,
        only: Sequence[str] = (),
    ) -> models.Download:
        """Fetch a checkpoint's files into `directory`, checked by size and SHA-256, all or none.

        Args:
            only: Patterns of the files that are wanted, as `model.pt`, `model/*.bin`, `**/*.json`, or a folder's name for
                all that is in it. The same download again goes on where the last one broke off.
        """
        path = f"/v1/checkpoints/{segment(checkpoint)}/files"
        return fetch_into(directory, lambda: self._transport.get(models.Download, path), on_bytes, only)

    def edit(self, checkpoint: Reference, metadata: JsonObject) -> models.Checkpoint:
        """Change what is said about a checkpoint: a key that is given replaces what was there, None takes it away."""
        body: JsonObject = {"metadata": metadata}
        return self._transport.patch(models.Checkpoint, f"/v1/checkpoints/{segment(checkpoint)}", body)

    def delete(self, checkpoint: Reference) -> models.Checkpoint:
        """Delete a checkpoint; refused with the reason where it is registered or in use."""
        return self._transport.delete(models.Checkpoint, f"/v1/checkpoints/{segment(checkpoint)}")

    def verify(self, checkpoint: Reference) -> models.VerificationAsked:
        """Have a checkpoint's files read in the store now; `verified_at` or the state `corrupt` tells the outcome."""
        path = f"/v1/checkpoints/{segment(checkpoint)}/verify"
        return self._transport.post(models.VerificationAsked, path)

    def verify_all(self, experiment: Reference) -> models.VerificationAsked:
        """As `verify`, for all saved checkpoints of an experiment."""
        path = f"/v1/experiments/{segment(experiment)}/checkpoints/verify"
        return self._transport.post(models.VerificationAsked, path)

    def verifying(self, experiment: Reference) -> models.VerificationAsked:
        """Return how much of what `verify_all` asked for is still to be read."""
        path = f"/v1/experiments/{segment(experiment)}/checkpoints/verify"
        return self._transport.post(models.VerificationAsked, path, {"waiting": True})

    def collect(
        self,
        experiment: Reference,
        *,
        dry_run: bool = False,
        save_experiment_best: int | None = None,
        save_trial_best: int | None = None,
        save_trial_latest: int | None = None,
    ) -> models.Collected:
        """Delete an experiment's checkpoints that its rule does not keep, also while it runs; never what is registered or in use.

        Counts that are given are the experiment's rule from now on. A dry run deletes nothing and tries them.
        """
        given = {
            "save_experiment_best": save_experiment_best,
            "save_trial_best": save_trial_best,
            "save_trial_latest": save_trial_latest,
        }
        body: JsonObject = {"dry_run": dry_run}
        body |= {name: count for name, count in given.items() if count is not None}
        path = f"/v1/experiments/{segment(experiment)}/checkpoints/collect"
        return self._transport.post(models.Collected, path, body)

    def storage(self) -> models.Storage:
        """Return how many bytes the tenant stores, each content once, and how many it may."""
        return self._transport.get(models.Storage, "/v1/storage")
