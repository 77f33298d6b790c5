"""Checkpoints, and their way onto this machine's disk."""

from pathlib import Path

from muster.client import models
from muster.client.download import OnBytes, fetch_into
from muster.client.paging import Items, pages
from muster.client.transport import Reference, Transport, segment
from muster.errors import Rejected


class Checkpoints:
    """Saved states of trials."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def of_trial(self, trial: Reference) -> Items[models.Checkpoint]:
        """Return a trial's checkpoints, oldest first."""
        return pages(self._transport, models.CheckpointPage, f"/v1/trials/{segment(trial)}/checkpoints")

    def of_experiment(self, experiment: Reference) -> Items[models.Checkpoint]:
        """Return the checkpoints of all trials of an experiment, oldest first."""
        path = f"/v1/experiments/{segment(experiment)}/checkpoints"
        return pages(self._transport, models.CheckpointPage, path)

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
        self, checkpoint: Reference, directory: Path, on_bytes: OnBytes | None = None
    ) -> models.Download:
        """Fetch a checkpoint's files into `directory`, checked by size and SHA-256, all or none."""
        path = f"/v1/checkpoints/{segment(checkpoint)}/files"
        return fetch_into(directory, lambda: self._transport.get(models.Download, path), on_bytes)
