"""Bodies of deliveries: a CloudEvent, a Slack message, or an alert for Prometheus Alertmanager."""

from datetime import datetime, timedelta
from typing import Any

import orjson

from services.gateway.webhooks.core import PREFIX

CLOUD_EVENTS, SLACK, ALERTMANAGER = "cloudevents", "slack", "alertmanager"
FIRING = timedelta(hours=1)
"""How long an alert fires. Events are not repeated, so nothing resolves the alert."""
_CRITICAL = {"experiment.error", "experiment.rejected", "checkpoint.corrupt", "budget.spent"}
_WARNING = {"trial.error", "checkpoint.abandoned", "budget.warned"}
_MOST_REASON = 300


def render_body(form: str, event: dict[str, Any]) -> tuple[str, bytes]:
    """Return the media type and the body of an event in the given format."""
    if form == SLACK:
        return "application/json", orjson.dumps({"text": _slack_text(event)})
    if form == ALERTMANAGER:
        return "application/json", orjson.dumps([_alert(event)])
    return "application/cloudevents+json; charset=utf-8", orjson.dumps(event)


def summary_of(event: dict[str, Any]) -> str:
    """Describe the event in one sentence."""
    data, name = event["data"], event["type"].removeprefix(PREFIX)
    kind, _, change = name.partition(".")
    resource, experiment = data["resource"] or {}, data["experiment"] or {}
    number = experiment.get("number")
    match kind:
        case "experiment":
            text = f"Experiment {number} '{experiment.get('name')}' is {_state(change)}"
        case "trial":
            text = f"Trial {number}.{resource.get('number')} is {_state(change)}"
        case "run":
            text = f"A run of experiment {number} {'ended' if change == 'ended' else f'was {change}'}"
            if outcome := resource.get("outcome"):
                text += f": {outcome}"
        case "checkpoint":
            text = f"A checkpoint of experiment {number} {'is' if change == 'corrupt' else 'was'} {change}"
        case "model":
            text = f"Model '{resource.get('name')}' was {change}"
        case "version":
            text = f"Version {resource.get('number')} of model '{resource.get('model_name')}' "
            text += f"moved to stage {resource.get('stage')}" if change == "staged" else f"was {change}"
        case "budget":
            workspace = resource.get("workspace")
            budget = "monthly budget of " + (f"workspace '{workspace}'" if workspace else "the tenant")
            if change == "warned":
                text = f"{resource.get('percent', 80)} % of the {budget} is spent"
            else:
                text = f"The {budget} is spent: no new work starts in pools with a price"
        case _:
            return "This is a test event from a Muster webhook"
    reason = resource.get("reason")
    return f"{text}: {reason[:_MOST_REASON]}" if isinstance(reason, str) and reason else text


def _state(state: str) -> str:
    return "in error" if state == "error" else state


def _slack_text(event: dict[str, Any]) -> str:
    """Escape the summary, so that text of users cannot mention anybody or contain links."""
    text = summary_of(event)
    for character, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, escaped)
    return text


def _alert(event: dict[str, Any]) -> dict[str, Any]:
    name, data = event["type"].removeprefix(PREFIX), event["data"]
    began = datetime.fromisoformat(event["time"])
    experiment = data["experiment"] or {}
    labels = {
        "alertname": "Muster" + "".join(segment.capitalize() for segment in name.split(".")),
        "severity": "critical" if name in _CRITICAL else "warning" if name in _WARNING else "info",
        "workspace": data["workspace"],
        "project": data["project"],
        "experiment": experiment.get("number"),
        "subject": event.get("subject"),
    }
    return {
        "labels": {label: str(value) for label, value in labels.items() if value is not None},
        "annotations": {"summary": summary_of(event)},
        "startsAt": event["time"],
        "endsAt": (began + FIRING).isoformat(),
    }
