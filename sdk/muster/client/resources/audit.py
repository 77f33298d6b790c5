"""The audit log of your tenant, or of the site with `site`, and its verification.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.audit` has the other methods.
"""

from muster.client.async_resources import AsyncAPIResource, awaited, listed, streamed
from muster.client.handwritten.audit import HandwrittenAudit


class Audit(HandwrittenAudit):
    """The audit log of your tenant, or of the site with `site`, and its verification."""


class AsyncAudit(AsyncAPIResource[Audit]):
    """`Audit`, awaited."""

    list = listed(Audit.list)
    export = streamed(Audit.export)
    head = awaited(Audit.head)
    verify = awaited(Audit.verify)
