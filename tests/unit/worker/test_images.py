"""When images are removed: while runs start, while others pull, and when the engine fails."""

import asyncio
import hashlib
import json
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

from muster.errors import Rejected
from tests.support.waiting import eventually
from worker.environments.images import ImageRequest, Images
from worker.environments.pulled_images import PulledImages

SIZE = 100
PYTHON = json.dumps({"python": [3, 11]})


def repository(name: str) -> str:
    return name.partition("@")[0].partition(":")[0]


def digest(image: str) -> str:
    return "sha256:" + hashlib.sha256(image.encode()).hexdigest()


async def no_pin(resolved: str | None) -> str | None:
    """As the first run of an experiment."""
    return resolved


@dataclass
class FakeEngine:
    """An engine whose images are names. `ids`: by name, what it has; `held`: pulls of these names wait; `busy`: ids that containers use."""

    ids: dict[str, str] = field(default_factory=dict)
    held: dict[str, threading.Event] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    is_down: bool = False
    pulls: list[str] = field(default_factory=list)
    is_podman = True
    rights = ()

    def run(self, *arguments: str, **_: object) -> "subprocess.CompletedProcess[bytes]":
        if self.is_down:
            return self._answer("", 125)
        match arguments:
            case ("pull", "--quiet", "--platform", *_):
                return self._answer("")
            case ("pull", "--quiet", source):
                name = source.removeprefix("docker://")
                if name in self.held:
                    self.held[name].wait(10)
                self.pulls.append(name)
                self.ids[name] = f"id-of-{repository(name)}"
                return self._answer(self.ids[name])
            case ("images", *_):
                return self._answer("".join(f"sha256:{one}\n" for one in self.ids.values()))
            case ("image", "inspect", name):
                found = self.ids.get(name) or (name if name in self.ids.values() else None)
                if found is None:
                    return self._answer("[]", 125)
                names = [one for one, image in self.ids.items() if image == found]
                digests = [f"{repository(one)}@{digest(found)}" for one in names]
                tags = [one for one in names if "@" not in one]
                facts = {"Id": found, "Size": SIZE, "Config": {}, "RepoDigests": digests, "RepoTags": tags}
                return self._answer(json.dumps([facts]))
            case ("rmi", "--no-prune", name):
                names = [one for one, image in self.ids.items() if name in (one, image)]
                if len(names) != 1:
                    return self._answer("", 125)
                others = [one for one, image in self.ids.items() if image == self.ids[names[0]]]
                if len(others) == 1 and self.ids[names[0]] in self.busy:
                    return self._answer("", 2)
                del self.ids[names[0]]
            case ("run", *rest):
                return self._answer("" if self.broken.intersection(rest) else PYTHON)
        return self._answer("")

    def _answer(self, text: str, code: int = 0) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.CompletedProcess([], code, text.encode(), b"it is down")


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def make(engine: FakeEngine, tmp_path: Path) -> Callable[[], Images]:
    """Makes what a daemon has of images; its runs use none."""
    return lambda: Images(cast("Any", engine), PulledImages(tmp_path / "images.json"), 2 * SIZE)


async def get(images: Images, name: str, tenant: int = 1) -> str:
    request = ImageRequest(name=f"r.io/{name}:1", tenant=UUID(int=tenant))
    return (await images.get(request, no_pin, lambda line: None)).id


def here(engine: FakeEngine) -> set[str]:
    return {name.removeprefix("r.io/").removesuffix(":1") for name in engine.ids if "@" not in name}


async def settled(images: Images) -> None:
    await eventually(lambda: not images._removals)


async def test_the_least_recently_used_goes_also_after_a_restart(engine: FakeEngine, make: Any) -> None:
    images = make()
    for name in ("a", "b", "a"):
        await get(images, name)
    images = make()
    await get(images, "c")
    await settled(images)
    assert here(engine) == {"a", "c"} and engine.pulls.count("r.io/a:1") == 1
    await get(images, "b")
    await settled(images)
    assert here(engine) == {"b", "c"}


