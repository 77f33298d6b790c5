"""Acting on what was looked at: many experiments, through `client.bulk`."""

from muster.client import models
from muster.client.http.fields import body_of
from muster.client.noun import Noun


class HandwrittenBulk(Noun):
    """What `act` and `preview` do together."""

    def act_on(self, action: str, selection: models.ExperimentSelection) -> models.BulkOutcome:
        """Pause, resume, cancel, kill, finish, archive or unarchive the experiments of a `preview`.

        Raises:
            Conflict: The filter meets others by now: look again.
        """
        body = body_of(action=action, selection=selection.selection)
        return self._transport.post(models.BulkOutcome, "/v1/bulk/experiments", body)
