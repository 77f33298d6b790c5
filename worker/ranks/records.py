"""Journal records of reports: each is the message's own JSON, so that a batch is only concatenated."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from muster import wire
from muster.errors import Rejected
from shared.messages.reports import Report, Validation
from worker.journal.journal import BATCH_BYTES, Journal
from worker.sandbox.trial_files import TrialFile

RECORD_BYTES = BATCH_BYTES // 2
"""A larger record could not be sent, and would block all later ones."""
MAX_UNSENT_BYTES = 80 * 1024 * 1024
"""Ranks keep at most 64 MiB of frames, and one more."""
_VALUE_BYTES = 32
_READ_BYTES = 1024 * 1024


def make_record(point: wire.ReportFrame, validation: int) -> tuple[bytes, str | None]:
    """Return the record, and a sentence about metrics that were left out; `validation`: its number if it is one.

    Raises:
        ValidationError: The report is invalid.
    """
    record = _encode(point, validation)
    if len(record) <= RECORD_BYTES:
        return record, None
    fitting = _fitting(point.values)
    loss = (
        f"the report of step {point.step} exceeds {RECORD_BYTES // 1024} KiB: its last "
        f"{len(point.values) - len(fitting)} of {len(point.values)} metrics were left out; "
        "save large tables as files of a checkpoint"
    )
    return _encode(replace(point, values=fitting), validation), loss


def read_frames(unsent: Path) -> list[wire.Frame]:
    """Return the complete frames that a rank left in a file, up to the first that is none; none if it does not exist."""
    frames: list[wire.Frame] = []
    with suppress(OSError, Rejected), TrialFile(unsent.parent, unsent.name).open() as file:
        decoder = wire.Decoder(wire.RANK_FRAMES)
        while file.tell() < MAX_UNSENT_BYTES and (data := file.read(_READ_BYTES)):
            frames.extend(decoder.feed(data))
    return frames


def last_step(journal: Journal) -> int:
    """Return the step of the newest record, or 0."""
    payload = journal.last_payload()
    if payload is None:
        return 0
    try:
        return Report.model_validate_json(payload).step
    except ValidationError:
        return Validation.model_validate_json(payload).step


def _encode(point: wire.ReportFrame, validation: int) -> bytes:
    record: Report | Validation
    if point.validation:
        record = Validation(number=validation, step=point.step, time_ms=point.time_ms, values=point.values)
    else:
        record = Report(group=point.group, step=point.step, time_ms=point.time_ms, values=point.values)
    return record.__pydantic_serializer__.to_json(record)


def _fitting(values: dict[str, float]) -> dict[str, float]:
    """Return the first values that fit into a record, by the size of their JSON."""
    left = RECORD_BYTES - 1024
    fitting = {}
    for name, value in values.items():
        left -= _VALUE_BYTES + len(json.dumps(name))
        if left < 0:
            break
        fitting[name] = value
    return fitting
