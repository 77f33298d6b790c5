"""Serves packages to pip (`/packages/simple/`, PEP 503): the files of one folder of the site, without data of any tenant.

Machines install the platform from here, so that a stranger who registers one of its names on a public index reaches none of them.
"""

import asyncio
import hashlib
import os
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from aiohttp import web
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from muster.errors import NotFound

INDEX_PATH = "/packages"
REQUIREMENTS = "requirements.txt"
"""The locked third-party packages of the platform, with hashes."""
_HINT = "run `make packages` and copy its files into the folder MUSTER_GATEWAY__PACKAGES_DIRECTORY"
_Version = tuple[str, int, int]
"""Name, size and time of change of a file."""


@dataclass(frozen=True, slots=True)
class _Package:
    """A file that pip can install; `project` is the name as indexes compare it."""

    project: str
    path: Path


class PackageIndex:
    """Reads the folder at each request: a new file counts at once. Add files by a rename, so that nobody reads a partial one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hashes: dict[_Version, str] = {}

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes."""
        router.add_get(f"{INDEX_PATH}/simple/", self._show_projects)
        router.add_get(f"{INDEX_PATH}/simple/{{project}}/", self._show_files)
        router.add_get(f"{INDEX_PATH}/files/{{name}}", self._send_file)
        router.add_get(f"{INDEX_PATH}/{REQUIREMENTS}", self._send_requirements)

    async def _show_projects(self, request: web.Request) -> web.StreamResponse:
        packages = await asyncio.to_thread(self._packages)
        return _page([(f"{name}/", name) for name in sorted({one.project for one in packages})])

    async def _show_files(self, request: web.Request) -> web.StreamResponse:
        project = canonicalize_name(request.match_info["project"])
        links = await asyncio.to_thread(self._links, project)
        if not links:
            raise NotFound(f"the package {project}", _HINT)
        return _page(links)

    async def _send_file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        packages = await asyncio.to_thread(self._packages)
        found = next((one.path for one in packages if one.path.name == name), None)
        if found is None:
            raise NotFound(f"the file {name}", _HINT)
        return web.FileResponse(found, headers={"Content-Type": "application/octet-stream"})

    async def _send_requirements(self, request: web.Request) -> web.StreamResponse:
        path = self._folder / REQUIREMENTS
        if not await asyncio.to_thread(path.is_file):
            raise NotFound(f"the file {REQUIREMENTS}", _HINT)
        return web.FileResponse(path, headers={"Content-Type": "text/plain", "Cache-Control": "no-cache"})

    def _packages(self) -> list[_Package]:
        try:
            files = sorted(path for path in self._folder.iterdir() if path.is_file())
        except OSError as error:
            raise NotFound(f"the folder of packages ({error.strerror})", _HINT) from error
        projects = [(_project_of(path.name), path) for path in files]
        return [_Package(project, path) for project, path in projects if project]

    def _links(self, project: str) -> list[tuple[str, str]]:
        files = [one.path for one in self._packages() if one.project == project]
        return [(f"../../files/{quote(path.name)}#sha256={self._hash_of(path)}", path.name) for path in files]

    def _hash_of(self, path: Path) -> str:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            version = path.name, status.st_size, status.st_mtime_ns
            if version not in self._hashes:
                self._hashes[version] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._hashes[version]


def _project_of(file: str) -> str | None:
    """Return the project of a wheel or source archive; None if the file is neither."""
    try:
        read = parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename
        return read(file)[0]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def _page(links: list[tuple[str, str]]) -> web.Response:
    anchors = "\n".join(f'<a href="{escape(target)}">{escape(text)}</a><br>' for target, text in links)
    body = f'<!DOCTYPE html>\n<html><head><meta name="pypi:repository-version" content="1.0"><title>Packages</title></head><body>\n{anchors}\n</body></html>\n'
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": "default-src 'none'"}
    return web.Response(text=body, content_type="text/html", charset="utf-8", headers=headers)
