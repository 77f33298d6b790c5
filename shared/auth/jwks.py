"""Signing keys of a provider (JWKS, RFC 7517), fetched again when they are old or when a token names an unknown key. `jwts` validates tokens."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog

from shared.auth import jwts
from shared.auth.jwts import Claims, Expected, KeyDocument, NotValid
from shared.clock import Clock
from shared.errors import Transient

FRESH_S = 300.0
"""Maximum age of keys: how long a withdrawn key may still be accepted."""
KEPT_S = 3600.0
"""How long cached keys are accepted while the provider does not respond."""
ASKED_AGAIN_S = 10.0
"""Minimum interval between fetches caused by unknown keys."""
_log = structlog.get_logger()


class KeySet:
    """Keys of the provider `name`. `fetch` returns its JWKS or raises Transient."""

    def __init__(self, name: str, fetch: Callable[[], Awaitable[Mapping[str, Any]]], clock: Clock) -> None:
        self._name = name
        self._fetch = fetch
        self._clock = clock
        self._keys: Sequence[KeyDocument] = ()
        self._fetched_s = self._asked_s = -KEPT_S
        self._fetching = asyncio.Lock()

    async def verify(self, token: str, expected: Expected) -> Claims:
        """Return the claims of a token signed with one of these keys.

        Raises:
            NotValid: The token is not valid.
            Transient: The keys cannot be fetched.
        """
        header, _ = jwts.read_unverified(token)
        key = jwts.choose_key(header, await self._no_older(FRESH_S))
        if key is None:
            key = jwts.choose_key(header, await self._no_older(0.0))
        if key is None:
            raise NotValid("signed with a key that is not in the provider's JWKS")
        return jwts.verify(token, key, expected, self._clock.now().timestamp())

    async def _no_older(self, fresh_s: float) -> Sequence[KeyDocument]:
        """Return keys no older than `fresh_s`, or as new as the fetch interval allows."""
        async with self._fetching:
            now_s = self._clock.monotonic()
            if now_s - self._fetched_s < fresh_s or now_s - self._asked_s < ASKED_AGAIN_S:
                if now_s - self._fetched_s < KEPT_S:
                    return self._keys
                raise Transient(f"the provider {self._name} does not respond", code="provider_away")
            self._asked_s = now_s
            try:
                document = await self._fetch()
            except Transient as error:
                _log.warning("a provider's keys cannot be fetched", provider=self._name, reason=str(error))
                if now_s - self._fetched_s < KEPT_S:
                    return self._keys
                raise
            keys = document.get("keys")
            self._keys = [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []
            self._fetched_s = now_s
            return self._keys
