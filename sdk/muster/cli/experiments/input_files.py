"""Read configs and code folders named on the command line."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from muster.cli.base.output import busy, note
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.archive import Archive

STDIN = "-"
_MAX_LISTED = 6


def read_source(config: Path) -> str:
    """Return the text of the config; `-` reads standard input. Raises Rejected."""
    try:
        content = sys.stdin.buffer.read() if str(config) == STDIN else config.read_bytes()
        return content.decode()
    except OSError as error:
        raise Rejected("config_missing", f"the config {config} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Rejected(
            "invalid_yaml", f"the config is not UTF-8 (byte {error.start})", place=str(config)
        ) from error


def code_folder(config: Path, folder: Path | None) -> Path:
    """Return the folder of the model code: the named folder, else the config's.

    Raises:
        Rejected: The config comes from standard input and no folder is named; the working directory may hold anything.
    """
    if folder is not None:
        return folder
    if str(config) == STDIN:
        raise Rejected(
            "folder_missing",
            "no code folder is named, and a config from standard input has none beside it",
            hint="name the folder (`muster experiment create - .` uploads the current one), or give --no-code",
        )
    return config.resolve().parent


def pack_code(folder: Path) -> "Archive":
    """Pack a folder; print its size and the files that are left out. Raises Rejected."""
    from muster.archive import pack

    with busy("packing code"):
        archive = pack(folder)
    if archive.largest is None:
        note("[yellow]{} contains no files to upload[/]", folder)
    else:
        name, size = archive.largest
        counted = "1 file" if len(archive.files) == 1 else f"{len(archive.files)} files"
        message = "code: {}, {} ({} packed); the largest is {}, {}"
        note(
            message, counted, _bytes(archive.unpacked_bytes), _bytes(len(archive.content)), name, _bytes(size)
        )
    is_by_git = archive.ignore_file == ".gitignore"
    if archive.ignored and is_by_git:
        note(
            "left out by .gitignore: {} (a .musterignore replaces .gitignore)",
            _listed(archive.ignored),
        )
    if archive.secrets:
        message = "[yellow]left out as version control or likely secrets: {}[/] (to send one, add a line such as !{} to {})"
        # Rules of a .gitignore cannot include secrets.
        rules = ".musterignore" if is_by_git or archive.ignore_file is None else archive.ignore_file
        instead = ", which then replaces .gitignore" if is_by_git else ""
        note(message, _listed(archive.secrets), archive.secrets[0], rules + instead)
    return archive


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more


def _bytes(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024 or unit == "MiB":
            break
        value /= 1024
    return f"{size} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
