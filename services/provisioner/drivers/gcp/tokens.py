"""Who we are to Google Cloud: an access token for an hour, from the machine's own account or from a service account's key."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import aiohttp
import jwt

from services.provisioner.drivers.rest import Answer, Request, exchange
from shared.clock import Clock
from shared.errors import Rejected

METADATA_URL = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"
SCOPE = "https://www.googleapis.com/auth/compute"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_LIFE = timedelta(hours=1)
_MARGIN = timedelta(minutes=2)


class Source(Protocol):
    """Where a new token comes from."""

    async def fetch(self, session: aiohttp.ClientSession, now: datetime) -> Answer:
        """`access_token` and `expires_in`, or what was said instead. Raises Transient without an answer."""


@dataclass(frozen=True, slots=True)
class MachineAccount:
    """The account of the machine that the provisioner runs on."""

    url: str = METADATA_URL

    async def fetch(self, session: aiohttp.ClientSession, now: datetime) -> Answer:
        return await exchange(
            session, Request("GET", self.url, {"Metadata-Flavor": "Google"}), "the metadata service"
        )


@dataclass(frozen=True, slots=True)
class AccountKey:
    """A service account's key, from its JSON file (RFC 7523)."""

    email: str
    private_key: str
    token_url: str = "https://oauth2.googleapis.com/token"
    scope: str = SCOPE

    async def fetch(self, session: aiohttp.ClientSession, now: datetime) -> Answer:
        claims = {
            "iss": self.email,
            "scope": self.scope,
            "aud": self.token_url,
            "iat": now,
            "exp": now + _LIFE,
        }
        content = {"grant_type": GRANT, "assertion": jwt.encode(claims, self.private_key, algorithm="RS256")}
        request = Request("POST", self.token_url, {"Content-Type": "application/json"}, content=content)
        return await exchange(session, request, "Google's token service")


@dataclass(slots=True)
class Tokens:
    """The present token, replaced before it runs out."""

    source: Source
    clock: Clock
    _token: str = ""
    _good_until: datetime | None = field(default=None)

    async def get(self, session: aiohttp.ClientSession) -> str:
        """A token that is good for minutes yet.

        Raises:
            Rejected: We are not known (`no_credentials`).
            Transient: Nobody answered.
        """
        now = self.clock.now()
        if self._good_until is None or now > self._good_until:
            answer = await self.source.fetch(session, now)
            token = answer.content.get("access_token")
            if answer.status != 200 or not token:
                told = answer.content.get("error_description") or answer.text
                raise Rejected(
                    "no_credentials", f"Google Cloud gave no access token: {told} ({answer.status})"
                )
            self._token = str(token)
            self._good_until = now + timedelta(seconds=float(answer.content.get("expires_in", 0))) - _MARGIN
        return self._token

    def forget(self) -> None:
        """The token was refused: the next call takes a new one."""
        self._good_until = None
