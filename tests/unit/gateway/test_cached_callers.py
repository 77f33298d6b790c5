"""How long a revoked token is still accepted by a replica that has its caller cached."""

from datetime import UTC, datetime
from typing import cast

import pytest

from services.gateway.platform.auth.authentication import Authenticator, CallerCredentials
from services.gateway.platform.auth.refusals import Unauthenticated
from services.gateway.platform.auth.sign_in.providers import Providers
from services.gateway.platform.call_context import UNAUTHENTICATED, Caller
from shared.database.engine import Database

MAX_AGE_S = 2.0


class _Clock:
    now_s = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_s, UTC)

    def monotonic(self) -> float:
        return self.now_s


class _Cached(Authenticator):
    """Its look-ups find what the test says."""

    is_revoked = False

    async def _look_up(self, bearer: str | None, text: str, hashed: bytes) -> Caller:
        if self.is_revoked:
            raise Unauthenticated("token_revoked")
        return UNAUTHENTICATED


async def test_a_revoked_token_is_refused_after_two_seconds_at_the_latest() -> None:
    clock = _Clock()
    here = _Cached(cast(Database, None), b"pepper", clock, cast(Providers, None), {})
    shown = CallerCredentials("mst_x")
    await here.caller_of(shown)
    here.is_revoked = True
    clock.now_s = MAX_AGE_S
    with pytest.raises(Unauthenticated):
        await here.caller_of(shown)
