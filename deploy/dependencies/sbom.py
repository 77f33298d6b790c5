"""`make sbom`: writes the bill of materials in CycloneDX 1.6: all packages of Python and npm with hashes and licences, and the embedded servers."""

import json
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from pydantic import JsonValue

from deploy.dependencies.inventory import UNKNOWN, Component, load_components
from deploy.dependencies.requirements import ROOT

_NAME = "muster-platform"


def main(path: str) -> int:
    document = make_sbom(load_components())
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document, indent=2) + "\n")
    components = document["components"]
    assert isinstance(components, list)
    print(f"wrote {target} ({len(components)} components)")
    return 0


def make_sbom(components: Iterable[Component]) -> dict[str, JsonValue]:
    """Return the document. Equal components give an equal document: it has no time, and its serial number follows from its contents."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    listed = list(components)
    contents = "\n".join(f"{one.purl} {one.licence} {one.hashes}" for one in listed)
    root = f"pkg:pypi/{_NAME}@{version}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid5(NAMESPACE_URL, f"{root} {contents}").urn,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": _NAME,
                "version": version,
                "purl": root,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [_entry(one) for one in listed],
        "dependencies": [
            {"ref": root, "dependsOn": [one.purl for one in listed if not one.part_of]},
            *_contained(listed),
        ],
    }


def _contained(components: list[Component]) -> list[JsonValue]:
    """Return which packages contain programs."""
    packages = {one.name: one.purl for one in components if one.ecosystem == "pypi"}
    return [{"ref": packages[one.part_of], "dependsOn": [one.purl]} for one in components if one.part_of]


def _entry(one: Component) -> JsonValue:
    entry: dict[str, JsonValue] = {
        "type": "application" if one.part_of else "library",
        "bom-ref": one.purl,
        "name": one.name,
        "version": one.version,
        "purl": one.purl,
        "scope": one.scope,
    }
    if one.hashes:
        entry["hashes"] = [{"alg": algorithm, "content": digest} for algorithm, digest in one.hashes]
    if one.licence != UNKNOWN:
        entry["licenses"] = [{"expression": one.licence}]
    return entry


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
