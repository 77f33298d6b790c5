"""Each migration since releases can be rolled back says which older releases work on the schema after it."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SERVICES = Path(__file__).parents[2] / "services"
LAST_SILENT = {
    "gateway": "gateway_0001",
    "searcher": "searcher_0001",
    "scheduler": "scheduler_0001",
    "provisioner": "provisioner_0001",
    "registry": "registry_0001",
}
"""The newest revisions from before `compatible_from`: no older release reads it, so theirs is their own."""


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


@pytest.mark.parametrize("service", LAST_SILENT)
def test_each_migration_says_since_which_revision_a_release_works_on_it(service: str) -> None:
    revisions = [module.revision for module in chain(service)]
    first = revisions.index(LAST_SILENT[service])
    before = first
    for place, module in enumerate(chain(service)[first + 1 :], first + 1):
        assert hasattr(module, "compatible_from"), (
            f"{service} {module.revision}: add `compatible_from`: {revisions[before]!r} if this migration only adds,"
            f" {module.revision!r} if releases before it fail on the schema"
        )
        assert before <= revisions.index(module.compatible_from) <= place, (
            f"{service} {module.revision}: {module.compatible_from!r} is not between {revisions[before]!r} and itself"
        )
        before = revisions.index(module.compatible_from)
