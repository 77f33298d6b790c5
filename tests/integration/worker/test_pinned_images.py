"""All runs of an experiment, on all machines, use the image that the first of them resolved, wherever its tag moves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from shared.messages.allocations import DesiredAllocation, ObservedAllocation
from shared.messages.trial_specs import GangMember
from tests.integration.worker.conftest import heard
from tests.integration.worker.containers import start_podman
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.executors import WITH_SITE, need_podman, opened, with_torch
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.support import begin_gang, code_in, state_of
from tests.support.oci import Registry, python_layer
from tests.support.waiting import eventually

pytestmark = need_podman
SCRIPT = "import os\nprint('trained with', os.environ['VERSION'])\n"


@pytest.fixture(scope="module")
async def registry(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> AsyncIterator[Registry]:
    """A registry of images, and two machines that share nothing else: each engine has its own storage."""
    async with opened("container", platform) as executor:
        assert executor.podman is not None
        registry = executor.podman.registry
        second = start_podman(registry)
        try:
            await heard(platform, daemons("p1"), **executor.podman.settings)
            await heard(platform, daemons("p2"), **second.settings)
            yield registry
        finally:
            second.clear_away()


def add(registry: Registry, name: str, number: int, **more: Any) -> str:
    """Move a tag to another version of an image; return its digest."""
    layers = (python_layer(), with_torch(version("torch")))
    return registry.add(name, {"VERSION": str(number), "PYTHONPATH": "/site"}, layers, **more)


def run_of(
    platform: FakePlatform,
    name: str,
    folder: Path,
    image: str,
    workers: tuple[str, ...] = ("p1",),
    *,
    experiment: str = "",
    **container: Any,
) -> DesiredAllocation:
    spec = {"container": {"images": {"cpu": image}, **WITH_SITE, **container}}
    members = tuple(GangMember(worker=worker, slots=1) for worker in workers)
    code = platform.add_code(folder)
    return platform.allocation(name, code, members, spec=spec, experiment=experiment or image)


async def ended(
    platform: FakePlatform, run: DesiredAllocation, worker: str | None = None
) -> ObservedAllocation:
    worker = worker or str(run.members[0].worker)
    await eventually(lambda: state_of(platform, run, worker) == "exited", 180)
    found = platform.of(worker, run)
    assert found is not None
    return found


async def version_of(platform: FakePlatform, run: DesiredAllocation) -> str:
    """Train, and return which version of the image the run had."""
    await platform.desire(str(run.members[0].worker), run)
    found = await ended(platform, run)
    assert (found.exit_code, found.fault) == (0, None), found.reason
    await eventually(lambda: "trained with" in platform.text(run))
    return platform.text(run).partition("trained with ")[2].split()[0]


def digests(platform: FakePlatform, run: DesiredAllocation) -> set[str | None]:
    return {one.image for one in platform.phases[run.run_id] if one.kind == "pull_image"}


async def test_later_runs_on_other_machines_use_the_image_of_the_first_though_its_tag_has_moved(
    platform: FakePlatform, registry: Registry, tmp_path: Path
) -> None:
    """Also if the pull is forced. Another experiment gets what the tag means now."""
    code, image = code_in(tmp_path, SCRIPT), f"{registry.address}/moves/between-runs:1"
    first = add(registry, "moves/between-runs:1", 1)
    begins = run_of(platform, "begins", code, image)
    assert await version_of(platform, begins) == "1"
    add(registry, "moves/between-runs:1", 2)
    elsewhere = run_of(platform, "elsewhere", code, image, ("p2",))
    assert await version_of(platform, elsewhere) == "1"
    assert registry.served["moves/between-runs:1"] == 1, "the other machine never asked for the tag"
    forced = run_of(platform, "forced", code, image, force_pull=True)
    assert await version_of(platform, forced) == "1"
    other = run_of(platform, "other", code, image, force_pull=True, experiment="another one")
    assert await version_of(platform, other) == "2"
    again = run_of(platform, "again", code, image)
    assert await version_of(platform, again) == "1"
    pinned = {f"{registry.address}/moves/between-runs@{first}"}
    await eventually(lambda: all(digests(platform, run) == pinned for run in (begins, elsewhere, forced)))


async def test_members_of_a_gang_that_resolve_a_moving_tag_at_the_same_time_train_with_one_image(
    platform: FakePlatform, registry: Registry, tmp_path: Path
) -> None:
    """The tag moves between their two pulls. Nobody is charged: the later one pulls the earlier one's image."""
    name = "moves/in-a-gang:1"
    found = {add(registry, name, 1): "1"}
    registry.then[name] = lambda: found.update({add(registry, name, 2): "2"})
    code, image = code_in(tmp_path, SCRIPT), f"{registry.address}/{name}"
    run = run_of(platform, "gang", code, image, ("p1", "p2"))
    platform.before_pinning = asyncio.Barrier(2)
    met = await begin_gang(platform, run)
    for worker in ("p1", "p2"):
        end = await ended(platform, met, worker)
        assert (end.exit_code, end.fault) == (0, None), (end.reason, platform.text(run))
    assert registry.served[name] == 2, "each member has resolved the tag"
    resolved = [one.resolved for one in platform.pins_asked if one.run_id == run.run_id and one.resolved]
    assert sorted(resolved) == sorted(found)
    await eventually(lambda: platform.text(run).count("trained with") == 2)
    counts = platform.pins[run.experiment_id, image]
    assert platform.text(run).count(f"trained with {found[counts]}") == 2
    await eventually(lambda: digests(platform, run) == {f"{registry.address}/moves/in-a-gang@{counts}"})


