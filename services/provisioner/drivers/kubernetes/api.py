"""Calls to a cluster's API server with kubernetes-asyncio: create, list and delete objects of one namespace; errors are translated."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

import aiohttp
import orjson
from kubernetes_asyncio.client import ApiClient, ApiException, Configuration
from kubernetes_asyncio.config import ConfigException
from yaml import YAMLError

from services.provisioner.core.instances.refusals import Cause, LaunchRefusal
from services.provisioner.drivers.kubernetes.access import Access
from services.provisioner.drivers.rate_limit import RateLimiter, Throttled
from services.provisioner.drivers.rest import Json
from shared.clock import Clock
from shared.errors import Rejected, Transient

PAGE = 500
TIMEOUT_S = 30
_TIMEOUT = timedelta(seconds=30)
_PER_S, _BURST = 20.0, 40
_WAYS_OUT: Mapping[Cause, str] = {
    "quota": "raise the namespace's ResourceQuota, or lower the pool's maximum",
    "credentials": "grant the provisioner the verbs create, get, list, patch and delete on pods and secrets of the namespace",
    "bad_request": "correct the pool's Kubernetes settings",
}


class KubernetesRefused(Rejected):
    """The cluster refused a call; `code` is its reason (`Forbidden`, `NotFound`, …)."""


class ApiServer:
    """One namespace of a cluster.

    It connects on the first call, so that the provisioner starts while a cluster is unreachable. Objects stay JSON:
    the client's models take 1 ms of CPU time for each pod, and pods are listed once a second.
    """

    def __init__(self, access: Access, namespace: str, clock: Clock, chance: Random) -> None:
        self._access = access
        self._path = f"/api/v1/namespaces/{namespace}"
        self._pace = RateLimiter(_PER_S, _BURST, _TIMEOUT, clock, chance)
        self._client: ApiClient | None = None
        self._loading = asyncio.Lock()

    async def create(self, resource: str, content: Json) -> Json:
        """Create an object, or return the existing one of that name."""
        try:
            return await self._call("POST", resource, content)
        except KubernetesRefused as error:
            if error.code != "AlreadyExists":
                raise
        return await self._call("GET", f"{resource}/{content['metadata']['name']}")

    async def set_owners(self, resource: str, name: str, owners: list[Json]) -> None:
        """Let the cluster delete the object when all of its owners are deleted."""
        await self._call("PATCH", f"{resource}/{name}", {"metadata": {"ownerReferences": owners}})

    async def list(self, resource: str, selector: str) -> list[Json]:
        """Return all objects with these labels, page by page."""
        found: list[Json] = []
        query = {"labelSelector": selector, "limit": str(PAGE)}
        while True:
            page = await self._call("GET", resource, query=dict(query))
            found += page["items"]
            if not (more := page.get("metadata", {}).get("continue")):
                return found
            query["continue"] = more

    async def delete(self, resource: str, name: str) -> None:
        """Start to delete an object; do nothing if it does not exist."""
        try:
            await self._call("DELETE", f"{resource}/{name}")
        except KubernetesRefused as error:
            if error.code != "NotFound":
                raise

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _call(
        self, method: str, path: str, content: Json | None = None, query: Mapping[str, str] | None = None
    ) -> Json:
        return await self._pace.call(lambda: self._ask(method, path, content, query))

    async def _ask(
        self, method: str, path: str, content: Json | None, query: Mapping[str, str] | None
    ) -> Json:
        """Make one call.

        Raises:
            Throttled: The call had no effect because of the rate limit.
            Refused: The call had no effect.
            Transient: The call may have taken effect.
        """
        form = "application/merge-patch+json" if method == "PATCH" else "application/json"
        options = {
            "query_params": list((query or {}).items()),
            "header_params": {"Content-Type": form, "Accept": "application/json"},
            "body": content,
            "response_types_map": dict.fromkeys((200, 201, 202), "object"),
            "auth_settings": ["BearerToken"],
            "_return_http_data_only": True,
        }
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._authorized(method, f"{self._path}/{path}", options)
        except ApiException as error:
            raise _translated(error) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Transient(
                f"the cluster's API server cannot be reached: {str(error) or repr(error)}"
            ) from error

    async def _authorized(self, method: str, path: str, options: dict[str, Any]) -> Json:
        """Make a call. Refused credentials are reloaded once, because they may have been replaced."""
        client = await self._connected()
        token = client.configuration.api_key.get("BearerToken")
        try:
            return await client.call_api(path, method, **options)  # type: ignore[no-any-return]
        except ApiException as error:
            if error.status != 401:
                raise
        async with self._loading:
            if client.configuration.api_key.get("BearerToken") == token:
                await self._load(client.configuration)
        return await client.call_api(path, method, **options)  # type: ignore[no-any-return]

    async def _connected(self) -> ApiClient:
        async with self._loading:
            if self._client is None:
                configuration = Configuration()
                await self._load(configuration)
                self._client = ApiClient(configuration)
            return self._client

    async def _load(self, into: Configuration) -> None:
        try:
            await self._access.load(into)
        except (ConfigException, YAMLError, ValueError, TypeError, AssertionError) as error:
            raise KubernetesRefused(
                "Unauthorized", f"no valid credentials for the cluster: {error}"
            ) from error


def refusal(error: KubernetesRefused, where: str) -> LaunchRefusal:
    """Return the refusal of pods with a message for users; `where` names the offer."""
    cause = _cause_of(error.code, error.message)
    text = f"Kubernetes refused {where}: {error.message.rstrip('.')} ({error.code})"
    return LaunchRefusal(cause, f"{text}; {_WAYS_OUT[cause]}" if cause in _WAYS_OUT else text)


def _cause_of(code: str, message: str) -> Cause:
    if "exceeded quota" in message:
        return "quota"
    if code in ("Forbidden", "Unauthorized"):
        return "credentials"
    return "bad_request" if code in ("Invalid", "BadRequest", "NotFound") else "unknown"


def _translated(error: ApiException) -> KubernetesRefused | Transient:
    body = error.body or ""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = None
    status = parsed if isinstance(parsed, dict) else {}
    code, message = str(status.get("reason") or error.status), str(status.get("message") or body[:200])
    if error.status == 429:
        return Throttled(f"the cluster's API server is busy: {message}")
    if error.status >= 500:
        return Transient(f"the cluster's API server failed: {message} ({error.status})")
    return KubernetesRefused(code, message)
