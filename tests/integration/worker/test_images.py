"""The space of images, with a real engine: those that Muster pulled are removed, least recently used first, and no others."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shared.messages.allocations import DesiredAllocation
from tests.integration.worker.conftest import heard
from tests.integration.worker.containers import Podman, start_podman
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.executors import need_podman
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import code_in, state_of
from tests.integration.worker.test_containers import ended, in_container
from tests.integration.worker.test_runs import ENDLESS
from tests.support.oci import Registry, layer_of, python_layer
from tests.support.waiting import eventually

pytestmark = need_podman
SHORT = "print('here')\n"


@pytest.fixture
async def podman() -> AsyncIterator[Podman]:
    """An engine of this test alone."""
    registry = Registry()
    await registry.start()
    made = start_podman(registry)
    yield made
    made.clear_away()
    await registry.stop()


def add(podman: Podman, name: str, *layers: bytes) -> str:
    """Add an image to the registry, with a layer of its own; return its name."""
    podman.registry.add(
        f"{name}:1", {"NAME": name}, (*(layers or (python_layer(),)), layer_of({"name": name}))
    )
    return f"{podman.registry.address}/{name}:1"


def present(podman: Podman) -> set[str]:
    """The images on the machine, without registry and tag."""
    found = podman.run("images", "--format", "{{.Repository}}").split()
    return {name.partition("/")[2] for name in found if "/" in name}


def size_of(podman: Podman, name: str) -> int:
    return int(json.loads(podman.run("image", "inspect", name))[0]["Size"])


async def trained(
    platform: FakePlatform, worker: Daemon, run: DesiredAllocation, *beside: DesiredAllocation
) -> None:
    await platform.desire(worker.name, run, *beside)
    found = await ended(platform, run, worker.name)
    assert found.exit_code == 0, found.reason
    await platform.desire(worker.name, *beside)


async def test_the_least_recently_used_image_is_removed_but_none_in_use_and_none_of_the_site(
    platform: FakePlatform, daemons: Callable[[str], Daemon], podman: Podman, tmp_path: Path
) -> None:
    site, tagged, used, old, broken, new, newer = (
        add(podman, name) for name in ("site", "tagged", "used", "old", "broken", "new", "newer")
    )
    add(podman, "broken", layer_of({"bin/nothing": "x"}))
    await asyncio.to_thread(podman.run, "pull", "--quiet", "--tls-verify=false", site)
    limit = int(2.5 * size_of(podman, site))
    settings = podman.settings | {"MUSTER_WORKER__IMAGES_BYTES": str(limit)}
    worker = await heard(platform, daemons("w1"), **settings)
    (tmp_path / "short").mkdir()
    (tmp_path / "endless").mkdir()
    short, endless = code_in(tmp_path / "short", SHORT), code_in(tmp_path / "endless", ENDLESS)

    stays = in_container(platform, "stays", endless, used)
    await platform.desire("w1", stays)
    await eventually(lambda: len(platform.steps(stays)) > 1)
    for image in (site, old):
        await trained(platform, worker, in_container(platform, image, short, image), stays)
    assert present(podman) == {"site", "used", "old"}, "within the limit, which the site's does not count for"

    refused = in_container(platform, "broken", short, broken)
    await platform.desire("w1", refused, stays)
    assert "cannot run trials" in ((await ended(platform, refused)).reason or "")
    await trained(platform, worker, in_container(platform, "new", short, new), stays)
    await eventually(lambda: present(podman) == {"site", "used", "broken", "new"})

    await trained(platform, worker, in_container(platform, "old again", short, old), stays)
    await eventually(lambda: "old" in present(podman) and "new" not in present(podman))
    assert {"site", "used"} <= present(podman)

    worker.kill()
    platform.observed.pop(worker.name)
    worker.start_again()
    await eventually(lambda: worker.name in platform.observed and state_of(platform, stays) == "running")
    await trained(platform, worker, in_container(platform, "tagged", short, tagged), stays)
    await eventually(lambda: "old" not in present(podman))
    podman.run("tag", tagged, "localhost/kept:1")
    await trained(platform, worker, in_container(platform, "newer", short, newer), stays)
    await trained(platform, worker, in_container(platform, "old once more", short, old), stays)
    await eventually(lambda: present(podman) == {"site", "used", "kept", "old"})
    assert state_of(platform, stays) == "running" and podman.containers() != []