@pytest.mark.parametrize("is_known", [False, True])
async def test_an_image_for_several_architectures_is_pinned_by_its_list(
    platform: FakePlatform, registry: Registry, tmp_path: Path, is_known: bool
) -> None:
    """The digest of one architecture's image is of no use on others, also if the machine knows the image by it already."""
    name, number = f"many/known-{is_known}".lower(), 11 + is_known
    code, image = code_in(tmp_path, SCRIPT), f"{registry.address}/{name}:1"
    own = add(registry, f"{name}:0", number)
    if is_known:
        assert (
            await version_of(platform, run_of(platform, name, code, f"{registry.address}/{name}:0")) == "12"
        )
    listed = registry.add_list(f"{name}:1", {"amd64": own, "arm64": "sha256:" + "0" * 64})
    for worker in ("p1", "p2"):
        run = run_of(platform, f"{name} {worker}", code, image, (worker,))
        assert await version_of(platform, run) == str(number)
        assert platform.pins[run.experiment_id, image] == listed


async def test_a_digest_that_the_image_has_elsewhere_is_not_pinned(
    platform: FakePlatform, registry: Registry, tmp_path: Path
) -> None:
    """Engines list the digests of all names of an image, and another tenant may have pulled it by another name."""
    code = code_in(tmp_path, SCRIPT)
    for repository in ("elsewhere/a", "elsewhere/z"):
        elsewhere = add(registry, f"{repository}:1", 7, annotations={"note": repository})
        run = run_of(platform, repository, code, f"{registry.address}/{repository}:1")
        await version_of(platform, run)
        assert platform.pins[run.experiment_id, f"{registry.address}/{repository}:1"] == elsewhere
    own = add(registry, "elsewhere/own:1", 7, annotations={"note": "own"})
    image = f"{registry.address}/elsewhere/own:1"
    run = run_of(platform, "own digest", code, image)
    assert await version_of(platform, run) == "7"
    assert platform.pins[run.experiment_id, image] == own


async def test_a_digest_that_its_registry_has_deleted_is_named_and_charged_to_nobody(
    platform: FakePlatform, registry: Registry, tmp_path: Path
) -> None:
    code, image = code_in(tmp_path, SCRIPT), f"{registry.address}/deleted/by-digest:1"
    first = add(registry, "deleted/by-digest:1", 1)
    assert await version_of(platform, run_of(platform, "before", code, image)) == "1"
    add(registry, "deleted/by-digest:1", 2)
    del registry.manifests["deleted/by-digest", first]
    run = run_of(platform, "after", code, image, ("p2",))
    await platform.desire("p2", run)
    found = await ended(platform, run)
    reason = found.reason or ""
    assert found.fault == "machine"
    assert f"deleted/by-digest@{first} could not be pulled" in reason and "first run resolved" in reason
