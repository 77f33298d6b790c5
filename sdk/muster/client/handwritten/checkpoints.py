"""Checkpoints: select the best one, download files, and report the progress of a verification."""

from collections.abc import Sequence
from pathlib import Path

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.files.download import OnBytes, fetch_into
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment
from muster.errors import Rejected


class HandwrittenCheckpoints(APIResource):
    """Methods of `client.checkpoints` that are not generated."""

    def best_of(self, experiment: models.Experiment) -> models.Checkpoint:
        """Return the saved checkpoint of the best validation, or else the best trial's newest.

        Raises:
            Rejected: No trial was validated, or the best trial has no saved checkpoint.
        """
        best = experiment.best
        saved = [one for one in self._of_trial(best.trial) if one.state == "saved"] if best else []
        if best is None or not saved:
            raise Rejected(
                "no_checkpoint",
                f"experiment {experiment.number} has no saved checkpoint of a validated trial",
                hint="wait for the first one, or choose another with `muster trial checkpoints`",
            )
        return next((one for one in saved if one.step == best.step), max(saved, key=lambda one: one.step))

    def download(
        self,
        checkpoint: Reference,
        directory: Path,
        on_bytes: OnBytes | None = None,
        *,
        only: Sequence[str] = (),
    ) -> models.Download:
        """Download a checkpoint's files into `directory` and verify size and SHA-256; all files or none.

        Args:
            checkpoint: Id of the checkpoint.
            directory: Target directory, which must be empty or not exist. Repeating an interrupted download resumes it.
            on_bytes: Progress callback: (bytes added, total bytes).
            only: Patterns of files, such as `model.pt`, `model/*.bin`, `**/*.json`, or the name of a folder for all its files.
        """
        path = f"/v1/checkpoints/{segment(checkpoint)}/files"
        return fetch_into(directory, lambda: self._transport.get(models.Download, path), on_bytes, only)

    def verifying(self, experiment: Reference) -> models.VerificationAsked:
        """Return how much of the last `verify_all` is still to be read."""
        path = f"/v1/experiments/{segment(experiment)}/checkpoints/verify"
        return self._transport.post(models.VerificationAsked, path, {"waiting": True})

    def _of_trial(self, trial: Reference) -> Items[models.Checkpoint]:
        return pages(self._transport, models.CheckpointPage, f"/v1/trials/{segment(trial)}/checkpoints")
