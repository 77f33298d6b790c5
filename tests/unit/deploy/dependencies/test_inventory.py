"""The bill of materials is valid and complete, and every licence is known and allowed."""

import json
from dataclasses import replace
from functools import cache
from importlib.resources import files

import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource

from deploy.dependencies.inventory import UNKNOWN, Component, licence_of, load_components, load_rules
from deploy.dependencies.licences import LIST, find_refused, is_allowed, render
from deploy.dependencies.requirements import LOCKS, TENSORFLOW
from deploy.dependencies.sbom import make_sbom

RULES = load_rules()
components = cache(load_components)
ONE = Component("pypi", "example", "1.0", "MIT")


def test_the_bill_of_materials_is_valid_cyclonedx() -> None:
    folder = files("cyclonedx.schema._res")
    names = ("bom-1.6.SNAPSHOT.schema.json", "spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")
    schemas = [json.loads(folder.joinpath(name).read_text()) for name in names]
    places = (f"http://cyclonedx.org/schema/{name}" for name in names)
    resources = zip(places, map(Resource.from_contents, schemas), strict=True)
    registry: Registry[object] = Registry().with_resources(resources)
    validator = Draft7Validator(schemas[0], registry=registry)
    document = make_sbom(components())
    assert [error.message for error in validator.iter_errors(document)] == []
    assert list(validator.iter_errors({**document, "components": [{"name": "without a type"}]}))


def test_it_contains_every_locked_package_and_the_servers() -> None:
    found = {(one.name, one.version) for one in components()}
    locked = {(one.name, one.version) for lock in LOCKS if lock is not TENSORFLOW for one in lock.packages()}
    assert locked <= found
    assert {one.name for one in components() if one.part_of} == {
        "nats-server",
        "seaweedfs",
        "redis",
        "postgresql",
    }
    assert any(one.ecosystem == "npm" and one.scope == "required" for one in components())
    assert all(one.hashes for one in components() if not one.part_of)


def test_equal_components_give_an_equal_document() -> None:
    assert make_sbom(components()) == make_sbom(components())
    assert make_sbom([ONE])["serialNumber"] != make_sbom([replace(ONE, version="1.1")])["serialNumber"]


def test_every_licence_is_allowed_and_listed() -> None:
    assert list(find_refused(components(), RULES)) == []
    assert LIST.read_text() == render(components()), "run `make licences`"


@pytest.mark.parametrize(
    ("licence", "reason"),
    [
        (UNKNOWN, "states no known licence"),
        ("GPL-3.0-only", "not allowed"),
        ("AGPL-3.0-or-later", "not allowed"),
        ("MIT AND GPL-2.0-only", "not allowed"),
        ("LicenseRef-NVIDIA", "not allowed"),
        ("MIT AND", "not allowed"),
    ],
)
def test_an_unknown_or_forbidden_licence_is_refused(licence: str, reason: str) -> None:
    (line,) = find_refused([replace(ONE, licence=licence)], RULES)
    assert "pypi package example 1.0" in line
    assert reason in line


def test_a_choice_of_licences_needs_one_that_is_allowed() -> None:
    assert is_allowed("GPL-2.0-only OR MIT", RULES.allowed)
    assert is_allowed("Apache-2.0 WITH LLVM-exception AND (MIT OR GPL-2.0-only)", RULES.allowed)
    assert not is_allowed("GPL-2.0-only WITH Classpath-exception-2.0", RULES.allowed)


def test_a_licence_is_read_from_what_the_package_states() -> None:
    assert licence_of("a", {"License-Expression": ["MIT"], "License": ["GPL"]}, RULES) == "MIT"
    assert licence_of("a", {"License": ["Apache 2.0"]}, RULES) == "Apache-2.0"
    assert licence_of("a", {"Classifier": ["License :: OSI Approved :: MIT License"]}, RULES) == "MIT"
    assert licence_of("a", {"License": ["see file"]}, RULES) == UNKNOWN
