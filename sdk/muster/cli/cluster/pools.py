"""`muster pool` and `muster limit`: how pools are shared, and what tenants and workspaces may hold in them."""

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

Name = Annotated[str, typer.Argument(metavar="POOL", help="Its name, as `muster pool list` shows it.")]


@verb(pools, "describe")
def describe(pool: Name) -> None:
    """Show one pool: how it is shared, what it may rent, and what keeps it from growing."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.pool(pool)
        rented = None
        # Where nobody rents machines, there is nobody to tell of it.
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
) -> None:
    """Change a pool's rules, at once for all that waits and runs in it."""
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
        )
    emit(found, lambda: facts(_facts(found)))


@verb(limits, "set")
def set_limit(
    pool: Annotated[str, typer.Option("--pool", help="In which pool.")] = "default",
    tenant: Annotated[str | None, typer.Option("--tenant", help="By its name; by default your own.")] = None,
    workspace: Annotated[
        str | None, typer.Option("--workspace", help="By default the tenant as a whole.")
    ] = None,
    guaranteed: Annotated[
        int,
        typer.Option(
            "--guaranteed", min=0, help="Slots that it gets back on demand; what is beyond is borrowed."
        ),
    ] = 0,
    maximum: Annotated[
        int | None, typer.Option("--maximum", min=0, help="Never more; by default what is free.")
    ] = None,
    weight: Annotated[
        float, typer.Option("--weight", help="Its part among its siblings under fair share.")
    ] = 1.0,
    own: Annotated[
        bool,
        typer.Option(
            "--own", help="As an admin of your tenant, with --workspace: within what the tenant may."
        ),
    ] = False,
) -> None:
    """Say what a tenant or a workspace may hold, in place of what was said before."""
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
    emit(found, lambda: note("{}", _said(found)))


@verb(limits, "storage")
def set_storage(
    maximum: Annotated[
        str, typer.Option("--maximum", metavar="SIZE", help=f"As 500GB or 2TB; {NONE}: as there is room for.")
    ],
    tenant: Annotated[str | None, typer.Option("--tenant", help="By its name; by default your own.")] = None,
) -> None:
    """Say how many bytes a tenant may store; what is stored already stays (`muster checkpoint storage` shows it)."""
    from muster.client import connect

    most = None if maximum == NONE else bytes_of(maximum, "--maximum")
    with connect() as client:
        found = client.cluster.set_storage_limit(most, tenant=tenant)
    emit(
        found,
        lambda: note(
            "{} may store {}", found.tenant, "what there is room for" if most is None else size(most)
        ),
    )


def bytes_of(given: str, option: str) -> int:
    """Return the bytes that a person means.

    Raises:
        Rejected: It is no size.
    """
    found = _SIZE.fullmatch(given)
    if found is None:
        raise Rejected("bad_size", f"{given!r} is no size", option, "give one like 800MB, 500GB or 2TB")
    return int(float(found[1]) * _BYTES[(found[2] or "").upper()])


def seconds_of(given: str, option: str) -> float:
    """Return the seconds that a person means.

    Raises:
        Rejected: It is no duration.
    """
    found = _DURATION.fullmatch(given)
    if found is None:
        raise Rejected("bad_duration", f"{given!r} is no duration", option, "give one like 90s, 5m, 2h or 1d")
    return float(found[1]) * _SECONDS[found[2]]


def _count(given: str) -> int:
    if not given.isdecimal():
        raise Rejected(
            "bad_count", f"{given!r} is no number", "--max-preemptions", f"give a number, or {NONE}"
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
        ("order", rules.order),
        ("preemption", rules.preemption),
        ("elastic", rules.elastic),
        ("default priority", rules.default_priority),
        ("ageing", _time(rules.ageing_s)),
        ("half-life", _time(rules.half_life_s)),
        ("minimum run", _time(rules.min_run_s)),
        (
            "preemptions",
            "no limit" if rules.max_preemptions is None else f"at most {rules.max_preemptions} a trial",
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


def _said(found: "Limit") -> str:
    who = (
        f"workspace {found.workspace} of tenant {found.tenant}"
        if found.workspace
        else f"tenant {found.tenant}"
    )
    most = (
        "whatever is free"
        if found.maximum is None
        else f"at most {found.maximum} slot{'s' * (found.maximum != 1)}"
    )
    own = f"{found.guaranteed} guaranteed"
    return f"{who} may hold {most} in pool {found.pool}, {own}, weight {number(found.weight)}"
