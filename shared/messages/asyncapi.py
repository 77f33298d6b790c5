"""AsyncAPI 3 document of all messages. `python -m shared.messages.asyncapi` prints it; `docs/asyncapi.yaml` is the stored copy."""

import sys
from typing import Any

import yaml

from shared.messages import catalogue
from shared.messages.base import (
    Command,
    Event,
    Hint,
    Message,
    Query,
    ToWorker,
    WorkerRequest,
)

Document = dict[str, Any]


def document() -> Document:
    """Return the whole contract: a channel per subject, a schema per message and reply."""
    channels: Document = {}
    messages: Document = {}
    schemas: Document = {}
    everything: tuple[type[Message], ...] = (*catalogue.ALL, Hint)
    for message in everything:
        name = message.__name__
        channels[name] = {
            "address": _address(message),
            "messages": {name: {"$ref": f"#/components/messages/{name}"}},
        }
        messages[name] = {
            "name": message.TYPE,
            "summary": _summary(message),
            "headers": {"$ref": "#/components/schemas/Envelope"},
            "payload": {"$ref": f"#/components/schemas/{name}"},
        }
        _add_schema(schemas, message)
        if issubclass(message, Query | WorkerRequest):
            messages[name]["x-reply"] = {"$ref": f"#/components/schemas/{message.REPLY.__name__}"}
            _add_schema(schemas, message.REPLY)
    schemas["Envelope"] = _envelope()
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Muster's private messages", "version": "1.0.0"},
        "channels": channels,
        "components": {"messages": messages, "schemas": dict(sorted(schemas.items()))},
    }


def text() -> str:
    """Return the document as YAML. Equal contracts give equal bytes."""
    return yaml.safe_dump(document(), sort_keys=False, width=120, allow_unicode=True)


def _address(message: type[Message]) -> str:
    if issubclass(message, Event):
        return message.subject("{tenant}")
    if issubclass(message, WorkerRequest):
        return message.subject("*").replace("*", "{worker}")
    if issubclass(message, ToWorker):
        return f"wrk.v{message.VERSION}.{{worker}}.{message.TYPE}"
    if issubclass(message, Command | Query):
        return message.subject()
    return f"live.v{message.VERSION}.{{tenant}}.{{entity}}.{{id}}"


def _summary(message: type[Message]) -> str:
    return (message.__doc__ or message.TYPE).strip().splitlines()[0]


def _add_schema(schemas: Document, model: type[Any]) -> None:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    for name, part in schema.pop("$defs", {}).items():
        schemas.setdefault(name, part)
    schemas[model.__name__] = schema


def _envelope() -> Document:
    required = ("Nats-Msg-Id", "Muster-Type", "Muster-Version", "Muster-Tenant")
    optional = ("Muster-Correlation", "Muster-Causation", "traceparent")
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in (*required, *optional)},
        "required": list(required),
    }


if __name__ == "__main__":
    sys.stdout.write(text())
