"""Each service has one chain of migrations, and each migration says which older releases work on the schema after it."""

import importlib.util
import json
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

SERVICES = Path(__file__).parents[2] / "services"
SERVICE_NAMES = ("gateway", "searcher", "scheduler", "provisioner", "registry")


def chain(service: str) -> list[ModuleType]:
    """The migrations of a service, oldest first."""
    modules = {}
    for file in (SERVICES / service / "migrations" / "versions").glob("[!_]*.py"):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.down_revision not in modules, f"{service}: two migrations follow {module.down_revision}"
        modules[module.down_revision] = module
    ordered, last = [], None
    while last in modules:
        ordered.append(modules[last])
        last = ordered[-1].revision
    assert len(ordered) == len(modules)
    return ordered


@pytest.mark.parametrize("service", SERVICE_NAMES)
def test_revisions_are_numbered_from_the_initial_one(service: str) -> None:
    modules = chain(service)
    assert [module.revision for module in modules] == [
        f"{service}_{n:04}" for n in range(1, len(modules) + 1)
    ]
    assert modules[0].compatible_from == modules[0].revision


@pytest.mark.parametrize("service", SERVICE_NAMES)
def test_each_migration_says_since_which_revision_a_release_works_on_it(service: str) -> None:
    revisions = [module.revision for module in chain(service)]
    before = 0
    for place, module in enumerate(chain(service)[1:], 1):
        assert hasattr(module, "compatible_from"), (
            f"{service} {module.revision}: add `compatible_from`: {revisions[before]!r} if this migration only adds,"
            f" {module.revision!r} if releases before it fail on the schema"
        )
        assert before <= revisions.index(module.compatible_from) <= place, (
            f"{service} {module.revision}: {module.compatible_from!r} is not between {revisions[before]!r} and itself"
        )
        before = revisions.index(module.compatible_from)


def test_the_newest_recorded_release_is_this_version() -> None:
    releases = json.loads((SERVICES.parent / "deploy/releases.json").read_text())
    version = tomllib.loads((SERVICES.parent / "pyproject.toml").read_text())["project"]["version"]
    assert releases[-1]["version"] == version
    assert f"## {version} " in (SERVICES.parent / "CHANGELOG.md").read_text()
    for release in releases:
        assert release["schemas"].keys() == set(SERVICE_NAMES)
        for service, revision in release["schemas"].items():
            assert revision in {module.revision for module in chain(service)}
