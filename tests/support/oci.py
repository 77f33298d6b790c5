"""Images made of the running Python, and a registry that serves them."""

import base64
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LIST = "application/vnd.oci.image.index.v1+json"
_PROGRAMS = ("/bin/sh", "/bin/sleep", "/bin/cat", "/usr/bin/id", "/usr/bin/env")
_LEFT_OUT = {"site-packages", "test", "__pycache__", "idlelib", "tkinter", "ensurepip", "lib2to3"}


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


@cache
def python_layer() -> bytes:
    """A layer with this Python's standard library as /usr/local/bin/python3, and a shell: the base of all images here."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = Path(os.__file__).parent
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as layer:
        extensions = [str(path) for path in (library / "lib-dynload").glob("*.so")]
        python = str(Path(sys.executable).resolve())
        torch = sysconfig.get_paths()["platlib"] + "/torch/lib/libtorch_global_deps.so"
        for path in (*_PROGRAMS, *_libraries(*_PROGRAMS, python, torch, *extensions)):
            layer.add(os.path.realpath(path), path.lstrip("/"))
        layer.add(python, "usr/local/bin/python3")
        for folder, names, files in os.walk(library):
            names[:] = [name for name in names if name not in _LEFT_OUT]
            for name in files:
                path = os.path.join(folder, name)
                layer.add(path, f"usr/local/lib/{version}/{os.path.relpath(path, library)}")
        for name in ("tmp", "run", "var/tmp", "etc"):
            made = tarfile.TarInfo(name)
            made.type, made.mode = tarfile.DIRTYPE, 0o1777
            layer.addfile(made)
    return packed.getvalue()


def layer_of(files: dict[str, str]) -> bytes:
    """A layer with these files, which may be executed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as layer:
        for name, text in files.items():
            made = tarfile.TarInfo(name)
            made.size, made.mode = len(text.encode()), 0o755
            layer.addfile(made, io.BytesIO(text.encode()))
    return packed.getvalue()


def _libraries(*programs: str) -> list[str]:
    """The shared libraries of programs, by the paths that the loader looks for."""
    shown = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    found = {
        word
        for word in shown.split()
        if re.fullmatch(r"/\S+\.so[\d.]*", word) and "site-packages" not in word
    }
    return sorted(found | _loaded_later())


def _loaded_later() -> set[str]:
    """What torch and Horovod load by name."""
    names = ("pthread", "dl", "rt", "util", "stdc++", "gcc_s", "m")
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return {
        line.rpartition("=> ")[2]
        for line in known.splitlines()
        if "x86-64" in line and re.match(rf"\s*lib({'|'.join(map(re.escape, names))})\.so\.\d+ ", line)
    }


@dataclass
class Registry:
    """Serves images over HTTP. `passwords`: by repository, what it asks for; `served`: how often each blob or manifest was fetched.

    `then`: by `repository:tag`, what happens once after its next manifest was served.
    """

    passwords: dict[str, str] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], bytes] = field(default_factory=dict)
    served: Counter[str] = field(default_factory=Counter)
    then: dict[str, Callable[[], object]] = field(default_factory=dict)
    address: str = ""

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/v2/", self._on_version)
        app.router.add_get("/v2/{name:.+}/manifests/{reference}", self._on_manifest)
        app.router.add_get("/v2/{name:.+}/blobs/{digest}", self._on_blob)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0]
        self.address = f"{host}:{port}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    def add(
        self,
        name: str,
        variables: dict[str, str] | None = None,
        layers: tuple[bytes, ...] | None = None,
        config: dict[str, Any] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> str:
        """Add `repository:tag`, of this Python unless `layers` are given; return its digest. An image with other `annotations` is the same with
        another digest. `config`: what its author says of its containers."""
        repository, _, tag = name.partition(":")
        contents = layers or (python_layer(),)
        shown = {"PATH": "/usr/local/bin:/usr/bin:/bin"} | (variables or {})
        about: dict[str, Any] = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": [f"{key}={value}" for key, value in shown.items()]} | (config or {}),
            "rootfs": {"type": "layers", "diff_ids": [sha256(content) for content in contents]},
        }
        described = json.dumps(about).encode()
        kind = "application/vnd.oci.image.layer.v1.tar"
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": {
                    "mediaType": "application/vnd.oci.image.config.v1+json",
                    "digest": sha256(described),
                    "size": len(described),
                },
                "layers": [
                    {"mediaType": kind, "digest": sha256(content), "size": len(content)}
                    for content in contents
                ],
                **({"annotations": annotations} if annotations else {}),
            }
        ).encode()
        self.blobs |= {sha256(content): content for content in (described, *contents)}
        for reference in (tag, sha256(manifest)):
            self.manifests[repository, reference] = manifest
        return sha256(manifest)

    def add_list(self, name: str, images: dict[str, str]) -> str:
        """Add `repository:tag` as a list of images by architecture, given by their digests in this repository; return its digest."""
        repository, _, tag = name.partition(":")
        entries = []
        for architecture, digest in images.items():
            size = len(self.manifests.get((repository, digest), b"x" * 500))
            entry = {"mediaType": MANIFEST, "digest": digest, "size": size}
            entries.append({**entry, "platform": {"architecture": architecture, "os": "linux"}})
        listed = json.dumps({"schemaVersion": 2, "mediaType": LIST, "manifests": entries}).encode()
        for reference in (tag, sha256(listed)):
            self.manifests[repository, reference] = listed
        return sha256(listed)

    async def _on_version(self, request: web.Request) -> web.Response:
        # Clients try their credentials here first; whether a repository wants them is decided there.
        return (
            self._refusal()
            if self.passwords and "Authorization" not in request.headers
            else web.json_response({})
        )

    async def _on_manifest(self, request: web.Request) -> web.Response:
        name, reference = request.match_info["name"], request.match_info["reference"]
        if self._is_refused(request, name):
            return self._refusal()
        manifest = self.manifests.get((name, reference))
        self.served[f"{name}:{reference}"] += 1
        if manifest is None:
            return web.json_response({"errors": [{"code": "MANIFEST_UNKNOWN"}]}, status=404)
        if (then := self.then.pop(f"{name}:{reference}", None)) is not None:
            then()
        kind = json.loads(manifest)["mediaType"]
        return web.Response(
            body=manifest, content_type=kind, headers={"Docker-Content-Digest": sha256(manifest)}
        )

    async def _on_blob(self, request: web.Request) -> web.Response:
        if self._is_refused(request, request.match_info["name"]):
            return self._refusal()
        digest = request.match_info["digest"]
        self.served[digest] += request.method == "GET"
        if digest not in self.blobs:
            return web.json_response({"errors": [{"code": "BLOB_UNKNOWN"}]}, status=404)
        return web.Response(body=self.blobs[digest], content_type="application/octet-stream")

    def _is_refused(self, request: web.Request, name: str) -> bool:
        wanted = self.passwords.get(name)
        given = request.headers.get("Authorization", "")
        return wanted is not None and given != "Basic " + base64.b64encode(wanted.encode()).decode()

    def _refusal(self) -> web.Response:
        challenge = {"WWW-Authenticate": 'Basic realm="images"'}
        return web.json_response({"errors": [{"code": "UNAUTHORIZED"}]}, status=401, headers=challenge)
