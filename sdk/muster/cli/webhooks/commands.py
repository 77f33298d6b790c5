"""`muster webhook`: have what happens sent elsewhere."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import WebhookName, argument_of
from muster.cli.base.output import emit, facts, note
from muster.cli.command_table import NOUNS
from muster.cli.webhooks.render import delivery_result, webhook_facts
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import WebhookDelivery

app = NOUNS["webhook"].app

Url = Annotated[
    str, typer.Argument(metavar="URL", help="https://…, or - to read it from standard input: it is a secret.")
]
Events = Annotated[
    list[str] | None,
    typer.Option("--event", help="Such as experiment.completed or 'trial.*'. Repeatable; by default all."),
]
Labels = Annotated[
    list[str] | None, typer.Option("--label", help="Only of experiments with this label. Repeatable.")
]
Form = Annotated[
    str | None,
    typer.Option(
        "--form",
        parser=argument_of("WebhookForm"),
        metavar="FORM",
        help="cloudevents, slack or alertmanager.",
    ),
]


@verb(app, "create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call it.")],
    url: Url,
    event: Events = None,
    label: Labels = None,
    workspace: Annotated[
        str | None, typer.Option("--workspace", "-w", help="Of this workspace; by default of the tenant.")
    ] = None,
    project: Annotated[str | None, typer.Option("--project", help="Of this project of it.")] = None,
    form: Form = None,
) -> None:
    """Send events to an address and print the secret that signs them, this one time."""
    from muster.client import connect
    from muster.client.models import WebhookForm

    with connect() as client:
        found = client.webhooks.create(
            name,
            _read(url),
            events=event or (),
            labels=label or (),
            workspace=workspace,
            project=project,
            form=WebhookForm(form or "cloudevents"),
        )
    emit(found, lambda: print(found.secret))


@verb(app, "edit")
def edit(
    webhook: WebhookName,
    name: Annotated[str | None, typer.Option("--name", help="A new name.")] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="A new address, or - to read it from standard input.")
    ] = None,
    event: Events = None,
    label: Labels = None,
    form: Form = None,
    all_events: Annotated[bool, typer.Option("--all-events", help="It hears all events.")] = False,
    all_labels: Annotated[bool, typer.Option("--all-labels", help="It hears of all experiments.")] = False,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Whether anything is sent.")
    ] = None,
) -> None:
    """Change a webhook; what is left out stays."""
    from muster.client import connect
    from muster.client.models import WebhookFilter, WebhookForm

    lifted = [WebhookFilter.EVENTS] * all_events + [WebhookFilter.LABELS] * all_labels
    with connect() as client:
        found = client.webhooks.edit(
            webhook,
            name=name,
            url=None if url is None else _read(url),
            form=None if form is None else WebhookForm(form),
            events=event or (),
            labels=label or (),
            lifted=lifted,
            enabled=enabled,
        )
    emit(found, lambda: facts(webhook_facts(found)))


@verb(app, "test")
def test(webhook: WebhookName) -> None:
    """Send an event that says it is a test, and say what came of it."""
    from muster.client import connect

    with connect() as client:
        found = client.webhooks.test(webhook)
    emit(found, lambda: note("{}", _outcome(found)))
    if found.state != "delivered":
        raise typer.Exit(1)


@verb(app, "replay")
def replay(
    webhook: WebhookName,
    delivery: Annotated[
        str | None,
        typer.Argument(metavar="DELIVERY", help="Its id: `muster webhook deliveries` shows it."),
    ] = None,
    dead: Annotated[bool, typer.Option("--dead", help="All that were given up.")] = False,
) -> None:
    """Send a delivery again, or all that were given up."""
    from muster.client import connect

    if dead == (delivery is not None):
        raise Rejected(
            "invalid_request",
            "either a delivery or --dead is needed",
            hint="`muster webhook deliveries` lists them",
        )
    with connect() as client:
        if delivery is not None:
            one = client.webhooks.replay(webhook, delivery)
            emit(one, lambda: note("delivery {} is sent again", one.id))
            return
        replayed = client.webhooks.replay_dead(webhook)
    emit(replayed, lambda: note("{} deliveries are sent again", replayed.deliveries))


def _read(url: str) -> str:
    return sys.stdin.readline().strip() if url == "-" else url


def _outcome(found: "WebhookDelivery") -> str:
    if found.state == "delivered":
        return f"the test was delivered: {delivery_result(found)}"
    return f"the test was not delivered: {delivery_result(found) or 'it still waits to be sent'}"
