"""`make licences`: checks the licence of every dependency against `licences.toml`, and writes the list to docs/licences.md."""

import sys
from collections.abc import Iterable, Iterator

from license_expression import ExpressionError, LicenseExpression, get_spdx_licensing

from deploy.dependencies.inventory import UNKNOWN, Component, LicenceRules, load_components, load_rules
from deploy.dependencies.requirements import ROOT

LIST = ROOT / "docs/licences.md"
_SPDX = get_spdx_licensing()
_HEADER = """# Licences of dependencies

Muster is licensed under [Apache-2.0](../LICENSE). `make licences` writes this list from the lock files and checks every licence against
`deploy/dependencies/licences.toml`. `make sbom` writes the same packages with their hashes in CycloneDX 1.6.

Scope: *required* runs in production, *optional* is installed only with torch's CUDA build, *excluded* is only for tests and builds.
"""
_TITLES = {"pypi": "Python", "npm": "Dashboard (npm)", "generic": "Servers inside Python packages"}


def main() -> int:
    components = load_components()
    refused = list(find_refused(components, load_rules()))
    for line in refused:
        print(line, file=sys.stderr)
    if refused:
        return 1
    LIST.write_text(render(components))
    print(f"wrote {LIST.relative_to(ROOT)} ({len(components)} packages)")
    return 0


def find_refused(components: Iterable[Component], rules: LicenceRules) -> Iterator[str]:
    """Yield a sentence for each component whose licence is unknown or not allowed."""
    for one in components:
        allowed = (*rules.allowed, *(rules.allowed_with_cuda if one.scope == "optional" else ()))
        name = f"{one.ecosystem} package {one.name} {one.version}"
        if one.licence == UNKNOWN:
            yield f"{name} states no known licence; read its licence file and add it to `packages` in deploy/dependencies/licences.toml"
        elif not is_allowed(one.licence, allowed):
            yield f"{name} is licensed under {one.licence}, which is not allowed; replace the package, or ask the maintainers to allow it"


def is_allowed(expression: str, allowed: Iterable[str]) -> bool:
    """Whether an SPDX expression can be met with allowed licences only: one side of an OR, both of an AND."""
    try:
        return _is_met(_SPDX.parse(expression), frozenset(allowed))
    except ExpressionError:
        return False


def _is_met(node: LicenseExpression, allowed: frozenset[str]) -> bool:
    if isinstance(node, _SPDX.OR):
        return any(_is_met(one, allowed) for one in node.args)
    if isinstance(node, _SPDX.AND):
        return all(_is_met(one, allowed) for one in node.args)
    return str(node) in allowed


def render(components: Iterable[Component]) -> str:
    """Return the list as Markdown."""
    listed = list(components)
    parts = [_HEADER]
    for ecosystem, title in _TITLES.items():
        rows = [
            f"| {one.name} | {one.version} | {one.licence} | {one.part_of or one.scope} |"
            for one in listed
            if one.ecosystem == ecosystem
        ]
        last = "package" if ecosystem == "generic" else "scope"
        parts.append(
            f"## {title}\n\n| name | version | licence | {last} |\n|---|---|---|---|\n"
            + "\n".join(rows)
            + "\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
