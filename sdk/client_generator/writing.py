"""Renders the modules of the client: per resource a class with a method for each operation, and its asynchronous counterpart."""

import ast
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from client_generator.names import PLATFORM, class_of, description_of, method_of
from client_generator.parameters import Parameter, parameters_of
from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import Done

WHOLE = frozenset({"GetRetention", "ActOnExperiments"})
"""Operations that return the whole response, although it contains only `items`."""

WIDTH = 118
IMPORTS = """
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed, streamed
from muster.client.http.fields import json_body, query_params, text, texts
from muster.client.http.paging import Items, follow, pages
from muster.client.http.transport import Reference, segment
from muster.client.models import JsonObject
from muster.client.api_resource import APIResource
"""


def resource_module(resource: str, rows: Sequence[Operation[Any, Any]], handwritten: Path) -> str:
    """Return the module of one resource, without the methods that its hand-written base class defines."""
    name, description = class_of(resource), description_of(resource)
    own = _methods(handwritten, f"Handwritten{name}")
    left = [row for row in rows if method_of(row) not in own]
    methods = {method_of(row): row for row in left}
    if len(methods) < len(left):
        raise ValueError(
            f"two operations of {resource} have the same method name: rename one in `names.METHODS`"
        )
    base = f"Handwritten{name}" if own else "APIResource"
    about = f"{description}\n\nGenerated from the gateway's table of operations by `make gen`; do not edit."
    about += f" `muster.client.handwritten.{resource}` has the other methods.\n" if own else "\n"
    more = f"from muster.client.handwritten.{resource} import {base}\n" if own else ""
    body = "\n".join(_method(method, row) for method, row in methods.items())
    kinds = {**own, **{method: _return_type(row)[0] for method, row in methods.items()}}
    return (
        f'"""{about}"""\n{IMPORTS}{more}\n\n'
        f'class {name}({base}):\n    """{description}"""\n\n{body}\n\n'
        f'class Async{name}(AsyncAPIResource[{name}]):\n    """`{name}`, awaited."""\n\n'
        + "".join(
            f"    {method} = {_async_wrapper(kind)}({name}.{method})\n" for method, kind in kinds.items()
        )
    )


def resources_module(resources: Iterable[str]) -> str:
    """Return the module that lists all resources."""
    listed = [resource for resource in resources if resource != PLATFORM]
    imports = "".join(
        f"from muster.client.resources.{resource} import Async{class_of(resource)}, {class_of(resource)}\n"
        for resource in listed
    )
    description = "\n".join(
        _wrapped(f"{resource}: {description_of(resource)}", "        ") for resource in listed
    )
    made = "".join(f"        self.{resource} = {class_of(resource)}(transport)\n" for resource in listed)
    derived = "".join(
        f"        self.{resource} = Async{class_of(resource)}(resources.{resource}, pool)\n"
        for resource in listed
    )
    return (
        '"""The resources of the client. Generated from the gateway\'s table of operations by `make gen`."""\n\n'
        "from concurrent.futures import ThreadPoolExecutor\n\n"
        f"from muster.client.http.transport import Transport\n{imports}\n\n"
        f'class Resources:\n    """The resources of a client.\n\n    Attributes:\n{description}\n    """\n\n'
        f"    def __init__(self, transport: Transport) -> None:\n{made}\n\n"
        'class AsyncResources:\n    """`Resources`, awaited."""\n\n'
        f"    def __init__(self, resources: Resources, pool: ThreadPoolExecutor) -> None:\n{derived}"
    )


def _method(name: str, row: Operation[Any, Any]) -> str:
    parameters = parameters_of(row)
    named = [one for one in parameters if one.is_named]
    by_position = [one for one in parameters if not one.is_named]
    star = ["*"] if named else []
    signature = ", ".join(
        ["self", *[one.declaration for one in by_position], *star, *[one.declaration for one in named]]
    )
    returned, call = _return_type(row)[0], _call(row, parameters)
    code = call if returned == "None" else f"return {call}"
    return f"    def {name}({signature}) -> {returned}:\n{_docstring(row, parameters)}\n        {code}\n"


def _return_type(row: Operation[Any, Any]) -> tuple[str, str]:
    """The return type of a method, and the attribute of the response that it returns."""
    answer = row.response
    if row.stream == "server":
        return f"Iterator[models.{answer.__name__}]", ""
    if answer is Done:
        return "None", ""
    fields = answer.model_fields
    if "items" in fields:
        item = get_args(fields["items"].annotation)[0].__name__
        if "cursor" in row.request.model_fields:
            return f"Items[models.{item}]", ""
        if not fields.keys() - {"items", "next_cursor"} and row.name not in WHOLE:
            return f"Sequence[models.{item}]", ".items"
    return f"models.{answer.__name__}", ""


def _call(row: Operation[Any, Any], parameters: Sequence[Parameter]) -> str:
    returned, taken = _return_type(row)
    renamed = {one.field: one.name for one in parameters}
    path = row.path
    for field in row.path_fields:
        path = path.replace(f"{{{field}}}", f"{{segment({renamed[field]})}}")
    written = f'f"{path}"' if row.path_fields else f'"{path}"'
    model = f"models.{row.response.__name__}"
    sent = [one for one in parameters if one.field not in row.path_fields]
    if row.stream == "server":
        rest = _fields("query_params", [one for one in sent if one.field != "after"]) or "{}"
        return f"follow(self._transport, {model}, {written}, {rest}, after)"
    given = _fields("json_body" if row.has_body else "query_params", sent)
    arguments = ", ".join([model, written, *([given] if given else [])])
    if returned.startswith("Items"):
        return f"pages(self._transport, {arguments})"
    return f"self._transport.{row.verb.lower()}({arguments}){taken}"


def _fields(maker: str, parameters: Sequence[Parameter]) -> str:
    return f"{maker}({', '.join(f'{one.field}={one.argument}' for one in parameters)})" if parameters else ""


def _docstring(row: Operation[Any, Any], parameters: Sequence[Parameter]) -> str:
    description = [
        _wrapped(f"{one.name}: {one.description}", " " * 12) for one in parameters if one.description
    ]
    if not description:
        return f'        """{row.summary}"""'
    return "\n".join([f'        """{row.summary}', "", "        Args:", *description, '        """'])


def _wrapped(line: str, indent: str) -> str:
    return textwrap.fill(
        line,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _async_wrapper(returned: str) -> str:
    return {"Items": "listed", "Iterator": "streamed"}.get(returned.partition("[")[0], "awaited")


def _methods(path: Path, name: str) -> dict[str, str]:
    """The public methods of a hand-written class with their return types."""
    if not path.exists():
        return {}
    found = next(
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    return {
        node.name: ast.unparse(node.returns) if node.returns else ""
        for node in found.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
