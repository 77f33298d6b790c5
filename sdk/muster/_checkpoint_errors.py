"""What is said where a checkpoint does not fit, alike for every framework."""

from pathlib import Path

from muster.errors import Rejected


def abbreviate(path: Path) -> str:
    """A checkpoint's folder, or a file in one, without where the worker keeps it: a reason's words are few."""
    return "/".join(path.parts[-2:]) if path.suffix else path.name


def of_another_model(what: str, error: BaseException | str, place: str | None = None) -> Rejected:
    """The error to raise for `what` did not fit, with the framework's own words."""
    return Rejected(
        "checkpoint_mismatch",
        f"{what}: {' '.join(str(error).split())}",
        hint="it is a checkpoint of another model: start without it, or build the model that it is of",
        place=place,
    )


def not_written_by(author: str, file: Path) -> Rejected:
    """The error to raise where a checkpoint's folder does not hold the author's file."""
    return Rejected(
        "checkpoint_unreadable",
        f"there is no {abbreviate(file)}, so {author} did not write this checkpoint",
        hint="resume from another checkpoint of the trial, or from none",
    )
