"""Versions of registered models: parse references and download files."""

from pathlib import Path

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.files.download import OnBytes, fetch_into
from muster.client.http.transport import Reference, segment
from muster.errors import Rejected


def split_version(reference: str) -> tuple[str, str]:
    """Split `model@version`; a model alone means its latest version.

    Raises:
        Rejected: The model or the version is missing.
    """
    model, at, version = reference.rpartition("@")
    if not at:
        return reference, "latest"
    if not (model and version):
        raise Rejected(
            "bad_reference",
            f"{reference!r} is not a model version",
            hint="write model@version, such as digits@champion, digits@3 or digits@latest",
        )
    return model, version


class HandwrittenModels(APIResource):
    """Methods of `client.models` that are not generated."""

    def download(
        self,
        model: Reference,
        directory: Path,
        version: Reference = "latest",
        on_bytes: OnBytes | None = None,
    ) -> models.Download:
        """Download a version's files into `directory` and verify size and SHA-256; all files or none."""
        path = f"/v1/models/{segment(model)}/versions/{segment(version)}/files"
        return fetch_into(directory, lambda: self._transport.get(models.Download, path), on_bytes)
