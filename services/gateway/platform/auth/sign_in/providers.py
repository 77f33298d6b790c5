"""Client of OpenID Connect providers: metadata, keys, and tokens for authorization codes. `shared.auth.jwts` verifies the tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
import orjson

from muster.errors import Transient
from services.gateway.platform.auth.sign_in.login_state import SignInSecrets
from services.gateway.platform.auth.sign_in.sign_in_file import ProviderSection, check_address
from services.gateway.platform.outbound.client import INTERNAL_ADDRESS, OutboundClient
from shared.auth import jwts
from shared.auth.jwks import KeySet
from shared.auth.jwts import Claims, Expected, NotValid
from shared.clock import Clock

_MOST_BYTES = 512 * 1024
_TIMEOUT = aiohttp.ClientTimeout(total=5)


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """The used parts of a provider's metadata (OpenID Connect Discovery 1.0)."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    returns_issuer: bool
    """Whether its authorization responses always contain `iss` (RFC 9207)."""
    basic: bool
    """Whether the client secret is sent in the header instead of the form."""


class Providers:
    """The OpenID Connect providers of the site."""

    def __init__(self, sections: Mapping[str, ProviderSection], clock: Clock) -> None:
        self._sections = sections
        self._outward = {name: OutboundClient(one.reachable, reads=True) for name, one in sections.items()}
        self._described: dict[str, ProviderMetadata] = {}
        self._keys = {name: KeySet(name, partial(self._fetch_keys, name), clock) for name in sections}

    async def __aenter__(self) -> Self:
        for one in self._outward.values():
            await one.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._outward.values():
            await one.__aexit__(kind, error, trace)

    def get(self, name: str) -> ProviderSection | None:
        return self._sections.get(name)

    def of_tenant(self, name: str, tenant: str) -> ProviderSection | None:
        """Return a provider of the tenant; None if there is none, also for another tenant's provider."""
        found = self._sections.get(name)
        return found if found is not None and found.tenant == tenant else None

    def public_labels(self) -> Mapping[str, str]:
        """Return the names and labels of the providers that the sign-in page shows, in the order of the file."""
        return {name: one.label for name, one in self._sections.items() if one.label and one.client_id}

    async def verify_program(self, token: str) -> tuple[ProviderSection, Claims]:
        """Verify a program's token. Return its provider and its claims.

        Raises:
            NotValid: the token is not valid.
            Transient: the provider's keys cannot be fetched.
        """
        _, unverified = jwts.read_unverified(token)
        audience = unverified.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        for name, section in self._sections.items():
            if (
                section.audience is not None
                and section.issuer == unverified.get("iss")
                and section.audience in audiences
            ):
                expected = Expected(section.issuer, section.audience)
                return section, await self._keys[name].verify(token, expected)
        raise NotValid("no configured provider has this issuer and audience")

    async def describe(self, name: str) -> ProviderMetadata:
        """Return the provider's metadata, fetched once.

        Raises:
            Transient: the metadata cannot be fetched or is not valid.
        """
        if name not in self._described:
            issuer = self._sections[name].issuer
            self._described[name] = _described(issuer, await self._fetch(name, _well_known(issuer)))
        return self._described[name]

    async def redeem(self, name: str, code: str, redirect: str, secrets: SignInSecrets) -> Claims:
        """Exchange an authorization code for the claims of the person.

        Raises:
            NotValid: the provider rejects the code, or its token is not valid.
            Transient: the provider is not reachable.
        """
        section, described = self._sections[name], await self.describe(name)
        client_id = section.client_id or ""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": secrets.verifier,
            "client_id": client_id,
        }
        secret = section.client_secret_file.read_text().strip() if section.client_secret_file else None
        auth = None
        if secret is not None and described.basic:
            auth = aiohttp.BasicAuth(client_id, secret)
        elif secret is not None:
            form["client_secret"] = secret
        answer = await self._fetch(name, described.token_endpoint, form, auth)
        token = answer.get("id_token")
        if not isinstance(token, str) or not jwts.is_jwt(token):
            raise NotValid(f"the answer has no id_token; error: {answer.get('error', 'none')}")
        return await self._keys[name].verify(token, Expected(section.issuer, client_id, secrets.nonce))

    async def _fetch_keys(self, name: str) -> Mapping[str, Any]:
        return await self._fetch(name, (await self.describe(name)).jwks_uri)

    async def _fetch(
        self,
        name: str,
        url: str,
        form: Mapping[str, str] | None = None,
        auth: aiohttp.BasicAuth | None = None,
    ) -> Mapping[str, Any]:
        """Fetch a JSON object, with a limit on time and size and without redirects."""
        verb = "GET" if form is None else "POST"
        options: dict[str, Any] = {"timeout": _TIMEOUT, "allow_redirects": False, "data": form, "auth": auth}
        session = self._outward[name].session(urlsplit(url).scheme)
        try:
            async with session.request(
                verb, url, headers={"Accept": "application/json"}, **options
            ) as answer:
                body = await answer.content.read(_MOST_BYTES + 1)
                while len(body) <= _MOST_BYTES and (more := await answer.content.read(_MOST_BYTES)):
                    body += more
                status = answer.status
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise _unreached(url, error) from None
        try:
            document = orjson.loads(body) if len(body) <= _MOST_BYTES else None
        except orjson.JSONDecodeError:
            document = None
        is_read = status == 200 or (form is not None and 400 <= status < 500)
        if not is_read or not isinstance(document, dict):
            raise Transient(
                f"{url} answered with status {status} and without a usable JSON object", code="provider_away"
            )
        return document


def _unreached(url: str, error: Exception) -> Transient:
    if INTERNAL_ADDRESS in str(error):
        message = f"{url} was not called: {INTERNAL_ADDRESS}; list the network in the provider's `networks` in the sign-in file"
        return Transient(message, code="provider_away")
    return Transient(f"{url} does not answer: {type(error).__name__}", code="provider_away")


def _well_known(issuer: str) -> str:
    return f"{issuer.rstrip('/')}/.well-known/openid-configuration"


def _described(issuer: str, document: Mapping[str, Any]) -> ProviderMetadata:
    """Parse a provider's metadata. Raises Transient if it names another issuer or lacks usable addresses."""
    if document.get("issuer") != issuer:
        raise Transient(f"the metadata of {issuer} names another issuer", code="provider_away")
    addresses = {}
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        address = document.get(name)
        try:
            check_address(str(address))
        except ValueError as error:
            raise Transient(f"{name} of {issuer}: {error}", code="provider_away") from None
        addresses[name] = str(address)
    methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return ProviderMetadata(
        **addresses,
        returns_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        basic="client_secret_post" not in methods,
    )
