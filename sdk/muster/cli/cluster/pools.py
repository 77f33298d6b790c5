"""`muster pool` and `muster limit`: sharing rules of pools, and slot limits of tenants and workspaces."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.output import emit, facts, note, number, size, warn
from muster.cli.cluster import pool_options as options
from muster.cli.cluster.pool_options import NONE
from muster.cli.cluster.render import pool_facts
from muster.cli.command_table import NOUNS
from muster.errors import NotFound, Rejected, Transient

if TYPE_CHECKING:
    from muster.client.models import Limit, Pool

_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kKMGTP]?)[bB]?")
_BYTES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

pools = NOUNS["pool"].app
limits = NOUNS["limit"].app

Name = Annotated[str, typer.Argument(metavar="POOL", help="Name of the pool, from `muster pool list`.")]


@verb(pools, "describe")
def describe(pool: Name) -> None:
    """Show a pool: its sharing rules, the machines that it may rent, and any problem that keeps it from growing."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.pool(pool)
        rented = None
        # Sites without rented machines have no provisioner.
        with suppress(Transient, NotFound):
            rented = client.machines.pool(pool)
    emit(found, lambda: facts([*_facts(found), *(pool_facts(rented) if rented else ())]))


@verb(pools, "set")
def set_pool(
    pool: Name,
    order: options.Order = None,
    preemption: options.Preemption = None,
    elastic: options.Elastic = None,
    default_priority: options.DefaultPriority = None,
    ageing: options.Ageing = None,
    half_life: options.HalfLife = None,
    min_run: options.MinRun = None,
    max_preemptions: options.MaxPreemptions = None,
    defragment: options.Defragment = None,
    quantum: options.Quantum = None,
    topology: options.Topology = None,
    placement: options.Placement = None,
    trusted: options.Trusted = None,
    tenant: options.Tenant = None,
) -> None:
    """Change a pool's rules; they apply to waiting and running trials immediately."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.edit_pool(
            pool,
            order=order,
            preemption=preemption,
            elastic=elastic,
            default_priority=default_priority,
            ageing_s=None if ageing in (None, NONE) else seconds_of(ageing, "--ageing"),
            no_ageing=ageing == NONE,
            half_life_s=None if half_life is None else seconds_of(half_life, "--half-life"),
            min_run_s=None if min_run is None else seconds_of(min_run, "--min-run"),
            max_preemptions=None if max_preemptions in (None, NONE) else _count(max_preemptions),
            no_max_preemptions=max_preemptions == NONE,
            quantum_s=None if quantum in (None, NONE) else seconds_of(quantum, "--quantum"),
            no_quantum=quantum == NONE,
            defragment=defragment,
            topology=() if topology in (None, NONE) else [key.strip() for key in topology.split(",")],
            no_topology=topology == NONE,
            placement=placement,
            trusted=trusted,
            tenant=tenant,
        )
    emit(found, lambda: facts(_facts(found)))


@verb(limits, "set")
def set_limit(
    pool: Annotated[str, typer.Option("--pool", help="Pool of the limit.")] = "default",
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Name of the tenant; by default your own.")
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option(
            "--workspace", help="Name of the workspace; by default the limit is for the whole tenant."
        ),
    ] = None,
    guaranteed: Annotated[
        int,
        typer.Option(
            "--guaranteed",
            min=0,
            help="Guaranteed slots, reclaimed by preemption when needed; slots beyond are borrowed.",
        ),
    ] = 0,
    maximum: Annotated[
        int | None,
        typer.Option("--maximum", min=0, help="Maximum number of slots; by default all free slots."),
    ] = None,
    weight: Annotated[
        float,
        typer.Option(
            "--weight",
            help="Share relative to the other tenants, or to the other workspaces of the tenant, under fair_share.",
        ),
    ] = 1.0,
    own: Annotated[
        bool,
        typer.Option(
            "--own",
            help="Set the limit as an administrator of your tenant, within the tenant's limit; needs --workspace.",
        ),
    ] = False,
) -> None:
    """Set the slot limit of a tenant or a workspace; it replaces the previous limit."""
    from muster.client import connect

    with connect() as client:
        if workspace is not None and own:
            found = client.cluster.set_workspace_limit(
                pool, workspace, guaranteed=guaranteed, maximum=maximum, weight=weight
            )
        else:
            found = client.cluster.set_limit(
                pool,
                tenant=tenant,
                workspace=workspace,
                guaranteed=guaranteed,
                maximum=maximum,
                weight=weight,
            )
    warn(found.warnings)
    emit(found, lambda: note("{}", _message(found)))


@verb(limits, "storage")
def set_storage(
    maximum: Annotated[
        str,
        typer.Option(
            "--maximum", metavar="SIZE", help=f"Maximum size, such as 500GB or 2TB; {NONE} for no limit."
        ),
    ],
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Name of the tenant; by default your own.")
    ] = None,
) -> None:
    """Set the storage limit of a tenant; stored data is not deleted. `muster checkpoint storage` shows usage."""
    from muster.client import connect

    most = None if maximum == NONE else bytes_of(maximum, "--maximum")
    with connect() as client:
        found = client.cluster.set_storage_limit(most, tenant=tenant)
    emit(
        found,
        lambda: note("{} may store {}", found.tenant, "without limit" if most is None else size(most)),
    )


def bytes_of(given: str, option: str) -> int:
    """Parse a size in bytes.

    Raises:
        Rejected: The text is not a size.
    """
    found = _SIZE.fullmatch(given)
    if found is None:
        raise Rejected(
            "bad_size", f"{given!r} is not a size", option, "write a size such as 800MB, 500GB or 2TB"
        )
    return int(float(found[1]) * _BYTES[(found[2] or "").upper()])


def seconds_of(given: str, option: str) -> float:
    """Parse a duration in seconds.

    Raises:
        Rejected: The text is not a duration.
    """
    found = _DURATION.fullmatch(given)
    if found is None:
        raise Rejected(
            "bad_duration",
            f"{given!r} is not a duration",
            option,
            "write a duration such as 90s, 5m, 2h or 1d",
        )
    return float(found[1]) * _SECONDS[found[2]]


def _count(given: str) -> int:
    if not given.isdecimal():
        raise Rejected(
            "bad_count", f"{given!r} is not a number", "--max-preemptions", f"give a number, or {NONE}"
        )
    return int(given)


def _facts(found: "Pool") -> list[tuple[str, object]]:
    rules = found.rules
    most = "" if found.max_slots is None else f", at most {found.max_slots}"
    return [
        ("pool", found.name),
        ("kind", found.slot_kind or "any"),
        ("slots", f"{found.used_slots} used of {found.slots}{most}"),
        ("workers", found.workers),
        ("waiting", f"{found.waiting_slots} slots"),
        ("exclusive", found.exclusive),
        ("tenants", f"only {rules.tenant} (trusted)" if rules.trusted else "all"),
        ("order", rules.order),
        ("preemption", rules.preemption),
        ("elastic", rules.elastic),
        ("default priority", rules.default_priority),
        ("ageing", _time(rules.ageing_s)),
        ("half-life", _time(rules.half_life_s)),
        ("minimum run", _time(rules.min_run_s)),
        (
            "preemptions",
            "no limit" if rules.max_preemptions is None else f"at most {rules.max_preemptions} per trial",
        ),
        ("quantum", _time(rules.quantum_s)),
        ("defragment", rules.defragment),
        ("topology", ", ".join(rules.topology) or NONE),
        ("placement", rules.placement.replace("_", " ")),
    ]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    for unit in ("w", "d", "h", "m"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f} {unit}"
    return f"{number(seconds)} s"


def _message(found: "Limit") -> str:
    who = (
        f"workspace {found.workspace} of tenant {found.tenant}"
        if found.workspace
        else f"tenant {found.tenant}"
    )
    most = (
        "all free slots"
        if found.maximum is None
        else f"at most {found.maximum} slot{'s' * (found.maximum != 1)}"
    )
    own = f"{found.guaranteed} guaranteed"
    return f"{who} may use {most} in pool {found.pool}, {own}, weight {number(found.weight)}"
