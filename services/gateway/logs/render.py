"""Convert the registry's log lines to API resources."""

from uuid import UUID

from services.gateway.logs import schema as logs
from services.gateway.platform.json_values import to_time
from shared.messages.logs import StoredLine


def render_line(line: StoredLine, trial: UUID, trial_number: int, cursor: str) -> logs.LogLine:
    return logs.LogLine(
        cursor=cursor,
        trial=trial,
        trial_number=trial_number,
        run=line.run_number,
        rank=line.rank,
        stream=line.stream,
        level=line.level,
        time=to_time(line.time_ms),
        text=line.text,
    )
