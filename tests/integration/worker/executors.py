"""What tests need that run on each executor: workers with its settings, and runs that use it."""

import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember
from tests.integration.worker.containers import SITE, Podman, start_podman
from tests.integration.worker.fakes import FakePlatform
from tests.support.oci import Registry, layer_of, python_layer

WITH_SITE = {"bind_mounts": [{"host_path": str(SITE), "container_path": "/site"}]}
PACKAGES = f"usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"

need_podman = pytest.mark.skipif(
    os.environ.get("CI") != "true" and (os.geteuid() != 0 or not shutil.which("podman")),
    reason="needs root and podman",
)


@dataclass(frozen=True)
class Executor:
    """An executor under test; `podman` is set for containers."""

    name: str
    platform: FakePlatform
    podman: Podman | None = None

    @property
    def settings(self) -> dict[str, str]:
        """What its workers need."""
        return self.podman.settings if self.podman else {}

    @property
    def horovod(self) -> str:
        """Where its ranks find Horovod."""
        return str(SITE) if self.podman is None else "/opt/muster"

    def worker(self, number: int) -> str:
        return f"{self.name}-{number}"

    def run(
        self,
        name: str,
        folder: Path,
        workers: tuple[int, ...] = (1,),
        *,
        has_torch: bool = False,
        spec: dict[str, Any] | None = None,
        **more: Any,
    ) -> DesiredAllocation:
        """A run with one slot on each of these workers, as the scheduler gives it to them."""
        members = tuple(GangMember(worker=self.worker(number), slots=1) for number in workers)
        spec = dict(spec or {})
        if self.podman is not None:
            image = f"{self.podman.registry.address}/team/{'torch' if has_torch else 'python'}:1"
            own = {"images": {"cpu": image}, **(WITH_SITE if has_torch else {})}
            spec["container"] = own | spec.get("container", {})
        code = self.platform.add_code(folder)
        return self.platform.allocation(f"{self.name} {name}", code, members, spec=spec, **more)

    def containers(self) -> list[str]:
        return self.podman.containers() if self.podman else []


def with_torch(version: str) -> bytes:
    """A layer that says that torch is installed; its files are mounted."""
    return layer_of({f"{PACKAGES}/torch-{version}.dist-info/METADATA": f"Name: torch\nVersion: {version}\n"})


@asynccontextmanager
async def serving_images() -> AsyncIterator[Registry]:
    """A registry with the images of all tests: one of Python, one of torch."""
    running = Registry()
    await running.start()
    running.add("team/python:1", {"FROM_IMAGE": "yes"})
    running.add("team/torch:1", {"PYTHONPATH": "/site"}, (python_layer(), with_torch(version("torch"))))
    yield running
    await running.stop()


@asynccontextmanager
async def opened(name: str, platform: FakePlatform) -> AsyncIterator[Executor]:
    """Offer the executor; any name but `container` is one of processes."""
    if name != "container":
        yield Executor(name, platform)
        return
    async with serving_images() as registry:
        podman = start_podman(registry)
        try:
            yield Executor(name, platform, podman)
        finally:
            podman.clear_away()
