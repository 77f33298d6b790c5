from enum import StrEnum

import pytest

from shared.errors import Broken
from shared.state_machine import StateMachine


class Light(StrEnum):
    red = "red"
    green = "green"
    broken = "broken"
    unused = "unused"


class Push(StrEnum):
    step = "step"
    smash = "smash"
    wave = "wave"


TABLE = {
    (Light.red, Push.step): Light.green,
    (Light.green, Push.step): Light.red,
    (Light.green, Push.smash): Light.broken,
}
MACHINE = StateMachine("light", Light.red, TABLE, ignored={(Light.red, Push.wave)}, final={Light.broken})


@pytest.mark.parametrize(
    ("state", "trigger", "after"),
    [
        (Light.red, Push.step, Light.green),
        (Light.green, Push.smash, Light.broken),
        (Light.red, Push.wave, Light.red),
        (Light.broken, Push.step, Light.broken),
    ],
)
def test_next(state: Light, trigger: Push, after: Light) -> None:
    assert MACHINE.next(state, trigger) is after


def test_a_missing_edge_names_entity_state_and_trigger() -> None:
    with pytest.raises(Broken, match="light in state 'red' has no transition for 'smash'"):
        MACHINE.next(Light.red, Push.smash)


def test_only_edges_move() -> None:
    assert MACHINE.moves(Light.red, Push.step)
    assert not MACHINE.moves(Light.red, Push.wave)
    assert not MACHINE.moves(Light.broken, Push.step)


def test_reachable_leaves_out_what_no_edge_leads_to() -> None:
    assert MACHINE.reachable() == {Light.red, Light.green, Light.broken}


@pytest.mark.parametrize(
    ("ignored", "final"), [({(Light.red, Push.step)}, ()), ((), {Light.green})], ids=["ignored", "final"]
)
def test_a_table_that_contradicts_itself_is_refused(
    ignored: set[tuple[Light, Push]], final: set[Light]
) -> None:
    with pytest.raises(Broken, match="transitions"):
        StateMachine("light", Light.red, TABLE, ignored=ignored, final=final)
