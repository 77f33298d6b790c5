"""Validation of manifests: files by path, each with size and hash."""

import re

from services.registry.core.names import InputRefusal, refuse_path

FILES_PER_MANIFEST = 1_000
FILE_BYTES = 5 * 1024**4
"""S3's size limit of an object, in any number of parts."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def refuse_manifest(files: list[tuple[str, int, str]]) -> InputRefusal | None:
    """Return why a manifest of (path, size in bytes, SHA-256 in hex) is rejected; None if it is valid."""
    if not 0 < len(files) <= FILES_PER_MANIFEST:
        return InputRefusal(
            "manifest_length",
            f"The manifest has {len(files)} files; 1 to {FILES_PER_MANIFEST} are allowed.",
        )
    seen: set[str] = set()
    for path, size_bytes, sha256 in files:
        if refusal := refuse_path(path):
            return refusal
        if path in seen:
            return InputRefusal("path_twice", f"The path {path!r} appears twice in the manifest.")
        if not 0 <= size_bytes <= FILE_BYTES or not _SHA256.fullmatch(sha256):
            return InputRefusal(
                "manifest_entry",
                f"The file {path!r} needs a size of at most {FILE_BYTES} bytes and a SHA-256 of 64 hex digits.",
            )
        seen.add(path)
    for path in seen:
        if any(parent in seen for parent in _parents(path)):
            return InputRefusal(
                "path_twice",
                f"The path {path!r} is below another file of the manifest.",
            )
    return None


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
