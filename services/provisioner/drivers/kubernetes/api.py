"""The API server of a cluster, over HTTP: objects of one namespace made, listed and deleted, and its errors in our words."""

import ssl
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

import aiohttp

from services.provisioner.core.refusals import Cause, Refusal
from services.provisioner.drivers.pace import Pace, Throttled
from services.provisioner.drivers.rest import Answer, Json, Request, exchange
from shared.clock import Clock
from shared.errors import Rejected, Transient

PAGE = 500
_PATIENCE = timedelta(seconds=30)
_PER_S, _BURST = 20.0, 40
_WAYS_OUT: Mapping[Cause, str] = {
    "quota": "raise the namespace's ResourceQuota, or lower the pool's maximum",
    "credentials": "the provisioner needs the verbs create, get, list, patch and delete on pods and secrets of the namespace",
    "bad_request": "correct the pool's Kubernetes settings",
}


@dataclass(frozen=True, slots=True)
class Access:
    """How the API server is reached. A pod's own account: the files below /var/run/secrets/kubernetes.io/serviceaccount; they are read anew for
    each call, because the cluster replaces tokens."""

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None


class Refused(Rejected):
    """The cluster will not do it; `code` is its own reason (`Forbidden`, `NotFound`, …)."""


def open_session(access: Access) -> AbstractAsyncContextManager[aiohttp.ClientSession]:
    """Connections to it, which trust its own authority only where one is named."""
    trusted = ssl.create_default_context(cafile=str(access.ca_file)) if access.ca_file else True
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted, limit=20))


class ApiServer:
    """One namespace of a cluster."""

    def __init__(
        self, session: aiohttp.ClientSession, access: Access, namespace: str, clock: Clock, chance: Random
    ) -> None:
        self._session = session
        self._access = access
        self._url = f"{access.url.rstrip('/')}/api/v1/namespaces/{namespace}"
        self._pace = Pace(_PER_S, _BURST, _PATIENCE, clock, chance)

    async def create(self, resource: str, content: Json) -> Json:
        """The object as it now is; also where it was made before under its name."""
        try:
            return await self._pace.call(lambda: self._ask("POST", resource, content=content))
        except Refused as error:
            if error.code != "AlreadyExists":
                raise
        return await self._pace.call(lambda: self._ask("GET", f"{resource}/{content['metadata']['name']}"))

    async def set_owners(self, resource: str, name: str, owners: list[Json]) -> None:
        """Has the object deleted by the cluster when all of the owners are gone."""
        patch = {"metadata": {"ownerReferences": owners}}
        await self._pace.call(lambda: self._ask("PATCH", f"{resource}/{name}", content=patch))

    async def list(self, resource: str, selector: str) -> list[Json]:
        """All objects with these labels, page by page."""
        found: list[Json] = []
        query = {"labelSelector": selector, "limit": str(PAGE)}
        while True:
            page = await self._pace.call(lambda: self._ask("GET", resource, query=dict(query)))
            found += page["items"]
            if not (more := page.get("metadata", {}).get("continue")):
                return found
            query["continue"] = more

    async def delete(self, resource: str, name: str) -> None:
        """Begins its end; nothing where it is gone already."""
        try:
            await self._pace.call(lambda: self._ask("DELETE", f"{resource}/{name}"))
        except Refused as error:
            if error.code != "NotFound":
                raise

    async def _ask(
        self, method: str, path: str, content: Json | None = None, query: Mapping[str, str] | None = None
    ) -> Json:
        """One call.

        Raises:
            Throttled: It was not made.
            Refused: It was not done.
            Transient: It may have been done.
        """
        form = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Content-Type": form, "Accept": "application/json"}
        if self._access.token_file is not None:
            headers["Authorization"] = f"Bearer {self._access.token_file.read_text().strip()}"
        request = Request(method, f"{self._url}/{path}", headers, query, content)
        answer = await exchange(self._session, request, f"the cluster at {self._access.url}")
        if answer.status >= 400:
            raise _told(answer)
        return answer.content


def refusal(error: Refused, where: str) -> Refusal:
    """What to tell people of pods that were not taken; `where`: the offer in words."""
    cause = _cause_of(error.code, error.message)
    told = f"Kubernetes refused {where}: {error.message.rstrip('.')} ({error.code})"
    return Refusal(cause, f"{told}; {_WAYS_OUT[cause]}" if cause in _WAYS_OUT else told)


def _cause_of(code: str, message: str) -> Cause:
    if "exceeded quota" in message:
        return "quota"
    if code in ("Forbidden", "Unauthorized"):
        return "credentials"
    return "bad_request" if code in ("Invalid", "BadRequest", "NotFound") else "unknown"


def _told(answer: Answer) -> Refused | Transient:
    code, message = (
        str(answer.content.get("reason") or answer.status),
        str(answer.content.get("message") or answer.text),
    )
    if answer.status == 429:
        return Throttled(f"the cluster's API server is busy: {message}")
    if answer.status >= 500:
        return Transient(f"the cluster's API server failed: {message} ({answer.status})")
    return Refused(code, message)
