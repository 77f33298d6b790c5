"""Bulk actions on a selection of experiments."""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import json_body


class HandwrittenBulk(APIResource):
    """Methods of `client.bulk` that are not generated."""

    def act_on(self, action: str, selection: models.ExperimentSelection) -> models.BulkOutcome:
        """Pause, resume, cancel, kill, finish, archive or unarchive the experiments of a `preview`.

        Raises:
            Conflict: The filter matches other experiments now: call `preview` again.
        """
        body = json_body(action=action, selection=selection.selection)
        return self._transport.post(models.BulkOutcome, "/v1/bulk/experiments", body)
