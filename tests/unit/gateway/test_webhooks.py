"""What webhooks are told, to whom, when again, and where nothing is ever sent."""

import json
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, get_args
from uuid import UUID, uuid4

import pytest
from hypothesis import given, strategies as st

from services.gateway.platform.encryption import NONCE_BYTES, seal, unseal
from services.gateway.platform.outbound.addresses import is_named, is_outside, parse_address
from services.gateway.webhooks.bodies import render_body, summary_of
from services.gateway.webhooks.core import (
    EVENTS,
    DeliveryAttempt,
    EventContext,
    FeedEvent,
    RetryPolicy,
    Subscription,
    choose_webhooks,
    cloud_event,
    event_name,
    outcome_of,
    plan_intents,
    read_events,
)
from services.gateway.webhooks.posting import check_url
from services.gateway.webhooks.signing import render_secret, sign
from shared.errors import Broken, Rejected
from shared.messages import experiments
from tests.support.addresses import INSIDE_HOSTS

NOW = datetime(2026, 12, 1, tzinfo=UTC)
TENANT, EXPERIMENT = uuid4(), uuid4()
HERE = EventContext("vision", "detect", ("nightly",), EXPERIMENT, 31, "mnist")
RETRY_POLICY = RetryPolicy(timedelta(seconds=5), timedelta(hours=1), timedelta(days=1))


@pytest.mark.parametrize("host", INSIDE_HOSTS)
def test_every_spelling_of_an_internal_address_is_refused(host: str) -> None:
    for scheme in ("https", "http"):
        with pytest.raises(Rejected) as caught:
            check_url(f"{scheme}://{host}/hook", ())
        assert caught.value.code == "address_refused"


@pytest.mark.parametrize(
    "host", ["1.1.1.1", "8.8.8.8", "[2606:4700::1111]", "[64:ff9b::808:808]", "example.com"]
)
def test_the_internet_is_reached_by_https(host: str) -> None:
    assert check_url(f"https://{host}/hook", ()).scheme == "https"


def test_a_network_that_the_site_names_is_reached_and_its_neighbours_are_not() -> None:
    networks = (ip_network("10.1.2.0/24"), ip_network("fd00:1::/64"))
    for host in ("10.1.2.3", "[::ffff:10.1.2.3]", "[fd00:1::5]"):
        assert check_url(f"http://{host}:9093/", networks).port == 9093
    for host in ("10.1.3.3", "[::ffff:10.1.3.3]", "[fd00:2::5]", "1.1.1.1"):
        with pytest.raises(Rejected):
            check_url(f"http://{host}:9093/", networks)


@given(st.integers(0, 2**32 - 1))
def test_an_address_carried_in_another_is_what_it_is_itself(number: int) -> None:
    plain = ip_address(number)
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        carrying = IPv6Address(int(IPv6Address(prefix)) | number)
        assert is_outside(carrying) == is_outside(plain)
        assert is_named(carrying, (ip_network("10.0.0.0/8"),)) == (number >> 24 == 10)
    assert not (is_outside(plain) and (plain.is_private or plain.is_multicast or plain.is_loopback))


def test_what_is_no_address_is_none() -> None:
    assert parse_address("example.com") is None and str(parse_address("fe80::1%eth0")) == "fe80::1"


def test_names_of_events_are_those_of_the_states() -> None:
    for kind, states in (
        ("experiment", experiments.ExperimentState),
        ("trial", experiments.TrialState),
    ):
        assert {f"{kind}.{state}" for state in get_args(states)} == {
            name for name in EVENTS if name.startswith(f"{kind}.")
        }


@pytest.mark.parametrize(
    ("kind", "change", "before", "now", "name"),
    [
        ("trial", "changed", "running", "running", None),
        ("trial", "changed", None, "queued", "trial.queued"),
        ("experiment", "changed", "active", "completed", "experiment.completed"),
        ("run", "ended", None, "ended", "run.ended"),
        ("checkpoint", "corrupt", None, "", "checkpoint.corrupt"),
        ("model", "changed", None, "kept", "model.created"),
        ("model", "changed", "kept", "kept", "model.changed"),
        ("model", "changed", "kept", "deleted", "model.deleted"),
        ("version", "changed", "none", "staging", "version.staged"),
        ("version", "changed", "staging", "deleted", "version.deleted"),
    ],
)
def test_a_change_has_a_name_where_it_is_told(
    kind: str, change: str, before: str | None, now: str, name: str | None
) -> None:
    assert event_name(kind, change, before, now) == name
    assert name is None or name in EVENTS


def listener(**more: Any) -> Subscription:
    values: dict[str, Any] = {
        "events": frozenset(),
        "workspace": None,
        "project": None,
        "labels": frozenset(),
    }
    return Subscription(id=uuid4(), **(values | more))


def happening(
    happened: str = "trial.completed", context: EventContext | None = HERE, **resource: Any
) -> FeedEvent:
    return FeedEvent(happened, 7, uuid4(), {"number": 4, **resource}, context)


def test_who_asked_for_a_place_hears_of_nothing_that_is_of_no_known_place() -> None:
    assert listener().matches(happening(context=None))
    assert not listener(workspace="vision").matches(happening(context=None))
    assert not listener(labels=frozenset({"nightly"})).matches(happening(context=None))
    assert not listener(workspace="vision", project="detect").matches(
        happening(context=EventContext("vision"))
    )


