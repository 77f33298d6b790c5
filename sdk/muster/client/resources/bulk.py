"""Bulk actions on experiments, selected by reference or by a previewed filter.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.bulk` has the other methods.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.handwritten.bulk import HandwrittenBulk
from muster.client.http.fields import json_body, query_params, texts
from muster.client.http.transport import Reference


class Bulk(HandwrittenBulk):
    """Bulk actions on experiments, selected by reference or by a previewed filter."""

    def label(
        self, experiments: Sequence[Reference], *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> Sequence[models.Experiment]:
        """Add labels to and remove labels from experiments. If one of them does not exist, none is changed.

        Args:
            add: Labels to add; labels that an experiment already has stay.
        """
        return self._transport.post(
            models.LabelledExperiments,
            "/v1/bulk/experiments/labels",
            json_body(experiments=texts(experiments), add=add, remove=remove),
        ).items

    def preview(self, filter: str, *, archived: bool = False) -> models.ExperimentSelection:
        """Preview the experiments that match a filter and get a token to act on exactly these.

        Args:
            filter: An expression over `number`, `name`, `description`, `workspace`, `project`, `labels`, `owner`,
                `state`, `progress`, `searcher`, `metric`, `best.value`, `trials.running`, `trials.error`, `priority`,
                `code_sha256`, `forked_from`, `final`, `created_at`, `started_at`, `ended_at`.
            archived: True selects archived experiments instead.
        """
        return self._transport.get(
            models.ExperimentSelection, "/v1/bulk/experiments", query_params(filter=filter, archived=archived)
        )

    def act(
        self, action: str, experiments: Sequence[Reference] = (), *, selection: str | None = None
    ) -> models.BulkOutcome:
        """Apply one action to many experiments and report the result for each.

        Args:
            action: One of pause, resume, cancel, kill, finish, archive or unarchive.
            selection: Token from `GET /v1/bulk/experiments`. The request is refused if the filter now matches other
                experiments.
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
