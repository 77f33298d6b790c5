"""Files and archives: what a stored file is, and how the code of an experiment goes in and out."""

from typing import Literal

from pydantic import BaseModel, Field

from shared.ids import RunId
from shared.messages.base import Query, Record, WorkerRequest


class FileEntry(Record):
    """A file of a checkpoint or archive: relative path with forward slashes, no `..`, no links."""

    path: str
    size_bytes: int
    sha256: str


class PartLink(Record):
    """Where a stretch of a file is sent, by itself."""

    first: int
    size_bytes: int
    url: str


class FileLink(FileEntry):
    """A file with a URL signed for one method and a short life; a request without these `headers` is refused.

    A file with `parts` is too large for one request: each is sent to its own URL, and nothing to the file's.
    """

    url: str
    headers: dict[str, str] = Field(default_factory=dict)
    parts: tuple[PartLink, ...] = ()


class CodeLink(BaseModel):
    sha256: str
    size_bytes: int
    url: str


class GetCode(WorkerRequest[CodeLink], owner="registry", kind="code"):
    run_id: RunId


class UploadTarget(BaseModel):
    """`known`: nothing needs to be sent. Otherwise PUT the bytes to `url` with these `headers`, then confirm."""

    known: bool
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)


class GetUploadUrl(Query[UploadTarget], owner="registry", name="upload_url"):
    """Where a content-addressed artifact of the tenant goes (`code`: the deterministic archive of a model folder).

    `takes_headers`: who asks sends the headers that the answer names.
    """

    kind: Literal["code"] = "code"
    sha256: str
    size_bytes: int
    takes_headers: bool = False


class CodeFiles(BaseModel):
    """Files of a code archive in its order, from the one that was asked for on; `next` is where to go on."""

    size_bytes: int
    """Of the archive as it is stored."""
    files: tuple[FileEntry, ...]
    next: int | None = None


class GetCodeFiles(Query[CodeFiles], owner="registry", name="code_files"):
    """What stands in a code archive of the tenant; NotFound where it has none of that hash."""

    sha256: str
    first: int = 0


class CodeText(BaseModel):
    """One file of a code archive: `text` is None where it is no text, and its beginning where it is long (`is_cut`)."""

    file: FileEntry
    text: str | None
    is_cut: bool = False


class GetCodeText(Query[CodeText], owner="registry", name="code_text"):
    """One file of a code archive of the tenant; NotFound where there is none."""

    sha256: str
    path: str


class Confirmed(BaseModel):
    sha256: str
    size_bytes: int


class ConfirmUpload(Query[Confirmed], owner="registry", name="confirm_upload"):
    """The registry reads what was sent, and keeps it when size and hash are right; otherwise Rejected. Repeatable."""

    kind: Literal["code"] = "code"
    sha256: str
    size_bytes: int