def test_the_same_cause_has_the_same_delivery() -> None:
    hears, deaf = listener(events=frozenset({"trial.*"})), listener(events=frozenset({"run.ended"}))
    event = happening()
    first, again = (plan_intents(TENANT, NOW, [hears, deaf], [event]) for _ in range(2))
    assert first == again and [one.webhook for one in first] == [hears.id]


def test_unknown_events_are_refused_and_prefixes_are_none() -> None:
    assert read_events(["com.muster.trial.error", "trial.error", "run.*"]) == ["trial.error", "run.*"]
    with pytest.raises(Rejected, match="unknown event"):
        read_events(["trial.failed"])


@given(st.integers(1, 60), st.floats(0, 1, exclude_max=True))
def test_pauses_grow_to_a_bound_and_end_when_it_is_time_to_give_up(attempts: int, draw: float) -> None:
    failed = outcome_of(DeliveryAttempt(500), attempts, NOW, NOW, RETRY_POLICY, draw)
    assert failed.state == "waiting" and failed.due_at is not None
    centre = min(5.0 * 2 ** (attempts - 1), 3600.0)
    assert centre * 0.5 <= (failed.due_at - NOW).total_seconds() <= centre * 1.5
    began = NOW - timedelta(days=1)
    assert outcome_of(DeliveryAttempt(500), attempts, began, NOW, RETRY_POLICY, draw).state == "dead"
    assert outcome_of(DeliveryAttempt(204), attempts, began, NOW, RETRY_POLICY, draw).state == "delivered"


def test_a_receiver_says_when_to_come_again_and_when_never() -> None:
    busy = outcome_of(DeliveryAttempt(429, "", timedelta(minutes=10)), 1, NOW, NOW, RETRY_POLICY, 0.5)
    assert busy.due_at == NOW + timedelta(minutes=10)
    patient = outcome_of(DeliveryAttempt(503, "", timedelta(days=300)), 1, NOW, NOW, RETRY_POLICY, 0.5)
    assert patient.due_at == NOW + timedelta(hours=1)
    assert outcome_of(DeliveryAttempt(410), 1, NOW, NOW, RETRY_POLICY, 0.5).state == "dead"


def test_no_tenant_takes_all_lanes_and_no_webhook_two() -> None:
    loud, quiet = uuid4(), uuid4()
    hooks = [uuid4() for _ in range(10)]
    waiting = [(hook, loud) for hook in hooks] + [(UUID(int=1), quiet)]
    chosen = choose_webhooks(waiting, {hooks[0]: loud}, 8, 3)
    assert chosen == [(hooks[1], loud), (hooks[2], loud), (UUID(int=1), quiet)]
    assert choose_webhooks(waiting, {hooks[0]: loud}, 2, 3) == [(hooks[1], loud)]


def test_a_signature_is_as_the_standard_has_it() -> None:
    """The example of the specification's reference libraries."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    headers = sign([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    both = sign([secret, render_secret(bytes(32))], "msg", 1, body)["webhook-signature"].split(" ")
    assert len(both) == 2 and both[0] != both[1]


def test_what_is_sealed_is_read_at_its_own_place_alone() -> None:
    key, nonce = bytes(32), bytes(NONCE_BYTES)
    sealed = seal(key, nonce, b"here", "whsec_x")
    assert unseal(key, b"here", sealed) == "whsec_x" and b"whsec" not in sealed
    for other in ((b"\1" * 32, b"here", sealed), (key, b"there", sealed), (key, b"here", sealed[:-1] + b"x")):
        with pytest.raises(Broken):
            unseal(*other)


@pytest.mark.parametrize("name", [*EVENTS, "webhook.tested"])
def test_every_event_is_a_sentence_in_every_form(name: str) -> None:
    resource = {"name": "m", "model_name": "m", "stage": "staging", "outcome": "failed", "reason": "it broke"}
    context = EventContext("vision") if name.startswith(("model", "version")) else HERE
    event = cloud_event(TENANT, NOW, happening(name, context, **resource))
    summary = summary_of(event)
    assert "None" not in summary and len(summary) > 12
    for form in ("cloudevents", "slack", "alertmanager"):
        kind, body = render_body(form, event)
        assert "json" in kind and json.loads(body)


@pytest.mark.parametrize(
    ("change", "percent", "workspace", "summary", "severity"),
    [
        ("warned", 80, "vision", "80 % of the monthly budget of workspace 'vision' is spent", "warning"),
        ("warned", 80, None, "80 % of the monthly budget of the tenant is spent", "warning"),
        (
            "spent",
            100,
            "vision",
            "The monthly budget of workspace 'vision' is spent: no new work starts in pools with a price",
            "critical",
        ),
        (
            "spent",
            100,
            None,
            "The monthly budget of the tenant is spent: no new work starts in pools with a price",
            "critical",
        ),
    ],
)
def test_budget_events_are_summarized_with_their_severity(
    change: str, percent: int, workspace: str | None, summary: str, severity: str
) -> None:
    context = EventContext(workspace) if workspace else None
    resource = {"workspace": workspace, "percent": percent, "per_month": 100.0, "spent": percent + 0.5}
    event = cloud_event(TENANT, NOW, happening(f"budget.{change}", context, **resource))
    assert summary_of(event) == summary
    (alert,) = json.loads(render_body("alertmanager", event)[1])
    assert alert["labels"]["severity"] == severity
    assert alert["annotations"]["summary"] == summary
