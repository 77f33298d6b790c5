"""The table of nouns: its rows fit the client, and its verbs are those that exist."""

import inspect
import re

import pytest

from muster.cli.app import app
from muster.cli.base.declarative import DeclaredCommand, ListCommand
from muster.cli.command_table import EXPLAIN, NOUNS, QUEUE
from muster.client import models
from muster.client.http.transport import Transport
from muster.client.resources import Resources
from muster.client.settings import Address

CLASSES = {
    name: type(resource)
    for name, resource in vars(Resources(Transport(Address("http://platform", "token", "a test")))).items()
}
NOT_PASSED = frozenset({"limit"})
COMMANDS = [
    pytest.param(command, id=f"{name} {command.name}")
    for name, noun in NOUNS.items()
    for command in noun.commands
] + [pytest.param(command, id=f"queue {command.name}") for command in (QUEUE, EXPLAIN)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_row_names_a_method_of_the_client_and_its_parameters(command: DeclaredCommand) -> None:
    resource, _, name = command.method.partition(".")
    parameters = inspect.signature(getattr(CLASSES[resource], name)).parameters
    assert {*command.parameters, *command.fixed} - NOT_PASSED <= parameters.keys()
    required = {one.name for one in parameters.values() if one.default is one.empty} - {"self"}
    assert required <= {*command.parameters, *command.fixed}


@pytest.mark.parametrize("command", [one for one in COMMANDS if isinstance(one.values[0], ListCommand)])
def test_the_columns_of_a_list_are_fields_of_its_items(command: ListCommand) -> None:
    resource, _, name = command.method.partition(".")
    returned = str(inspect.signature(getattr(CLASSES[resource], name)).return_annotation)
    item = getattr(models, re.findall(r"models\.(\w+)", returned)[-1])
    columns = [column.partition(".")[0] for column in command.columns.values() if isinstance(column, str)]
    assert set(columns) <= item.model_fields.keys()


@pytest.mark.parametrize("name", NOUNS)
def test_the_verbs_of_a_noun_are_those_that_exist(name: str) -> None:
    assert [command.name for command in NOUNS[name].app.registered_commands] == list(NOUNS[name].verbs)
    assert name in [group.name for group in app.registered_groups]
