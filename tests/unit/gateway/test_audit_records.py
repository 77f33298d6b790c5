"""What an audit record says and never says, the chain it is sealed into, and rows that would escape it."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from muster.audit import START, Anchor, Break, check_line, check_record, link, to_line
from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.audit.records import (
    HIDDEN,
    MAX_PART_BYTES,
    Audited,
    CallFacts,
    CallOrigin,
    name_entity,
    render_record,
    seal_all,
    without_secrets,
)
from services.gateway.platform.operation import Idempotency
from shared.ids import DEFAULT_TENANT, derived_id

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
ROWS = {row.name: row for row in OPERATIONS}
TOKEN = "mst_" + "A" * 43


def record(name: str = "ann", **more: Any) -> str:
    facts = CallFacts(
        "EditUser", f"user/{name}", CallOrigin("rest", "10.0.0.1", "curl/8"), name, path={"user": name}
    )
    return render_record(DEFAULT_TENANT, facts, NOW, derived_id(DEFAULT_TENANT, name), "allowed", **more)


@pytest.mark.parametrize(
    ("shown", "kept"),
    [
        ({"secret": "s3cr3t"}, {"secret": HIDDEN}),
        ({"secret": None}, {"secret": None}),
        ({"a": [{"password": "x"}]}, {"a": [{"password": HIDDEN}]}),
        ({"config": {"environment_variables": ["A=b"]}}, {"config": {"environment_variables": HIDDEN}}),
        ({"note": f"use {TOKEN} for it"}, {"note": f"use {HIDDEN} for it"}),
        (
            {"url": "https://u:p@hooks.example.com/T0/s3cr3t?k=1"},
            {"url": f"https://hooks.example.com/{HIDDEN}"},
        ),
        ({"config_yaml": "password: x"}, {}),
        ({"number": 31, "lr": 0.1, "name": "a_b"}, {"number": 31, "lr": 0.1, "name": "a_b"}),
    ],
)
def test_secrets_are_left_out_by_name_and_by_form(shown: dict[str, Any], kept: dict[str, Any]) -> None:
    assert without_secrets(shown) == kept


def test_a_record_is_bounded_and_says_nothing_that_a_terminal_would_obey() -> None:
    facts = CallFacts("X", "x", CallOrigin("rest", "", f"\x1b[31m\ud800 {TOKEN} " + "a" * 1000))
    found = orjson.loads(
        render_record(
            DEFAULT_TENANT, facts, NOW, DEFAULT_TENANT, "denied", asked={"text": "b" * (MAX_PART_BYTES + 1)}
        )
    )
    assert found["agent"].startswith(f"?[31m? {HIDDEN} a") and len(found["agent"]) <= 310
    assert found["asked"] == {"left_out_bytes": MAX_PART_BYTES + 12}


@pytest.mark.parametrize(
    "part", [{"sequence": 0}, {"a": '"sequence":0'}, {"secret": "s3cr3t"}, {"n": 10**20}]
)
def test_a_sealed_record_is_canonical_whatever_stands_in_its_parts(part: dict[str, Any]) -> None:
    ((_, text, _),) = seal_all(Anchor(40, START), [record(asked=part, before=part, after=part)])
    found = json.loads(text)
    assert found["sequence"] == 41 and found["tenant"] == str(DEFAULT_TENANT)
    assert json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=False) == text
    assert found["after"] == without_secrets(part)


def test_what_an_operation_is_about_is_what_its_path_names_or_what_it_made() -> None:
    assert (
        name_entity("/v1/models/{model}/aliases/{alias}", {"model": "m", "alias": "a"}) == "model/m/alias/a"
    )
    assert name_entity("/v1/experiments", {}, {"id": "x", "number": 31}) == "experiment/31"
    assert name_entity("/v1/users", {}, {"id": "x", "name": "ann"}) == "user/ann"
    assert name_entity("/v1/users", {}) == "user"
    assert name_entity("/v1/policies", {}) == "policy"


def test_a_chain_says_where_it_was_changed() -> None:
    sealed = seal_all(Anchor(), [record(name, lr=0.1) for name in ("a", "b", "c")])
    anchor: Anchor | Break = Anchor()
    for _, text, own in sealed:
        assert isinstance(anchor, Anchor)
        anchor = check_record(anchor, text, own, str(DEFAULT_TENANT))
    assert anchor == Anchor(3, sealed[2][2])
    assert Anchor.parse(str(anchor)) == anchor
    follow = seal_all(Anchor(3, sealed[2][2]), [record("d")])
    assert follow[0][0] == 4


@pytest.mark.parametrize("field", ["at", "id", "actor", "operation", "entity", "path", "address", "agent", "protocol",
                                   "outcome", "after", "sequence", "tenant"])  # fmt: skip
def test_each_field_that_is_changed_breaks_the_chain_there(field: str) -> None:
    sealed = seal_all(Anchor(), [record(name, after={"n": 1}) for name in ("a", "b", "c")])
    lines, previous = [], START
    for _, text, own in sealed:
        lines.append(to_line(text, previous, own))
        previous = own
    assert first_break(lines) is None
    document = orjson.loads(sealed[1][1])
    document[field] = {"n": 2} if isinstance(document[field], dict) else type(document[field])(7)
    changed = orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()
    found = first_break([lines[0], to_line(changed, sealed[0][2], sealed[1][2]), lines[2]])
    assert found is not None and found.sequence == 2
    # Whoever writes the record's hash anew breaks the next.
    forged = link(sealed[0][2], changed)
    found = first_break([lines[0], to_line(changed, sealed[0][2], forged), lines[2]])
    assert found is not None and found.sequence == (2 if field == "sequence" else 3)


def first_break(lines: list[str]) -> Break | None:
    anchor = None
    for line in lines:
        found = check_line(anchor, line)
        if isinstance(found, Break):
            return found
        anchor = found
    return None


def test_a_line_that_was_taken_out_put_in_or_moved_is_found() -> None:
    sealed = seal_all(Anchor(), [record(name) for name in ("a", "b", "c")])
    hashes = [START, *(own for _, _, own in sealed)]
    a, b, c = (to_line(text, before, own) for (_, text, own), before in zip(sealed, hashes, strict=False))
    for lines in ([a, c], [a, b, b, c], [b, a, c], [a, "{}", c], [a, b + " ", c], [a, c, b]):
        assert first_break(lines) is not None, lines
    assert first_break([b, c]) is None  # An export of a part says what it follows.


def test_what_may_change_something_cannot_be_a_row_without_audit() -> None:
    row = ROWS["CreateUser"]
    assert row.audits is Audited.CHANGE and ROWS["ListUsers"].audits is Audited.NEVER
    for audited in (Audited.NEVER, Audited.READ):
        with pytest.raises(ValueError, match="not audited"):
            replace(row, audited=audited)
    assert ROWS["DownloadCheckpoint"].audits is Audited.READ


def test_only_these_operations_that_are_not_safe_are_not_audited() -> None:
    unsafe = {row.name for row in OPERATIONS if row.idempotent is not Idempotency.SAFE}
    assert {name for name in unsafe if ROWS[name].audits is Audited.NEVER} == {"PlanExperiment"}
