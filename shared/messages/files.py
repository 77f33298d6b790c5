"""Stored files, and upload and download of an experiment's code."""

from typing import Literal

from pydantic import BaseModel, Field

from shared.ids import RunId
from shared.messages.base import Query, Record, WorkerRequest


class FileEntry(Record):
    """A file of a checkpoint or archive: a relative path with forward slashes, without `..` and links."""

    path: str
    size_bytes: int
    sha256: str


class PartLink(Record):
    """Upload URL of one part of a file."""

    first: int
    size_bytes: int
    url: str


class FileLink(FileEntry):
    """A file with a short-lived URL signed for one method. The store rejects requests without these `headers`.

    If `parts` is not empty, the file is too large for one request: send each part to its own URL and nothing to the file's.
    """

    url: str
    headers: dict[str, str] = Field(default_factory=dict)
    parts: tuple[PartLink, ...] = ()


class CodeLink(BaseModel):
    sha256: str
    size_bytes: int
    url: str


class GetCode(WorkerRequest[CodeLink], owner="registry", kind="code"):
    """worker → registry: return where to read the run's code archive."""

    run_id: RunId


class UploadTarget(BaseModel):
    """`known`: the content is stored already; send nothing. Otherwise PUT the bytes to `url` with these `headers`, then confirm."""

    known: bool
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)


class GetUploadUrl(Query[UploadTarget], owner="registry", name="upload_url"):
    """Return where to upload a content-addressed artifact of the tenant (`code`: deterministic archive of a model folder).

    `takes_headers`: the client sends the headers that the answer names.
    """

    kind: Literal["code"] = "code"
    sha256: str
    size_bytes: int
    takes_headers: bool = False


class CodeFiles(BaseModel):
    """Files of a code archive in archive order, starting with the requested one. `next`: value of `first` for the next page."""

    size_bytes: int
    """Of the stored archive."""
    files: tuple[FileEntry, ...]
    next: int | None = None


class GetCodeFiles(Query[CodeFiles], owner="registry", name="code_files"):
    """List the files of a code archive of the tenant. Raises NotFound if the tenant has no archive with this hash."""

    sha256: str
    first: int = 0


class CodeText(BaseModel):
    """One file of a code archive. `text` is None for binary files, and truncated for long ones (`is_cut`)."""

    file: FileEntry
    text: str | None
    is_cut: bool = False


class GetCodeText(Query[CodeText], owner="registry", name="code_text"):
    """Return one file of a code archive of the tenant. Raises NotFound if there is none."""

    sha256: str
    path: str


class Confirmed(BaseModel):
    sha256: str
    size_bytes: int


class ConfirmUpload(Query[Confirmed], owner="registry", name="confirm_upload"):
    """Verify an upload and keep it if size and hash match; otherwise Rejected. Idempotent."""

    kind: Literal["code"] = "code"
    sha256: str
    size_bytes: int
