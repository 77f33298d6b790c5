"""Serves the built dashboard (`web/`): a few static files, read once, without data of any tenant.

The page gets its data through the API like any client. The build lists the paths of the application in `routes.json`: these, and no others,
are answered with its page.
"""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
import structlog
from aiohttp import web

from muster.errors import NotFound

PAGE = "index.html"
ROUTES = "routes.json"
ASSETS = "assets"
"""Files whose names contain a hash of their content, so that they never change."""

_BUILT = Path(__file__).resolve().parents[4] / "web" / "dist"
_ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""Suffixes of the compressed files that the build creates, by preference."""
_NEVER_CHANGES = "public, max-age=31536000, immutable"
_ASK_EACH_TIME = "no-cache"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only scripts of the build run, and only this host is contacted."""
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Vary": "Accept-Encoding",
}
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _File:
    """A file with its content by encoding; "" is uncompressed."""

    forms: Mapping[str, bytes]
    media: str
    caching: str


class Dashboard:
    """Serves the files of one build."""

    def __init__(self, files: Mapping[str, _File], rooms: tuple[str, ...]) -> None:
        self._files = files
        self._rooms = rooms

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes of the application and of its files."""
        for path in (
            "/",
            *(f"/{room}" for room in self._rooms),
            *(f"/{room}/{{rest:.*}}" for room in self._rooms),
        ):
            router.add_get(path, self._show_page)
        router.add_get(f"/{ASSETS}/{{name}}", self._show_asset)
        for name in self._files:
            if "/" not in name and name != PAGE:
                router.add_get(f"/{name}", self._show_file)

    async def _show_page(self, request: web.Request) -> web.StreamResponse:
        return _answer(request, self._files[PAGE])

    async def _show_asset(self, request: web.Request) -> web.StreamResponse:
        found = self._files.get(f"{ASSETS}/{request.match_info['name']}")
        if found is None:
            raise NotFound("this file", "the dashboard has been updated; reload the page")
        return _answer(request, found)

    async def _show_file(self, request: web.Request) -> web.StreamResponse:
        return _answer(request, self._files[request.path.removeprefix("/")])


def load_dashboard(directory: Path | None) -> Dashboard | None:
    """Load the build in `directory`, by default in the checkout; None if the checkout has no build.

    Raises:
        FileNotFoundError: `directory` was given but contains no build.
    """
    root = directory or _BUILT
    if directory is None and not (root / ROUTES).exists():
        _log.info("no dashboard found", directory=str(root), hint="make setup builds it if Node is installed")
        return None
    rooms = tuple(orjson.loads((root / ROUTES).read_bytes())["rooms"])
    names = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    served = [name for name in names if _is_served(name)]
    return Dashboard({name: _load(root, name) for name in served}, rooms)


def _is_served(name: str) -> bool:
    """False for `routes.json`, hidden files, and compressed forms of files."""
    return name != ROUTES and not name.startswith(".") and not name.endswith(tuple(_ENCODINGS.values()))


def _load(root: Path, name: str) -> _File:
    others = {encoding: root / f"{name}{end}" for encoding, end in _ENCODINGS.items()}
    forms = {"": (root / name).read_bytes()}
    forms |= {encoding: path.read_bytes() for encoding, path in others.items() if path.exists()}
    media = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return _File(forms, media, _NEVER_CHANGES if name.startswith(f"{ASSETS}/") else _ASK_EACH_TIME)


def _answer(request: web.Request, file: _File) -> web.Response:
    taken = {one.partition(";")[0].strip() for one in request.headers.get("Accept-Encoding", "").split(",")}
    encoding = next((one for one in _ENCODINGS if one in taken and one in file.forms), "")
    headers = _HEADERS | {"Cache-Control": file.caching}
    if encoding:
        headers["Content-Encoding"] = encoding
    charset = "utf-8" if file.media.startswith("text/") else None
    return web.Response(body=file.forms[encoding], content_type=file.media, charset=charset, headers=headers)
