"""Versions of registered models: parses references and downloads files."""

from pathlib import Path

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.files.download import OnBytes, fetch_into
from muster.client.http.transport import Reference, segment
from muster.errors import Rejected


def split_version(reference: str) -> tuple[str, str]:
    """Return model and version of `model@version`; a model alone means its latest.

    Raises:
        Rejected: The model or the version is missing.
    """
    model, at, version = reference.rpartition("@")
    if not at:
        return reference, "latest"
    if not (model and version):
        raise Rejected(
            "bad_reference",
            f"{reference!r} names no version",
            hint="write model@version, such as digits@champion, digits@3 or digits@latest",
        )
    return model, version


class HandwrittenModels(APIResource):
    """The methods of `client.models` that are not generated."""

    def download(
        self,
        model: Reference,
        directory: Path,
        version: Reference = "latest",
        on_bytes: OnBytes | None = None,
    ) -> models.Download:
        """Fetch a version's files into `directory`, checked by size and SHA-256, all or none."""
        path = f"/v1/models/{segment(model)}/versions/{segment(version)}/files"
        return fetch_into(directory, lambda: self._transport.get(models.Download, path), on_bytes)
