"""The stages of a model version, and who agrees to them."""

from datetime import UTC, datetime
from typing import get_args

import pytest

from services.registry.models.core.stage import (
    STAGE,
    StageStatus,
    ask_stage,
    decide_stage,
    refuse_decision,
    refuse_deletion,
    refuse_stage,
)
from shared.messages.models import Stage

NOW = datetime(2026, 11, 22, tzinfo=UTC)
STAGED = StageStatus("staging")


def test_every_stage_is_reachable_and_left_again() -> None:
    assert STAGE.reachable() == set(get_args(Stage))
    assert {before for before, _ in STAGE.table} == set(get_args(Stage))


@pytest.mark.parametrize("before", ["none", "candidate", "archived"])
def test_nothing_comes_to_production_but_from_staging(before: Stage) -> None:
    refusal = refuse_stage(StageStatus(before), "production")
    assert refusal is not None and refusal.code == "stage_unreachable" and "staging" not in before
    assert before in refusal.reason
    assert refuse_stage(STAGED, "production") is None


def test_without_approvals_a_stage_is_there_at_once() -> None:
    there = ask_stage(STAGED, "production", "ada", "it is the best", 0, NOW)
    assert (there.stage, there.pending) == ("production", None)
    assert [(one.stage, one.by, one.reason) for one in there.stages] == [
        ("production", "ada", "it is the best")
    ]


def test_enough_people_must_agree_and_each_counts_once() -> None:
    asked = ask_stage(STAGED, "production", "ada", "", 2, NOW)
    assert asked.stage == "staging" and asked.pending is not None
    assert _code(refuse_stage(asked, "archived")) == "stage_pending"
    assert _code(refuse_decision(asked.pending, "ada", approve=True)) == "own_approval"
    first = decide_stage(asked, "bob", "fine", NOW, approve=True)
    assert first.stage == "staging"
    assert _code(refuse_decision(first.pending, "bob", approve=True)) == "approved_already"
    there = decide_stage(first, "eve", "", NOW, approve=True)
    assert (there.stage, there.pending) == ("production", None)
    assert [one.by for one in there.stages[-1].approvals] == ["bob", "eve"]


def test_a_no_ends_it_also_of_who_asked() -> None:
    asked = ask_stage(STAGED, "production", "ada", "", 1, NOW)
    assert refuse_decision(asked.pending, "ada", approve=False) is None
    assert decide_stage(asked, "ada", "a mistake", NOW, approve=False) == STAGED
    assert _code(refuse_decision(None, "ada", approve=False)) == "stage_not_pending"


def test_what_somebody_relies_on_is_not_deleted() -> None:
    assert refuse_deletion("staging", []) is None
    assert _code(refuse_deletion("staging", ["champion"])) == "version_in_use"
    assert _code(refuse_deletion("production", [])) == "version_in_use"


def _code(refusal: object) -> str | None:
    return getattr(refusal, "code", None)
