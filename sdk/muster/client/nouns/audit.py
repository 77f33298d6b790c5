"""Who did what in one's tenant, or, with `site`, to the site; and the proof that nothing of it was changed.

Generated from the gateway's table of operations by `make gen`: change that, or `muster.client.handwritten.audit`, which has what is more than a call.
"""

from muster.client.awaited import AsyncNoun, awaited, listed, streamed
from muster.client.handwritten.audit import HandwrittenAudit


class Audit(HandwrittenAudit):
    """Who did what in one's tenant, or, with `site`, to the site; and the proof that nothing of it was changed."""


class AsyncAudit(AsyncNoun[Audit]):
    """`Audit`, awaited."""

    list = listed(Audit.list)
    export = streamed(Audit.export)
    head = awaited(Audit.head)
    verify = awaited(Audit.verify)
