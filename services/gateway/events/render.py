"""Convert rows of the feed to API resources."""

from services.gateway.events import schema as events
from services.gateway.platform.references import Row


def render_event(row: Row, cursor: str) -> events.Event:
    return events.Event(
        id=cursor,
        time=row.at,
        kind=events.EventKind(row.kind),
        change=row.change,
        entity=row.entity,
        experiment=row.experiment,
        version=row.version,
        resource=row.resource,
    )


def render_machine_event(row: Row, cursor: str) -> events.MachineEvent:
    return events.MachineEvent(
        id=cursor,
        time=row.at,
        kind=events.MachineEventKind(row.kind),
        change=row.change,
        pool=row.resource["pool"],
        version=row.version,
        resource=row.resource,
    )
