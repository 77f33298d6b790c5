"""What commands are given to read: configs, and the folders of code beside them."""

import sys
from pathlib import Path

from muster.errors import Rejected


def read_source(config: Path) -> str:
    """The config's text; `-` is standard input. Raises Rejected."""
    try:
        content = sys.stdin.buffer.read() if str(config) == "-" else config.read_bytes()
        return content.decode()
    except OSError as error:
        raise Rejected(
            "config_missing", f"the config cannot be read: {error.strerror}", place=str(config)
        ) from error
    except UnicodeDecodeError as error:
        raise Rejected(
            "invalid_yaml", f"the config is not UTF-8 (byte {error.start})", place=str(config)
        ) from error


def code_folder(config: Path, folder: Path | None) -> Path:
    """Where the model code lies: where it is said, else beside the config."""
    if folder is not None:
        return folder
    return Path.cwd() if str(config) == "-" else config.resolve().parent
