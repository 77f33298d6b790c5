"""Images, tables, texts and histograms of trials, and TensorBoard event files written by scripts.

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
    """Images, tables, texts and histograms of trials, and TensorBoard event files written by scripts."""

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
        """List the media that a trial logged, in storage order, with download URLs.

        Args:
            kinds: Any of image, table, text, histogram or events.
            after: Id of an item; returns only items stored after it. Use it to poll for new media.
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
        """List the names under which a trial logged media, with counts and sizes."""
        return pages(self._transport, models.MediaNamePage, f"/v1/trials/{segment(trial)}/media/names")


class AsyncMedia(AsyncAPIResource[Media]):
    """`Media`, awaited."""

    read = streamed(Media.read)
    download = awaited(Media.download)
    list = listed(Media.list)
    names = listed(Media.names)
