"""Compute Engine for one project: it keeps machines, and takes no call that the vendor's published description of the API would refuse.

The description is the discovery document of the client package: paths, methods, parameters, and the schemas of what is sent.
"""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import googleapiclient
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PROJECT, EMAIL = "research", "muster@research.iam.gserviceaccount.com"
Json = dict[str, Any]
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
}
_FILTER = re.compile(r"labels\.([a-z-]+)=(.*)")


@cache
def discovery() -> Json:
    """The vendor's description of Compute Engine."""
    folder = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    found: Json = json.loads((folder / "compute.v1.json").read_text())
    return found


@dataclass
class Project:
    """What it holds, and how it behaves from now on.

    Attributes:
        capacity: Machines left of (kind, zone); not named: any number.
        operation_faults: Codes with which the next operations fail, before anything is made.
        refusals: (status, reason) of the next calls that change something.
        fails_after: How often a change is made and then answered with an error 503.
        tokens: Those that are good.
        grants: What was asked of the token service of service accounts.
        token_refusals: What it answers to the next of them instead.
        token_life_s: How long a token is good, as is said.
        polls: How often an operation is asked for until it is done.
        unreachable: Zones that are not shown.
        page: Machines of a page at most.
    """

    machines: dict[str, Json] = field(default_factory=dict)
    capacity: dict[tuple[str, str], int] = field(default_factory=dict)
    operation_faults: list[str] = field(default_factory=list)
    refusals: list[tuple[int, str]] = field(default_factory=list)
    fails_after: int = 0
    polls: int = 0
    unreachable: set[str] = field(default_factory=set)
    page: int = 500
    calls: Counter[str] = field(default_factory=Counter)
    tokens: set[str] = field(default_factory=set)
    grants: list[Mapping[str, Any]] = field(default_factory=list)
    token_refusals: list[Json] = field(default_factory=list)
    token_life_s: int = 3599
    url: str = ""
    _operations: dict[str, Json] = field(default_factory=dict)

    async def grant(self, request: web.Request) -> web.Response:
        """As Google's token service for service accounts, and its security token service for identities of others."""
        self.grants.append(await request.post())
        if self.token_refusals:
            return web.json_response(self.token_refusals.pop(0), status=400)
        return self._give_token()

    async def metadata(self, request: web.Request) -> web.Response:
        """As the metadata server of a machine that has an account."""
        assert request.headers["Metadata-Flavor"] == "Google"
        flavor = {"Metadata-Flavor": "Google"}
        match request.match_info["path"]:
            case "":
                return web.Response(headers=flavor)
            case "computeMetadata/v1/project/project-id":
                return web.Response(text=PROJECT, headers=flavor)
            case "computeMetadata/v1/instance/service-accounts/default/":
                return web.json_response(
                    {"email": EMAIL, "scopes": [], "aliases": ["default"]}, headers=flavor
                )
            case "computeMetadata/v1/instance/service-accounts/default/token":
                return self._give_token()
        return web.Response(status=404)

    def _give_token(self) -> web.Response:
        token = f"token-{len(self.tokens)}"
        self.tokens = {token}
        return web.json_response(
            {"access_token": token, "expires_in": self.token_life_s, "token_type": "Bearer"}
        )

    async def serve(self, request: web.Request) -> web.Response:
        path = request.path.removeprefix("/compute/v1/")
        self.calls[f"{request.method} {path.rpartition('/')[2]}"] += 1
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            return _refusal(401, "authError", "Invalid Credentials")
        method = find_method(request.method, path)
        if method is None:
            return _refusal(404, "notFound", f"there is no {request.method} {path}")
        content = await request.json() if request.can_read_body else None
        faults = [f"unknown parameter {name}" for name in request.query if name not in method["parameters"]]
        faults += problems(method.get("request"), content, "body") if content is not None else []
        if faults:
            return _refusal(400, "invalid", "; ".join(faults))
        if request.method in ("POST", "DELETE") and not path.endswith("/wait") and self.refusals:
            status, reason = self.refusals.pop(0)
            return _refusal(status, reason, f"as the test wants it: {reason}")
        return self._answer(request, path.split("/"), content)

    def _answer(self, request: web.Request, segments: list[str], content: Json | None) -> web.Response:
        match segments:
            case ["projects", _, "zones", zone, "instances", "bulkInsert"]:
                assert content is not None
                return self._begin(request.query["requestId"], zone, content)
            case ["projects", _, "zones", _, "operations", name, "wait"]:
                operation = self._operations[name]
                operation["asked"] += 1
                operation["status"] = "DONE" if operation["asked"] > self.polls else "RUNNING"
                return web.json_response({key: one for key, one in operation.items() if key != "asked"})
            case ["projects", _, "aggregated", "instances"]:
                return web.json_response(self._list(request.query))
            case ["projects", _, "zones", zone, "instances", name]:
                if f"{zone}/{name}" not in self.machines:
                    return _refusal(404, "notFound", f"The resource '{name}' was not found")
                del self.machines[f"{zone}/{name}"]
                return web.json_response({"name": "operation-delete", "status": "RUNNING"})
        return _refusal(404, "notFound", "not of this test")

    def _begin(self, request_id: str, zone: str, content: Json) -> web.Response:
        name = f"operation-{request_id}"
        if name not in self._operations:
            self._operations[name] = {"name": name, "status": "RUNNING", "asked": 0} | self._make(
                zone, content
            )
        if self.fails_after > 0:
            self.fails_after -= 1
            return _refusal(503, "backendError", "Internal error")
        return web.json_response({"name": name, "status": "RUNNING"})

    def _make(self, zone: str, content: Json) -> Json:
        """Makes what there is to be had; what is left of the operation: its error."""
        if self.operation_faults:
            return _failed(self.operation_faults.pop(0), "as the test wants it")
        properties = content["instanceProperties"]
        place = properties["machineType"], zone
        count = min(int(content["count"]), self.capacity.get(place, 10**9))
        if count < int(content["minCount"]):
            return _failed(
                "ZONE_RESOURCE_POOL_EXHAUSTED", f"The zone '{zone}' does not have enough resources"
            )
        if place in self.capacity:
            self.capacity[place] -= count
        for name in list(content["perInstanceProperties"])[:count]:
            self.machines[f"{zone}/{name}"] = properties | {
                "name": name,
                "zone": f"https://www.googleapis.com/compute/v1/projects/{PROJECT}/zones/{zone}",
                "status": "RUNNING",
                "creationTimestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            }
        return {}

    def _list(self, query: Any) -> Json:
        asked = _FILTER.fullmatch(query["filter"])
        assert asked is not None
        first = int(query.get("pageToken", 0))
        found = [
            (key.partition("/")[0], one)
            for key, one in self.machines.items()
            if one["labels"].get(asked[1]) == asked[2]
        ]
        items: Json = {"zones/nowhere": {"warning": {"code": "NO_RESULTS_ON_PAGE"}}}
        for zone, one in found[first : first + self.page]:
            items.setdefault(f"zones/{zone}", {"instances": []})["instances"].append(one)
        for zone in self.unreachable:
            items[f"zones/{zone}"] = {"warning": {"code": "UNREACHABLE", "message": "try later"}}
        more = {"nextPageToken": str(first + self.page)} if len(found) > first + self.page else {}
        return {"items": items, **more}


@asynccontextmanager
async def gcp_server() -> AsyncIterator[Project]:
    """A server with an empty project."""
    project = Project()
    application = web.Application()
    application.router.add_post("/token", project.grant)
    application.router.add_route("*", "/compute/v1/{path:.+}", project.serve)
    application.router.add_get("/{path:.*}", project.metadata)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    project.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield project
    finally:
        await runner.cleanup()


def write_key(project: Project, folder: Path) -> Path:
    """The file of a service account's key, whose tokens come from this server."""
    file = folder / "key.json"
    key = {"type": "service_account", "client_email": EMAIL, "private_key": _private_key()}
    file.write_text(json.dumps(key | {"token_uri": f"{project.url}/token"}))
    return file


def find_method(verb: str, path: str) -> Json | None:
    """The description of a call; None where there is none of that path."""
    for form, method in _methods():
        if method["httpMethod"] == verb and re.fullmatch(form, path):
            return method
    return None


def problems(schema: Json | None, value: Any, place: str) -> list[str]:
    """What of a value the schema does not allow: unknown fields, wrong types, impossible values, each with its place."""
    if schema is None:
        return [f"{place}: nothing is due"]
    if "$ref" in schema:
        schema = discovery()["schemas"][schema["$ref"]]
    assert schema is not None
    kind = str(schema.get("type"))
    if kind == "array":
        if not isinstance(value, list):
            return [f"{place}: a list is due"]
        return [
            fault
            for at, one in enumerate(value)
            for fault in problems(schema["items"], one, f"{place}[{at}]")
        ]
    if kind == "object":
        return _problems_of_object(schema, value, place)
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        return [f"{place}: {value!r} is no {kind}"]
    if schema.get("format") in ("int64", "uint64") and not str(value).lstrip("-").isdigit():
        return [f"{place}: {value!r} is no number"]
    return [] if value in schema.get("enum", [value]) else [f"{place}: {value!r} is none of {schema['enum']}"]


def _problems_of_object(schema: Json, value: Any, place: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{place}: an object is due"]
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    faults = []
    for key, one in value.items():
        form = known.get(key, others)
        faults += (
            [f'{place}: unknown field "{key}"'] if form is None else problems(form, one, f"{place}.{key}")
        )
    return faults


@cache
def _private_key() -> str:
    key = rsa.generate_private_key(65537, 2048)
    form, no_password = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, no_password).decode()


@cache
def _methods() -> list[tuple[str, Json]]:
    return [
        (re.sub(r"\\?\{\w+\\?\}", "[^/]+", method["flatPath"]), method)
        for method in _walk(discovery()["resources"])
    ]


def _walk(resources: Json) -> Iterator[Json]:
    for resource in resources.values():
        yield from resource.get("methods", {}).values()
        yield from _walk(resource.get("resources", {}))


def _failed(code: str, message: str) -> Json:
    return {"error": {"errors": [{"code": code, "message": message}]}}


def _refusal(status: int, reason: str, message: str) -> web.Response:
    body = {"error": {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}}
    return web.json_response(body, status=status)
