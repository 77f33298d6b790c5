"""Experiments by the dozen: named, or chosen by a filter after a look at what it meets.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.bulk` has the other methods.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.handwritten.bulk import HandwrittenBulk
from muster.client.http.fields import json_body, query_params, texts
from muster.client.http.transport import Reference


class Bulk(HandwrittenBulk):
    """Experiments by the dozen: named, or chosen by a filter after a look at what it meets."""

    def label(
        self, experiments: Sequence[Reference], *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> Sequence[models.Experiment]:
        """Gives labels to experiments and takes labels from them: from all that are named, or where one is not there from none.

        Args:
            add: What an experiment has already stays as it is.
        """
        return self._transport.post(
            models.LabelledExperiments,
            "/v1/bulk/experiments/labels",
            json_body(experiments=texts(experiments), add=add, remove=remove),
        ).items

    def preview(self, filter: str, *, archived: bool = False) -> models.ExperimentSelection:
        """Counts the experiments that a filter meets, shows some, and gives the word by which they can be acted on.

        Args:
            filter: An expression over `number`, `name`, `description`, `workspace`, `project`, `labels`, `owner`,
                `state`, `progress`, `searcher`, `metric`, `best.value`, `trials.running`, `trials.error`, `priority`,
                `code_sha256`, `forked_from`, `final`, `created_at`, `started_at`, `ended_at`.
            archived: True looks at the archived ones instead.
        """
        return self._transport.get(
            models.ExperimentSelection, "/v1/bulk/experiments", query_params(filter=filter, archived=archived)
        )

    def act(
        self, action: str, experiments: Sequence[Reference] = (), *, selection: str | None = None
    ) -> models.BulkOutcome:
        """Does one thing with many experiments, and tells of each what came of it.

        Args:
            action: One of pause, resume, cancel, kill, finish, archive or unarchive.
            selection: Of `GET /v1/bulk/experiments`: refused where the filter meets others by now.
        """
        return self._transport.post(
            models.BulkOutcome,
            "/v1/bulk/experiments",
            json_body(action=action, experiments=texts(experiments), selection=selection),
        )


class AsyncBulk(AsyncAPIResource[Bulk]):
    """`Bulk`, awaited."""

    act_on = awaited(Bulk.act_on)
    label = awaited(Bulk.label)
    preview = awaited(Bulk.preview)
    act = awaited(Bulk.act)
