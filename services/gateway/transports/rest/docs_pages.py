"""Serves the OpenAPI document (`/openapi.json`) and a Swagger UI page for it (`/docs`), without data of any tenant.

The files of Swagger UI come from an installed wheel, so that nothing is loaded from other hosts.
"""

import asyncio
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from aiohttp import web

from muster.errors import NotFound
from services.gateway.platform.auth.csrf import COOKIE, HEADER
from services.gateway.transports.rest.openapi import Rows, render_openapi

OPENAPI_PATH = "/openapi.json"
DOCS_PATH = "/docs"
_KINDS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}
_HEADERS = {
    # Swagger UI needs inline styles. Scripts come from this host only, and other pages cannot embed this one.
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Muster API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START = f"""SwaggerUIBundle({{
  url: "{OPENAPI_PATH}", dom_id: "#api", deepLinking: true, filter: true, docExpansion: "none", validatorUrl: null,
  requestInterceptor: (request) => {{ request.headers["{HEADER}"] = "{COOKIE}"; return request; }},
}});
"""
"""Signing in on the page sets a session cookie; this header makes requests use it."""


class Description:
    """The OpenAPI document. It is rendered at the first request, because that takes most of a second."""

    def __init__(self, operations: Rows) -> None:
        self._operations = operations
        self._rendering: asyncio.Task[bytes] | None = None

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Return the document. A thread renders it once for all concurrent requests, even if one of them is cancelled."""
        if self._rendering is None:
            self._rendering = asyncio.create_task(asyncio.to_thread(render_openapi, self._operations))
        return web.Response(body=await asyncio.shield(self._rendering), content_type="application/json")


async def show_docs(request: web.Request) -> web.StreamResponse:
    """Return the Swagger UI page."""
    return web.Response(text=_PAGE, content_type="text/html", headers=_HEADERS)


async def show_file(request: web.Request) -> web.StreamResponse:
    """Return a file of the Swagger UI page."""
    name = request.match_info["name"]
    if name == "start.js":
        return web.Response(text=_START, content_type="text/javascript", headers=_HEADERS)
    if name not in _KINDS:
        raise NotFound(f"{DOCS_PATH}/{name}")
    return web.Response(body=_read(name), content_type=_KINDS[name], headers=_HEADERS)


@cache
def _read(name: str) -> bytes:
    found = find_spec("swagger_ui")
    if found is None or found.origin is None:
        raise NotFound(
            "Swagger UI", "install swagger-ui-py beside the platform; /openapi.json works without it"
        )
    return (Path(found.origin).with_name("static") / name).read_bytes()
