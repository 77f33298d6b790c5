"""Operations on templates: named partial configs of the tenant or a workspace."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.config import check_partial
from muster.errors import Conflict, NotFound
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim, remember
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.preconditions import check_unchanged
from services.gateway.platform.schema import Done
from services.gateway.policies import store
from services.gateway.policies.schema import (
    CreateTemplateRequest,
    EditTemplateRequest,
    ListTemplatesRequest,
    Template,
    TemplatePage,
    TemplateRequest,
)
from shared.ids import derived_id


async def create_template(call: Call, request: CreateTemplateRequest) -> Template:
    """Create a template: a partial config with a name that is unique in the tenant."""
    call.check_scope(Permission.POLICY_MANAGE, Scope(request.workspace))
    check_partial(request.config, "config")
    async with call.transaction() as unit:
        earlier = await claim(call, unit, request, derived_id(call.tenant, "template", request.name))
        if earlier is not None:
            return Template.model_validate(earlier.response)
        values: dict[str, Any] = {
            **request.model_dump(include={"name", "description", "config"}),
            "tenant": call.tenant,
            "workspace": request.workspace or "",
            "changed_at": unit.now,
            "by": call.caller.name,
        }
        if not await store.insert_template(unit.connection, values):
            raise Conflict(
                "template_exists",
                f"a template named '{request.name}' already exists",
                "name",
                "choose another name, or change the template with `muster template edit`",
            )
        template = _render(values)
        call.set_audit_fields(after=template, entity=f"template/{request.name}")
        await remember(call, unit.connection, template)
    return template


async def list_templates(call: Call, request: ListTemplatesRequest) -> TemplatePage:
    """List the templates of the tenant and of the workspaces that the caller may read, by name unless `sort` is set."""
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        found = await store.load_templates(connection, wanted)
    return TemplatePage(
        items=[_render(row._mapping) for row in found.rows],
        next_cursor=next_cursor(call, request, found.next),
    )


async def get_template(call: Call, request: TemplateRequest) -> Template:
    """Get one template."""
    async with call.read() as connection:
        return _render((await _template_in(connection, request.template))._mapping)


async def edit_template(call: Call, request: EditTemplateRequest) -> Template:
    """Change a template. The change applies to later submissions."""
    if request.config is not None:
        check_partial(request.config, "config")
    async with call.transaction() as unit:
        row = await _managed(call, unit.connection, request.template)
        changed = request.model_dump(include={"description", "config"}, exclude_none=True)
        if changed:
            changed |= {"changed_at": unit.now, "by": call.caller.name}
            await store.save_template(unit.connection, row.name, changed)
        after = _render((await _template_in(unit.connection, row.name))._mapping)
        call.set_audit_fields(before=_render(row._mapping), after=after)
        return after


async def delete_template(call: Call, request: TemplateRequest) -> Done:
    """Delete a template. Experiments created from it do not change."""
    async with call.transaction() as unit:
        row = await _managed(call, unit.connection, request.template)
        await store.delete_template(unit.connection, row.name)
        call.set_audit_fields(before=_render(row._mapping))
    return Done()


async def _managed(call: Call, connection: AsyncConnection, name: str) -> Any:
    """Lock and return a template that the caller may change. Raises NotFound for all others, also for readable ones."""
    await store.lock_template(connection, name)
    row = await _template_in(connection, name)
    if not call.caller.grants.holds(Permission.POLICY_MANAGE, Scope(row.workspace or None)):
        raise NotFound(f"template {name}")
    check_unchanged(call, _render(row._mapping))
    return row


async def _template_in(connection: AsyncConnection, name: str) -> Any:
    row = await store.find_template(connection, name)
    if row is None:
        raise NotFound(f"template {name}")
    return row


def _render(values: Any) -> Template:
    names = ("name", "description", "config", "changed_at", "by")
    return Template(workspace=values["workspace"] or None, **{name: values[name] for name in names})
