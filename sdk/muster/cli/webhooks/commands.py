"""`muster webhook`: send events to other systems."""

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
    str,
    typer.Argument(
        metavar="URL", help="https://…, or - to read it from standard input, because it may contain a secret."
    ),
]
Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        help="Only these events, such as experiment.completed or 'trial.*'. Repeatable; by default all.",
    ),
]
Labels = Annotated[
    list[str] | None, typer.Option("--label", help="Only events of experiments with this label. Repeatable.")
]
Form = Annotated[
    str | None,
    typer.Option(
        "--form",
        parser=argument_of("WebhookForm"),
        metavar="FORM",
        help="Format of the request: cloudevents, slack or alertmanager.",
    ),
]


@verb(app, "create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the webhook.")],
    url: Url,
    event: Events = None,
    label: Labels = None,
    workspace: Annotated[
        str | None, typer.Option("--workspace", "-w", help="Scope: this workspace; by default the tenant.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="Scope: this project of the workspace.")
    ] = None,
    form: Form = None,
) -> None:
    """Create a webhook and print its signing secret; the secret is shown only once."""
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
    name: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="New address, or - to read it from standard input.")
    ] = None,
    event: Events = None,
    label: Labels = None,
    form: Form = None,
    all_events: Annotated[bool, typer.Option("--all-events", help="Send all events.")] = False,
    all_labels: Annotated[bool, typer.Option("--all-labels", help="Send events of all experiments.")] = False,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Enable or disable deliveries.")
    ] = None,
) -> None:
    """Edit a webhook; omitted options stay as they are."""
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
    """Send a test event and show the result."""
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
        typer.Argument(metavar="DELIVERY", help="Id of the delivery, from `muster webhook deliveries`."),
    ] = None,
    dead: Annotated[bool, typer.Option("--dead", help="Replay all dead deliveries.")] = False,
) -> None:
    """Send a delivery, or all dead deliveries, again."""
    from muster.client import connect

    if dead == (delivery is not None):
        raise Rejected(
            "invalid_request",
            "give either a delivery or --dead",
            hint="`muster webhook deliveries` lists them",
        )
    with connect() as client:
        if delivery is not None:
            one = client.webhooks.replay(webhook, delivery)
            emit(one, lambda: note("delivery {} is being sent again", one.id))
            return
        replayed = client.webhooks.replay_dead(webhook)
    emit(replayed, lambda: note("{} deliveries are being sent again", replayed.deliveries))


def _read(url: str) -> str:
    return sys.stdin.readline().strip() if url == "-" else url


def _outcome(found: "WebhookDelivery") -> str:
    if found.state == "delivered":
        return f"the test was delivered: {delivery_result(found)}"
    return f"the test was not delivered: {delivery_result(found) or 'it is not sent yet'}"
