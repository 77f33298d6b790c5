"""Who did what in one's tenant, or, with `site`, to the site; and the proof that nothing of it was changed.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.audit` has the other methods.
"""

from muster.client.async_resources import AsyncAPIResource, awaited, listed, streamed
from muster.client.handwritten.audit import HandwrittenAudit


class Audit(HandwrittenAudit):
    """Who did what in one's tenant, or, with `site`, to the site; and the proof that nothing of it was changed."""


class AsyncAudit(AsyncAPIResource[Audit]):
    """`Audit`, awaited."""

    list = listed(Audit.list)
    export = streamed(Audit.export)
    head = awaited(Audit.head)
    verify = awaited(Audit.verify)
