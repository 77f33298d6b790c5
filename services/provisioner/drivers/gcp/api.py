"""Compute Engine over REST: waits for operations and translates errors."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from random import Random

import aiohttp

from services.provisioner.core.instances.refusals import Cause, LaunchRefusal
from services.provisioner.drivers.gcp.tokens import Tokens
from services.provisioner.drivers.rate_limit import RateLimiter, Throttled
from services.provisioner.drivers.rest import HttpRequest, Json, Response, exchange
from shared.clock import Clock
from shared.errors import Rejected, Transient

URL = "https://compute.googleapis.com/compute/v1"
PAGE = 500
_TIMEOUT = timedelta(seconds=30)
_OPERATION_TIMEOUT_S = 180.0
_PER_S, _BURST = 10.0, 20
_NOTHING_THERE = "NO_RESULTS_ON_PAGE"
_CODES: dict[Cause, str] = {
    "no_capacity": "ZONE_RESOURCE_POOL_EXHAUSTED ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS RESOURCE_POOL_EXHAUSTED"
    " VM_MIN_COUNT_NOT_REACHED STOCKOUT",
    "quota": "QUOTA_EXCEEDED quotaExceeded IP_SPACE_EXHAUSTED IP_SPACE_EXHAUSTED_WITH_DETAILS limitExceeded",
    "throttled": "rateLimitExceeded userRateLimitExceeded RATE_LIMIT_EXCEEDED concurrentLimitExceeded",
    "credentials": "authError unauthorized forbidden accessNotConfigured insufficientPermissions PERMISSIONS_ERROR"
    " no_credentials billingNotEnabled",
    "bad_request": "invalid required notFound badRequest invalidParameter resourceNotFound RESOURCE_NOT_FOUND"
    " UNSUPPORTED_OPERATION INVALID_USAGE INVALID_FIELD_VALUE CONDITION_NOT_MET conditionNotMet parseError no_zone",
}
_CAUSES = {code: cause for cause, codes in _CODES.items() for code in codes.split()}
_WAYS_OUT: Mapping[Cause, str] = {
    "no_capacity": "allow another kind, zone or purchase in the pool, or wait",
    "quota": "ask Google to raise the quota, or lower the pool's maximum",
    "credentials": "check the provisioner's account: it needs the role `roles/compute.instanceAdmin.v1` in the project",
    "bad_request": "correct the pool's Google Cloud settings",
}


class GcpRefused(Rejected):
    """Compute Engine refused a call; `code` is its reason."""


class ComputeEngine:
    """Compute Engine in one project."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        tokens: Tokens,
        project: str,
        clock: Clock,
        chance: Random,
        url: str = URL,
    ) -> None:
        self._session = session
        self._tokens = tokens
        self._url = f"{url.rstrip('/')}/projects/{project}"
        self._clock = clock
        self._pace = RateLimiter(_PER_S, _BURST, _TIMEOUT, clock, chance)

    async def bulk_insert(self, zone: str, request_id: str, content: Json) -> None:
        """Create machines and wait until the operation is done. The same request id creates none again.

        Raises:
            Refused: None or not all were created.
        """
        query = {"requestId": request_id}
        operation = await self._call("POST", f"zones/{zone}/instances/bulkInsert", query, content)
        deadline = self._clock.monotonic() + _OPERATION_TIMEOUT_S
        while operation["status"] != "DONE":
            if self._clock.monotonic() > deadline:
                raise Transient(
                    f"Google Cloud did not finish operation {request_id} within {_OPERATION_TIMEOUT_S:.0f} s"
                )
            # Returns when the operation is done, or after two minutes at most.
            operation = await self._call("POST", f"zones/{zone}/operations/{operation['name']}/wait")
        faults = operation.get("error", {}).get("errors", [])
        if faults:
            raise GcpRefused(str(faults[0].get("code", "unknown")), str(faults[0].get("message", "")))

    async def instances(self, label: str, value: str) -> AsyncIterator[Json]:
        """Yield the machines of all zones with this label, page by page."""
        query = {"filter": f"labels.{label}={value}", "maxResults": str(PAGE)}
        while True:
            page = await self._call("GET", "aggregated/instances", dict(query))
            for zone, of_zone in page.get("items", {}).items():
                # Machines of a zone that is not listed may still exist.
                if of_zone.get("warning", {}).get("code", _NOTHING_THERE) != _NOTHING_THERE:
                    raise Transient(
                        f"Google Cloud did not list zone {zone}: {of_zone['warning'].get('message')}"
                    )
                for one in of_zone.get("instances", ()):
                    yield one
            if not (more := page.get("nextPageToken")):
                return
            query["pageToken"] = more

    async def delete(self, zone: str, name: str) -> None:
        """Start to delete a machine; do nothing if it no longer exists."""
        try:
            await self._call("DELETE", f"zones/{zone}/instances/{name}")
        except GcpRefused as error:
            if error.code not in ("notFound", "resourceNotFound"):
                raise

    async def _call(
        self, method: str, path: str, query: Mapping[str, str] | None = None, content: Json | None = None
    ) -> Json:
        return await self._pace.call(lambda: self._ask(method, path, query, content))

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None, content: Json | None
    ) -> Json:
        """Make one call.

        Raises:
            Throttled: The call had no effect because of the rate limit.
            Refused: The call had no effect.
            Transient: The call may have taken effect.
        """
        answer = await self._exchange(method, path, query, content)
        if answer.status == 401:
            # A token may be revoked before its hour is over.
            self._tokens.forget()
            answer = await self._exchange(method, path, query, content)
        if answer.status >= 400:
            raise _translated(answer)
        return answer.content

    async def _exchange(
        self, method: str, path: str, query: Mapping[str, str] | None, content: Json | None
    ) -> Response:
        try:
            token = await self._tokens.get()
        except Rejected as error:
            raise GcpRefused(error.code, error.message) from error
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = HttpRequest(method, f"{self._url}/{path}", headers, query, content)
        return await exchange(self._session, request, "Google Cloud")


def cause_of(code: str) -> Cause:
    """Return the cause of an error; `unknown` for other codes."""
    return _CAUSES.get(code, "unknown")


def refusal(error: GcpRefused, where: str) -> LaunchRefusal:
    """Return the refusal of a launch with a message for users; `where` names the offer."""
    cause = cause_of(error.code)
    text = f"Google Cloud refused {where}: {error.message.rstrip('.')} ({error.code})"
    return LaunchRefusal(cause, f"{text}; {_WAYS_OUT[cause]}" if cause in _WAYS_OUT else text)


def _translated(answer: Response) -> GcpRefused | Transient:
    error = answer.content.get("error", {})
    reasons = [str(one.get("reason", "")) for one in error.get("errors", ())]
    code, message = reasons[0] if reasons else str(answer.status), str(error.get("message") or answer.text)
    if answer.status == 429 or cause_of(code) == "throttled":
        return Throttled(f"Google Cloud throttled the call: {message}")
    if answer.status >= 500:
        return Transient(f"Google Cloud failed: {message} ({answer.status})")
    return GcpRefused(code, message)
