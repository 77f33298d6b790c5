"""Access tokens for Google Cloud from google-auth, with a service account key or the default account."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import google.auth
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import Request
from google.oauth2.service_account import Credentials as ServiceAccount

from shared.errors import Rejected, Transient

SCOPE = "https://www.googleapis.com/auth/compute"
TIMEOUT_S = 30


class Tokens:
    """The access token of one account, replaced before it expires. google-auth blocks, so it runs in a thread.

    Args:
        key_file: A service account key. None: Application Default Credentials, which are the file that
            GOOGLE_APPLICATION_CREDENTIALS names (a key, or workload identity federation), or the account of this
            machine.

    Raises:
        Rejected: The file is not a key (`bad_providers`).
    """

    def __init__(self, key_file: Path | None, scope: str = SCOPE) -> None:
        self._key = None if key_file is None else _read_key(key_file, scope)
        self._scope = scope
        self._transport = _Transport()
        self._credentials: Credentials | None = None
        self._refreshing = asyncio.Lock()

    async def get(self) -> str:
        """Return a token that is valid for some minutes.

        Raises:
            Rejected: There is no account, or Google does not accept it (`no_credentials`).
            Transient: There was no answer.
        """
        async with self._refreshing:
            if self._credentials is None or not self._credentials.valid:
                self._credentials = await asyncio.to_thread(self._refresh)
            return str(self._credentials.token)

    def forget(self) -> None:
        """Discard the token, because it was refused."""
        self._credentials = None

    def _refresh(self) -> Credentials:
        try:
            credentials = self._credentials or self._key or self._default()
            credentials.refresh(self._transport)
        except GoogleAuthError as error:
            message = f"Google Cloud returned no access token: {error}"
            if _is_transient(error):
                raise Transient(message) from error
            raise Rejected("no_credentials", message) from error
        return credentials

    def _default(self) -> Credentials:
        credentials, _ = google.auth.default(scopes=[self._scope], request=self._transport)
        return credentials


class _Transport(Request):
    """A transport with a shorter timeout than google-auth's default."""

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = TIMEOUT_S,
        **options: Any,
    ) -> Any:
        return super().__call__(url, method, body, headers, timeout, **options)  # type: ignore[no-untyped-call]


def _read_key(file: Path, scope: str) -> Credentials:
    try:
        key: Credentials = ServiceAccount.from_service_account_file(str(file), scopes=[scope])
    except (ValueError, TypeError, AttributeError) as error:
        message = f"{file} is not a service account key: {error}"
        raise Rejected("bad_providers", message, "key_file") from error
    return key


def _is_transient(error: GoogleAuthError) -> bool:
    """Whether the service was unreachable or failed. Errors of the metadata server include its response if there was one."""
    cause = error.__cause__ if isinstance(error.__cause__, TransportError) else error
    return error.retryable or (isinstance(cause, TransportError) and len(cause.args) < 2)
