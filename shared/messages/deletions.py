"""Deletion: what the gateway asks of every owner, and what each says when it has nothing left. Neighbour: `shared.bus.deletion`, which carries it out."""

from typing import Literal
from uuid import UUID

from shared.messages.base import Command, Event

Scope = Literal["experiment", "workspace", "tenant"]


class DeleteEntity(Command):
    """`target`: the experiment's id, or the tenant's; of a workspace an id that stands for it. `is_forced`: registered versions go too.

    Sent in the tenant's name; where the tenant itself goes, in the site's.
    """

    scope: Scope
    target: UUID
    workspace: str | None = None
    is_forced: bool = False
    by: str


class DeleteFromSearcher(DeleteEntity, owner="searcher", verb="delete_entity"):
    """gateway → searcher: its trials are over."""


class DeleteFromScheduler(DeleteEntity, owner="scheduler", verb="delete_entity"):
    """gateway → scheduler: what was used stays, as nobody's."""


class DeleteFromRegistry(DeleteEntity, owner="registry", verb="delete_entity"):
    """gateway → registry, before the others: it alone may refuse, for what is registered or in use."""


BY_OWNER: dict[str, type[DeleteEntity]] = {
    command.OWNER: command for command in (DeleteFromSearcher, DeleteFromScheduler, DeleteFromRegistry)
}


class EntityDeleted(Event, entity="entity", happened="deleted"):
    """An owner → gateway: nothing of it is left there."""

    operation_id: UUID
    owner: str
    scope: Scope
    target: UUID
