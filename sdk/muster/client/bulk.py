"""One action on many experiments, through `client.bulk`."""

from collections.abc import Sequence

from pydantic import JsonValue

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited
from muster.client.transport import Query, Reference, Transport

_PATH = "/v1/bulk/experiments"


class Bulk:
    """Experiments by the dozen: named, or chosen by a filter after a look at what it meets."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def preview(self, filter: str, *, archived: bool = False) -> models.ExperimentSelection:
        """Return how many experiments a filter meets, some of them, and the `selection` by which these can be acted on."""
        query: Query = {"filter": filter, "archived": archived}
        return self._transport.get(models.ExperimentSelection, _PATH, query)

    def act(self, action: str, experiments: Sequence[Reference] = ()) -> models.BulkOutcome:
        """Pause, resume, cancel, kill, finish, archive or unarchive the experiments that are named, all of which must be there."""
        return self._act(action, experiments=[str(experiment) for experiment in experiments])

    def act_on(self, action: str, selection: models.ExperimentSelection) -> models.BulkOutcome:
        """Do the same with what was looked at.

        Raises:
            Conflict: The filter meets others by now: look again.
        """
        return self._act(action, selection=selection.selection)

    def label(
        self, experiments: Sequence[Reference], *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> Sequence[models.Experiment]:
        """Give labels to the experiments that are named and take others from them; return them as they are now, by number.

        All of them must be there, or nothing is changed.
        """
        named = [str(experiment) for experiment in experiments]
        body: dict[str, JsonValue] = {"experiments": [*named], "add": [*add], "remove": [*remove]}
        return self._transport.post(models.LabelledExperiments, f"{_PATH}/labels", body).items

    def _act(self, action: str, **which: JsonValue) -> models.BulkOutcome:
        return self._transport.post(models.BulkOutcome, _PATH, {"action": action, **which})


class AsyncBulk(AsyncNoun[Bulk]):
    """`Bulk`, awaited."""

    preview = awaited(Bulk.preview)
    act = awaited(Bulk.act)
    act_on = awaited(Bulk.act_on)
    label = awaited(Bulk.label)
