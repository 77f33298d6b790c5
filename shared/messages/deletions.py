"""Deletion: the gateway's command to each owning service, and the event that confirms it. `shared.bus.data_deletion` carries it out."""

from typing import Literal
from uuid import UUID

from shared.messages.base import Command, Event

Scope = Literal["experiment", "workspace", "tenant"]


class DeleteEntity(Command):
    """Delete everything that the owner stores of an experiment, a workspace or a tenant.

    `target`: id of the experiment or tenant; for a workspace, an id that represents it. `is_forced`: also delete registered versions. The
    command is sent in the tenant's name, or in the site's if the tenant itself is deleted.
    """

    scope: Scope
    target: UUID
    workspace: str | None = None
    is_forced: bool = False
    by: str


class DeleteFromSearcher(DeleteEntity, owner="searcher", verb="delete_entity"):
    """gateway → searcher, after all trials have ended."""


class DeleteFromScheduler(DeleteEntity, owner="scheduler", verb="delete_entity"):
    """gateway → scheduler: usage records are kept without an owner."""


class DeleteFromRegistry(DeleteEntity, owner="registry", verb="delete_entity"):
    """gateway → registry, before the other services. Only the registry may reject it, because something is registered or in use."""


BY_OWNER: dict[str, type[DeleteEntity]] = {
    command.OWNER: command for command in (DeleteFromSearcher, DeleteFromScheduler, DeleteFromRegistry)
}


class EntityDeleted(Event, entity="entity", happened="deleted"):
    """owner → gateway: the owner stores nothing of the entity any more."""

    operation_id: UUID
    owner: str
    scope: Scope
    target: UUID
