"""Logs: structured events on standard error, one JSON object per line, with their trace."""

import contextlib
import io
import logging
import sys
from typing import TYPE_CHECKING, BinaryIO, cast

import orjson
import structlog
from structlog.typing import EventDict, WrappedLogger

from shared.settings import LogSettings
from shared.telemetry import trace_id

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def configure(process: str, settings: LogSettings) -> None:
    """Send the events of this process, and library logs from `warning` on, to standard error."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _bind(process),
            structlog.processors.JSONRenderer(serializer=_dumps),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.BytesLoggerFactory(cast("BinaryIO", _IgnoringErrors(sys.stderr.buffer))),
    )
    logging.basicConfig(handlers=[_FromLibraries()], level=max(level, logging.WARNING), force=True)


class _IgnoringErrors(io.BufferedIOBase):
    """Drops lines that cannot be written: a full disk must not end the process that reports it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, line: "ReadableBuffer") -> int:
        with contextlib.suppress(OSError):
            return self._file.write(line)
        return 0

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()


class _FromLibraries(logging.Handler):
    """Turns a library's log record into an event."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        log.log(
            record.levelno,
            "a library logged",
            library=record.name,
            text=record.getMessage(),
            exc_info=record.exc_info or None,
        )


def _bind(process: str) -> structlog.typing.Processor:
    def bind(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        if trace := trace_id():
            event["trace_id"] = trace
        return event

    return bind


def _dumps(event: object, **_: object) -> bytes:
    return orjson.dumps(event, default=str)
