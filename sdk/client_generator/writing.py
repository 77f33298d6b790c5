"""The text of the client's modules: a class with a method for each operation, and the same awaited."""

import ast
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from client_generator.names import PLATFORM, class_of, method_of, told_of
from client_generator.parameters import Parameter, parameters_of
from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import Done

WHOLE = frozenset({"GetRetention", "ActOnExperiments"})
"""Answers that are returned as they are, though they hold nothing but items."""

WIDTH = 118
IMPORTS = """
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited, listed, streamed
from muster.client.http.fields import body_of, query_of, text, texts
from muster.client.http.paging import Items, follow, pages
from muster.client.http.transport import Reference, segment
from muster.client.models import JsonObject
from muster.client.noun import Noun
"""


def noun_module(noun: str, rows: Sequence[Operation[Any, Any]], handwritten: Path) -> str:
    """Return the module of one noun; methods that its hand-written base has are left to that."""
    name, told = class_of(noun), told_of(noun)
    own = _methods(handwritten, f"Handwritten{name}")
    left = [row for row in rows if method_of(row) not in own]
    methods = {method_of(row): row for row in left}
    if len(methods) < len(left):
        raise ValueError(
            f"two operations of {noun} have one method: give one another name in `names.METHODS`"
        )
    base = f"Handwritten{name}" if own else "Noun"
    about = f"{told}\n\nGenerated from the gateway's table of operations by `make gen`: change that"
    about += (
        f", or `muster.client.handwritten.{noun}`, which has what is more than a call.\n" if own else ".\n"
    )
    more = f"from muster.client.handwritten.{noun} import {base}\n" if own else ""
    body = "\n".join(_method(method, row) for method, row in methods.items())
    kinds = {**own, **{method: _returned(row)[0] for method, row in methods.items()}}
    return (
        f'"""{about}"""\n{IMPORTS}{more}\n\n'
        f'class {name}({base}):\n    """{told}"""\n\n{body}\n\n'
        f'class Async{name}(AsyncNoun[{name}]):\n    """`{name}`, awaited."""\n\n'
        + "".join(f"    {method} = {_awaiting(kind)}({name}.{method})\n" for method, kind in kinds.items())
    )


def nouns_module(nouns: Iterable[str]) -> str:
    """Return the module that has all nouns under their names."""
    shown = [noun for noun in nouns if noun != PLATFORM]
    imports = "".join(
        f"from muster.client.nouns.{noun} import Async{class_of(noun)}, {class_of(noun)}\n" for noun in shown
    )
    told = "\n".join(_wrapped(f"{noun}: {told_of(noun)}", "        ") for noun in shown)
    made = "".join(f"        self.{noun} = {class_of(noun)}(transport)\n" for noun in shown)
    derived = "".join(f"        self.{noun} = Async{class_of(noun)}(nouns.{noun}, pool)\n" for noun in shown)
    return (
        '"""The nouns of the client. Generated from the gateway\'s table of operations by `make gen`."""\n\n'
        "from concurrent.futures import ThreadPoolExecutor\n\n"
        f"from muster.client.http.transport import Transport\n{imports}\n\n"
        f'class Nouns:\n    """Each noun under its name.\n\n    Attributes:\n{told}\n    """\n\n'
        f"    def __init__(self, transport: Transport) -> None:\n{made}\n\n"
        'class AsyncNouns:\n    """`Nouns`, awaited."""\n\n'
        f"    def __init__(self, nouns: Nouns, pool: ThreadPoolExecutor) -> None:\n{derived}"
    )


def _method(name: str, row: Operation[Any, Any]) -> str:
    parameters = parameters_of(row)
    named = [one for one in parameters if one.is_named]
    by_position = [one for one in parameters if not one.is_named]
    star = ["*"] if named else []
    signature = ", ".join(
        ["self", *[one.declared for one in by_position], *star, *[one.declared for one in named]]
    )
    returned, call = _returned(row)[0], _call(row, parameters)
    code = call if returned == "None" else f"return {call}"
    return f"    def {name}({signature}) -> {returned}:\n{_docstring(row, parameters)}\n        {code}\n"


def _returned(row: Operation[Any, Any]) -> tuple[str, str]:
    """What a method returns, and what is done to the answer for that."""
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
    returned, taken = _returned(row)
    renamed = {one.field: one.name for one in parameters}
    path = row.path
    for field in row.path_fields:
        path = path.replace(f"{{{field}}}", f"{{segment({renamed[field]})}}")
    written = f'f"{path}"' if row.path_fields else f'"{path}"'
    model = f"models.{row.response.__name__}"
    sent = [one for one in parameters if one.field not in row.path_fields]
    if row.stream == "server":
        rest = _fields("query_of", [one for one in sent if one.field != "after"]) or "{}"
        return f"follow(self._transport, {model}, {written}, {rest}, after)"
    given = _fields("body_of" if row.has_body else "query_of", sent)
    arguments = ", ".join([model, written, *([given] if given else [])])
    if returned.startswith("Items"):
        return f"pages(self._transport, {arguments})"
    return f"self._transport.{row.verb.lower()}({arguments}){taken}"


def _fields(maker: str, parameters: Sequence[Parameter]) -> str:
    return f"{maker}({', '.join(f'{one.field}={one.sent}' for one in parameters)})" if parameters else ""


def _docstring(row: Operation[Any, Any], parameters: Sequence[Parameter]) -> str:
    told = [_wrapped(f"{one.name}: {one.told}", " " * 12) for one in parameters if one.told]
    if not told:
        return f'        """{row.summary}"""'
    return "\n".join([f'        """{row.summary}', "", "        Args:", *told, '        """'])


def _wrapped(line: str, indent: str) -> str:
    return textwrap.fill(
        line,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _awaiting(returned: str) -> str:
    return {"Items": "listed", "Iterator": "streamed"}.get(returned.partition("[")[0], "awaited")


def _methods(path: Path, name: str) -> dict[str, str]:
    """The public methods of a hand-written class, and what they return."""
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
