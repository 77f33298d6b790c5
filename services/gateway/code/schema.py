"""Code snapshots as users see them: stored by their hash, and looked into."""

from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Reference, Request, Resource, Sha256


class CodeRequest(Request):
    """One code snapshot by the SHA-256 of its archive."""

    sha256: Sha256


class PutCodeRequest(Request):
    """A code archive (tar, gzip): its bytes are the body, or the `data` of the stream's messages."""

    sha256: Sha256


class Code(Resource):
    """A stored code snapshot."""

    sha256: str
    size_bytes: int


class CodeFile(Resource):
    """One file of a code archive."""

    path: str = Field(description="Relative, with forward slashes; never leaves the folder.")
    size_bytes: int
    sha256: str


class ExperimentCode(Resource):
    """The code that an experiment runs."""

    sha256: str = Field(description="Of the archive.")
    size_bytes: int = Field(description="Of the archive as it is stored.")
    unpacked_bytes: int
    files: list[CodeFile] = Field(description="By path.")


class CodeFileRequest(Request):
    """One file of an experiment's code."""

    experiment: Reference
    path: Annotated[str, Field(min_length=1, max_length=1024)]


class CodeFileText(CodeFile):
    """One file of a code archive with what it says."""

    text: str | None = Field(description="None where it is no text (UTF-8).")
    is_cut: bool = Field(default=False, description="Whether `text` is only the file's first 192 KiB.")
