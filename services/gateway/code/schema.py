"""API schema of code archives and their files."""

from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Reference, Request, Resource, Sha256


class CodeRequest(Request):
    """A code archive by its SHA-256."""

    sha256: Sha256


class PutCodeRequest(Request):
    """A code archive (tar.gz), sent as the request body or as `data` of the stream's messages."""

    sha256: Sha256


class Code(Resource):
    """A stored code archive."""

    sha256: str
    size_bytes: int


class CodeFile(Resource):
    """One file of a code archive."""

    path: str = Field(description="Relative path with forward slashes, always inside the folder.")
    size_bytes: int
    sha256: str


class ExperimentCode(Resource):
    """The code that an experiment runs."""

    sha256: str = Field(description="Hash of the archive.")
    size_bytes: int = Field(description="Size of the compressed archive.")
    unpacked_bytes: int
    files: list[CodeFile] = Field(description="Files, by path.")


class CodeFileRequest(Request):
    """One file of an experiment's code."""

    experiment: Reference
    path: Annotated[str, Field(min_length=1, max_length=1024)]


class CodeFileText(CodeFile):
    """One file of a code archive with its text."""

    text: str | None = Field(description="Null if the file is not UTF-8 text.")
    is_cut: bool = Field(default=False, description="True if `text` is only the first 192 KiB of the file.")