async def test_images_of_runs_and_of_the_site_stay(engine: FakeEngine, make: Any) -> None:
    images = make()
    engine.ids["r.io/site:1"] = "id-of-site"
    engine.ids["site.io/named"] = "id-of-r.io/named"
    images.in_use = lambda: {"id-of-r.io/a"}
    for name in ("a", "named", "b", "c", "d"):
        await get(images, name)
        await settled(images)
    assert here(engine) == {"a", "d", "site", "named", "site.io/named"}
    engine.busy.add("id-of-r.io/d")
    images.in_use = tuple
    await get(images, "e")
    await settled(images)
    assert here(engine) >= {"d", "e"} and "a" not in here(engine), "the engine keeps what a container uses"


async def test_a_run_that_starts_keeps_its_image_while_another_one_s_is_pulled(
    engine: FakeEngine, make: Any
) -> None:
    """Also a run that waits for a second pull of a name, whose image it would use if that failed."""
    images = make()
    first = await get(images, "a")
    engine.held["r.io/a:1"] = threading.Event()
    forced = ImageRequest(name="r.io/a:1", tenant=UUID(int=1), is_forced=True)
    again = asyncio.create_task(images.get(forced, no_pin, lambda line: None))
    await asyncio.sleep(0.05)
    for name in ("b", "c", "d"):
        await get(images, name)
    assert here(engine) >= {"a"}, "nothing is removed during a pull"
    engine.held["r.io/a:1"].set()
    assert (await again).id == first
    await settled(images)
    assert here(engine) == {"a", "d"}


async def test_an_image_that_somebody_removed_is_pulled_again(engine: FakeEngine, make: Any) -> None:
    images = make()
    await get(images, "a")
    engine.ids.clear()
    await get(images, "a")
    assert engine.pulls.count("r.io/a:1") == 2


async def test_images_that_cannot_run_trials_count_too(engine: FakeEngine, make: Any) -> None:
    images = make()
    for name in ("a", "b", "c", "d"):
        engine.broken.add(f"id-of-r.io/{name}")
        with pytest.raises(Rejected, match="cannot run trials"):
            await get(images, name)
        await settled(images)
    assert here(engine) == {"c", "d"}


async def test_a_tag_that_the_site_added_keeps_the_image(engine: FakeEngine, make: Any) -> None:
    images = make()
    await get(images, "a")
    engine.ids["mine:1"] = engine.ids["r.io/a:1"]
    for name in ("b", "c"):
        await get(images, name)
    await settled(images)
    assert here(engine) == {"mine", "b", "c"}


async def test_a_failing_engine_loses_no_record(engine: FakeEngine, make: Any, tmp_path: Path) -> None:
    images = make()
    for name in ("a", "b"):
        await get(images, name)
    await settled(images)
    images._record.add("id-of-more", "r.io/more:1", SIZE)
    engine.is_down = True
    await images._make_room(cast("Any", engine))
    assert len(json.loads((tmp_path / "images.json").read_text())) == 3
    (tmp_path / "images.json").write_text("{")
    engine.is_down = False
    images = make()
    for name in ("c", "d", "e"):
        await get(images, name)
    await settled(images)
    assert here(engine) == {"a", "b", "d", "e"}, "what is not known as its own is the site's"


async def test_a_run_keeps_its_image_from_the_pull_to_its_start(engine: FakeEngine, make: Any) -> None:
    """Without any space: each image may be removed as soon as no run that is here or starts uses it."""
    images = make()
    images._limit_bytes = 0
    used: set[str] = set()
    images.in_use = lambda: used

    async def start(name: str) -> None:
        used.add(await get(images, name))

    for _ in range(10):
        used.clear()
        await asyncio.gather(*(start(name) for name in ("a", "b", "a", "c", "a")))
        assert used <= set(engine.ids.values())
        await settled(images)
        assert here(engine) == {"a", "b", "c"}
