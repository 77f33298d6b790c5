"""The project's dependencies: hash-pinned locks, their installation, the bill of materials (SBOM) and licences."""
