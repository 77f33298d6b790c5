"""The images that this worker pulled: their record on disk, and their removal. Neighbour: `images` pulls them and decides when."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from pydantic import TypeAdapter

from muster.config.containers import is_full_image_name
from worker.executors.container import Engine

REMOVE_S = 300.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PulledImage:
    """An image that this worker pulled. `names`: the names by which it pulled it; `size_bytes`: of all its layers."""

    names: tuple[str, ...]
    size_bytes: int


_RECORD = TypeAdapter(dict[str, PulledImage])


class PulledImages:
    """Records by the engine's id, the least recently used first. All other images of the engine are the site's. Without the file all are, and none is removed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._images = _load(file)

    def __contains__(self, image: str) -> bool:
        return image in self._images

    @property
    def total_bytes(self) -> int:
        """The size of all images. Layers count for each image that has them."""
        return sum(one.size_bytes for one in self._images.values())

    def add(self, image: str, name: str, size_bytes: int) -> None:
        """Record an image that was pulled by a name, again or for the first time."""
        names = self._images.pop(image).names if image in self._images else ()
        self._images[image] = PulledImage(tuple(dict.fromkeys((*names, name))), size_bytes)
        self._save()

    def use(self, image: str) -> None:
        """Record that a run uses an image now."""
        if image in self._images:
            self._images[image] = self._images.pop(image)
            self._save()

    def least_recent(self, but: Collection[str]) -> str | None:
        """Return the least recently used image, none of `but`; None if there is no other."""
        return next((image for image in self._images if image not in but), None)

    def names_of(self, image: str) -> tuple[str, ...]:
        """Return the names by which an image was pulled."""
        return self._images[image].names

    def drop(self, image: str) -> None:
        """Forget an image."""
        del self._images[image]
        self._save()

    def _save(self) -> None:
        new = self._file.with_suffix(".new")
        try:
            new.write_bytes(_RECORD.dump_json(self._images))
            new.replace(self._file)
        except OSError as error:  # a full disk stops runs, not the worker; the next change writes it
            _log.error("the record of images could not be written", error=str(error))


def _load(file: Path) -> dict[str, PulledImage]:
    try:
        return _RECORD.validate_json(file.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        _log.error("the record of images is damaged; images pulled so far are not removed", error=str(error))
        return {}


def list_images(engine: Engine) -> set[str]:
    """Return the ids of all images on the machine. Raises OSError."""
    listed = engine.run("images", "--all", "--quiet", "--no-trunc")
    if listed.returncode:
        raise OSError(
            f"the images on this machine could not be listed: {listed.stderr.decode(errors='replace')}"
        )
    return {plain_id(line) for line in listed.stdout.decode().split()}


def plain_id(image: str) -> str:
    """Return an image's id without its algorithm, which not all commands print."""
    return image.removeprefix("sha256:")


def has_image(engine: Engine, image: str) -> bool:
    """Whether an image is on the machine. Raises OSError."""
    return _inspect(engine, image) is not None


def remove_image(engine: Engine, image: str, names: Collection[str]) -> bool:
    """Remove the names that Muster gave an image, and the image if it has no others. Blocks.

    Return whether Muster has no more to do with it: False if a container uses it. Raises OSError.
    """
    for name in names:
        found = _inspect(engine, name)
        if found and plain_id(str(found["Id"])) == plain_id(image):
            _remove(engine, name)
    if plain_id(image) not in list_images(engine):
        return True
    tags = (_inspect(engine, image) or {}).get("RepoTags") or []
    if not tags:
        return _remove(engine, image)
    return not any(_full_name(tag) in names for tag in tags)


def _full_name(tag: str) -> str:
    """Return a tag as Muster names it: Docker leaves out its own registry."""
    return (
        tag if is_full_image_name(tag) else f"docker.io/{tag}" if "/" in tag else f"docker.io/library/{tag}"
    )


def _remove(engine: Engine, name: str) -> bool:
    # Without the option, images without a name that it was built from would be removed too.
    return engine.run("rmi", "--no-prune", name, timeout_s=REMOVE_S).returncode == 0


def _inspect(engine: Engine, name: str) -> dict[str, Any] | None:
    found = engine.run("image", "inspect", name)
    try:
        return dict(json.loads(found.stdout)[0])
    except (ValueError, LookupError, TypeError):
        return None
