"""The bodies of what is sent: a CloudEvent as it is, a message for Slack, an alert for Prometheus' Alertmanager."""

from datetime import datetime, timedelta
from typing import Any

import orjson

from services.gateway.webhooks.core import PREFIX

CLOUD_EVENTS, SLACK, ALERTMANAGER = "cloudevents", "slack", "alertmanager"
FIRING = timedelta(hours=1)
"""So long an alert fires, as nobody repeats it: what happened is a moment."""
_CRITICAL = {"experiment.error", "experiment.rejected", "checkpoint.corrupt"}
_WARNING = {"trial.error", "checkpoint.abandoned"}
_MOST_REASON = 300


def render_body(form: str, event: dict[str, Any]) -> tuple[str, bytes]:
    """Media type and bytes of an event in one of the forms."""
    if form == SLACK:
        return "application/json", orjson.dumps({"text": _slack_text(event)})
    if form == ALERTMANAGER:
        return "application/json", orjson.dumps([_alert(event)])
    return "application/cloudevents+json; charset=utf-8", orjson.dumps(event)


def summary_of(event: dict[str, Any]) -> str:
    """What happened, as a sentence."""
    data, name = event["data"], event["type"].removeprefix(PREFIX)
    kind, _, change = name.partition(".")
    resource, experiment = data["resource"] or {}, data["experiment"] or {}
    number = experiment.get("number")
    match kind:
        case "experiment":
            said = f"Experiment {number} '{experiment.get('name')}' is {_state(change)}"
        case "trial":
            said = f"Trial {number}.{resource.get('number')} is {_state(change)}"
        case "run":
            said = f"A run of experiment {number} {'ended' if change == 'ended' else f'was {change}'}"
            if outcome := resource.get("outcome"):
                said += f": {outcome}"
        case "checkpoint":
            said = f"A checkpoint of experiment {number} {'is' if change == 'corrupt' else 'was'} {change}"
        case "model":
            said = f"Model '{resource.get('name')}' was {change}"
        case "version":
            said = f"Version {resource.get('number')} of model '{resource.get('model_name')}' "
            said += f"came to stage {resource.get('stage')}" if change == "staged" else f"was {change}"
        case _:
            return "This is a test of a webhook of Muster"
    reason = resource.get("reason")
    return f"{said}: {reason[:_MOST_REASON]}" if isinstance(reason, str) and reason else said


def _state(word: str) -> str:
    return "in error" if word == "error" else word


def _slack_text(event: dict[str, Any]) -> str:
    """What users wrote is text here: it names nobody and holds no link."""
    said = summary_of(event)
    for sign, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        said = said.replace(sign, escaped)
    return said


def _alert(event: dict[str, Any]) -> dict[str, Any]:
    name, data = event["type"].removeprefix(PREFIX), event["data"]
    began = datetime.fromisoformat(event["time"])
    experiment = data["experiment"] or {}
    labels = {
        "alertname": "Muster" + "".join(word.capitalize() for word in name.split(".")),
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
