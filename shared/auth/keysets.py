"""Keys with which somebody signs tokens, as they change (RFC 7517): asked for when they are old or when a token names one that is not known. What must
hold of a token is `jwts`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog

from shared.auth import jwts
from shared.auth.jwts import Claims, Expected, KeyDocument, NotValid
from shared.clock import Clock
from shared.errors import Transient

FRESH_S = 300.0
"""A key that its signer has withdrawn counts no longer than this."""
KEPT_S = 3600.0
"""While the signer is away, its keys count so long."""
ASKED_AGAIN_S = 10.0
"""Tokens that name unknown keys have the signer asked at most this often."""
_log = structlog.get_logger()


class KeySet:
    """The keys of the signer `name`. `fetch` gives its JWKS, or raises Transient."""

    def __init__(self, name: str, fetch: Callable[[], Awaitable[Mapping[str, Any]]], clock: Clock) -> None:
        self._name = name
        self._fetch = fetch
        self._clock = clock
        self._keys: Sequence[KeyDocument] = ()
        self._fetched_s = self._asked_s = -KEPT_S
        self._turn = asyncio.Lock()

    async def verify(self, token: str, expected: Expected) -> Claims:
        """What a token says that one of these keys has signed, for whom it was expected.

        Raises:
            NotValid: It is not to be believed.
            Transient: The keys cannot be had.
        """
        header, _ = jwts.read_unverified(token)
        key = jwts.choose_key(header, await self._no_older(FRESH_S))
        if key is None:
            key = jwts.choose_key(header, await self._no_older(0.0))
        if key is None:
            raise NotValid("signed with a key that its provider does not show")
        return jwts.verify(token, key, expected, self._clock.now().timestamp())

    async def _no_older(self, fresh_s: float) -> Sequence[KeyDocument]:
        """Keys no older than `fresh_s`, or as new as may be asked for."""
        async with self._turn:
            now_s = self._clock.monotonic()
            if now_s - self._fetched_s < fresh_s or now_s - self._asked_s < ASKED_AGAIN_S:
                if now_s - self._fetched_s < KEPT_S:
                    return self._keys
                raise Transient(f"the provider {self._name} does not answer", code="provider_away")
            self._asked_s = now_s
            try:
                document = await self._fetch()
            except Transient as error:
                _log.warning("a provider's keys cannot be had", provider=self._name, reason=str(error))
                if now_s - self._fetched_s < KEPT_S:
                    return self._keys
                raise
            keys = document.get("keys")
            self._keys = [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []
            self._fetched_s = now_s
            return self._keys
