"""Verifies that the scheduler signed a desired set. Its key is the one that signed this worker's credentials, so the bus vouches for it."""

from collections.abc import Callable, Mapping

import structlog

from muster.errors import Rejected
from shared.auth.signatures import MessageVerifier
from shared.bus.envelope import SIGNATURE, SIGNED_BY
from shared.ids import WorkerId
from shared.messages.allocations import DesiredSet

_log = structlog.get_logger()


class SignedSets:
    """Checks signatures, and counts refused sets for the next heartbeat.

    Args:
        trusted_key: Returns the public key of the scheduler, as of the current credentials.
        renew_soon: Renews the credentials: a set with another key is how a worker learns that the key was rotated.

    Attributes:
        refused: Number of refused sets.
        refusal: Why the last one was refused.
    """

    def __init__(
        self, worker: WorkerId, trusted_key: Callable[[], str], renew_soon: Callable[[], None]
    ) -> None:
        self._subject = DesiredSet.subject(worker)
        self._trusted_key = trusted_key
        self._renew_soon = renew_soon
        self._verifier = MessageVerifier("")
        self.refused = 0
        self.refusal: str | None = None

    def check(self, payload: bytes, headers: Mapping[str, str]) -> str:
        """Return the key that signed the set.

        Raises:
            Rejected: The scheduler did not sign it.
        """
        key, signature = self._trusted_key(), headers.get(SIGNATURE)
        if key != self._verifier.key:
            self._verifier = MessageVerifier(key)
        if signature is None:
            raise Rejected(
                "unsigned_set",
                "a desired set carries no signature",
                hint="upgrade the scheduler before the workers; after that, no service sends unsigned sets",
            )
        if not self._verifier.verify(self._subject, payload, signature):
            if headers.get(SIGNED_BY) != key:
                self._renew_soon()
            raise Rejected(
                "foreign_signature",
                f"a desired set is not signed by the scheduler's key {key}",
                hint="if the account's key was rotated, the worker renews its credentials now and accepts the next set",
            )
        return key

    def refuse(self, error: Rejected) -> None:
        """Log a refused set, and report it with the next heartbeat."""
        self.refused += 1
        self.refusal = error.message
        _log.error("a desired set was refused", error=error.message, hint=error.hint, refused=self.refused)
