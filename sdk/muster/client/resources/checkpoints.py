"""Checkpoints of trials.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.checkpoints` has the other methods.
"""

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.handwritten.checkpoints import HandwrittenCheckpoints
from muster.client.http.fields import json_body, query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment
from muster.client.models import JsonObject


class Checkpoints(HandwrittenCheckpoints):
    """Checkpoints of trials."""

    def of_trial(self, trial: Reference, *, filter: str = "", sort: str = "") -> Items[models.Checkpoint]:
        """List a trial's checkpoints, oldest first by default.

        Args:
            filter: An expression over `id`, `trial`, `run`, `step`, `state`, `size_bytes`, `files`, `reason`,
                `created_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.CheckpointPage,
            f"/v1/trials/{segment(trial)}/checkpoints",
            query_params(filter=filter, sort=sort),
        )

    def of_experiment(
        self, experiment: Reference, *, filter: str = "", sort: str = ""
    ) -> Items[models.Checkpoint]:
        """List the checkpoints of all trials of an experiment, oldest first by default.

        Args:
            filter: An expression over `id`, `trial`, `run`, `step`, `state`, `size_bytes`, `files`, `reason`,
                `created_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.CheckpointPage,
            f"/v1/experiments/{segment(experiment)}/checkpoints",
            query_params(filter=filter, sort=sort),
        )

    def get(self, checkpoint: Reference) -> models.Checkpoint:
        """Show one checkpoint with its files."""
        return self._transport.get(models.Checkpoint, f"/v1/checkpoints/{segment(checkpoint)}")

    def edit(self, checkpoint: Reference, metadata: JsonObject | None = None) -> models.Checkpoint:
        """Edit the metadata of a checkpoint, key by key."""
        return self._transport.patch(
            models.Checkpoint, f"/v1/checkpoints/{segment(checkpoint)}", json_body(metadata=metadata)
        )

    def delete(self, checkpoint: Reference) -> models.Checkpoint:
        """Delete a checkpoint. Refused if it is registered as a model version or in use."""
        return self._transport.delete(models.Checkpoint, f"/v1/checkpoints/{segment(checkpoint)}")

    def verify(self, checkpoint: Reference) -> models.VerificationAsked:
        """Start to verify a checkpoint: its files are read from the store and compared with their hashes."""
        return self._transport.post(models.VerificationAsked, f"/v1/checkpoints/{segment(checkpoint)}/verify")

    def verify_all(self, experiment: Reference, *, waiting: bool = False) -> models.VerificationAsked:
        """Start to verify all saved checkpoints of an experiment.

        Args:
            waiting: True only reports how much of the requested verification is still outstanding; it starts nothing.
        """
        return self._transport.post(
            models.VerificationAsked,
            f"/v1/experiments/{segment(experiment)}/checkpoints/verify",
            json_body(waiting=waiting),
        )

    def collect(
        self,
        experiment: Reference,
        *,
        dry_run: bool = False,
        save_experiment_best: int | None = None,
        save_trial_best: int | None = None,
        save_trial_latest: int | None = None,
    ) -> models.Collected:
        """Delete the checkpoints of an experiment that its retention policy does not keep, even while it runs. A dry run only lists them."""
        return self._transport.post(
            models.Collected,
            f"/v1/experiments/{segment(experiment)}/checkpoints/collect",
            json_body(
                dry_run=dry_run,
                save_experiment_best=save_experiment_best,
                save_trial_best=save_trial_best,
                save_trial_latest=save_trial_latest,
            ),
        )

    def storage(self) -> models.Storage:
        """Show how many bytes the caller's tenant and its workspaces store, and their limits. Covers only the workspaces that the caller can see."""
        return self._transport.get(models.Storage, "/v1/storage")


class AsyncCheckpoints(AsyncAPIResource[Checkpoints]):
    """`Checkpoints`, awaited."""

    best_of = awaited(Checkpoints.best_of)
    download = awaited(Checkpoints.download)
    verifying = awaited(Checkpoints.verifying)
    of_trial = listed(Checkpoints.of_trial)
    of_experiment = listed(Checkpoints.of_experiment)
    get = awaited(Checkpoints.get)
    edit = awaited(Checkpoints.edit)
    delete = awaited(Checkpoints.delete)
    verify = awaited(Checkpoints.verify)
    verify_all = awaited(Checkpoints.verify_all)
    collect = awaited(Checkpoints.collect)
    storage = awaited(Checkpoints.storage)
