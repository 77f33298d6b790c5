"""Error messages for checkpoints that do not match, shared by all frameworks."""

from pathlib import Path

from muster.errors import Rejected


def abbreviate(path: Path) -> str:
    """Shorten the path of a checkpoint's folder or file: drop the worker's directories."""
    return "/".join(path.parts[-2:]) if path.suffix else path.name


def of_another_model(what: str, error: BaseException | str, place: str | None = None) -> Rejected:
    """Return the error for a checkpoint that does not match, with the framework's message."""
    return Rejected(
        "checkpoint_mismatch",
        f"{what}: {' '.join(str(error).split())}",
        hint="the checkpoint belongs to another model: start without it, or build the matching model",
        place=place,
    )


def not_written_by(author: str, file: Path) -> Rejected:
    """Return the error for a checkpoint folder without the file of this writer."""
    return Rejected(
        "checkpoint_unreadable",
        f"{abbreviate(file)} is missing: this checkpoint was not written by {author}",
        hint="resume from another checkpoint of the trial, or start without one",
    )
