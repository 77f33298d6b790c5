"""Images, tables, texts and histograms of trials, and the event files that their scripts wrote for TensorBoard.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.media` has the other methods.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed, streamed
from muster.client.handwritten.media import HandwrittenMedia
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Media(HandwrittenMedia):
    """Images, tables, texts and histograms of trials, and the event files that their scripts wrote for TensorBoard."""

    def list(
        self,
        trial: Reference,
        *,
        kinds: Sequence[str] = (),
        group: str | None = None,
        names: Sequence[str] = (),
        first_step: int | None = None,
        last_step: int | None = None,
        after: str | None = None,
    ) -> Items[models.MediaItem]:
        """Lists what a trial logged beside numbers, in the order of storing, with URLs that read it.

        Args:
            kinds: Any of image, table, text, histogram or events.
            after: Only what was stored behind this one, by its id: for who follows.
        """
        return pages(
            self._transport,
            models.MediaPage,
            f"/v1/trials/{segment(trial)}/media",
            query_params(
                kind=kinds, group=group, name=names, first_step=first_step, last_step=last_step, after=after
            ),
        )

    def names(self, trial: Reference) -> Items[models.MediaName]:
        """Lists the names under which a trial logged media, with how many and how large they are."""
        return pages(self._transport, models.MediaNamePage, f"/v1/trials/{segment(trial)}/media/names")


class AsyncMedia(AsyncAPIResource[Media]):
    """`Media`, awaited."""

    read = streamed(Media.read)
    download = awaited(Media.download)
    list = listed(Media.list)
    names = listed(Media.names)
