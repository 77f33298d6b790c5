"""Checkpoints: selects the best one, downloads files, and reports the progress of a verification."""

from collections.abc import Sequence
from pathlib import Path

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.files.download import OnBytes, fetch_into
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment
from muster.errors import Rejected


class HandwrittenCheckpoints(APIResource):
    """The methods of `client.checkpoints` that are not generated."""

    def best_of(self, experiment: models.Experiment) -> models.Checkpoint:
        """Return the saved checkpoint of the best validation; failing that, the best trial's newest.

        Raises:
            Rejected: No trial was validated, or none of the best trial's checkpoints is saved.
        """
        best = experiment.best
        saved = [one for one in self._of_trial(best.trial) if one.state == "saved"] if best else []
        if best is None or not saved:
            raise Rejected(
                "no_checkpoint",
                f"experiment {experiment.number} has no saved checkpoint of a validated trial",
                hint="wait for one, or choose one with `muster trial checkpoints`",
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
        """Fetch a checkpoint's files into `directory`, checked by size and SHA-256, all or none.

        Args:
            only: Patterns of the files that are wanted, as `model.pt`, `model/*.bin`, `**/*.json`, or a folder's name for
                all that is in it. The same download again goes on where the last one broke off.
        """
        path = f"/v1/checkpoints/{segment(checkpoint)}/files"
        return fetch_into(directory, lambda: self._transport.get(models.Download, path), on_bytes, only)

    def verifying(self, experiment: Reference) -> models.VerificationAsked:
        """Return how much of what `verify_all` asked for is still to be read."""
        path = f"/v1/experiments/{segment(experiment)}/checkpoints/verify"
        return self._transport.post(models.VerificationAsked, path, {"waiting": True})

    def _of_trial(self, trial: Reference) -> Items[models.Checkpoint]:
        return pages(self._transport, models.CheckpointPage, f"/v1/trials/{segment(trial)}/checkpoints")
