"""What roles come to, where they count, and that nobody hands out what they have not."""

import pytest
from hypothesis import given, strategies as st

from services.gateway.platform.auth.grants import (
    TENANT_SCOPE,
    Binding,
    Grants,
    Scope,
    combine_bindings,
    nearest_role,
)
from services.gateway.platform.auth.permissions import ADMIN, OPERATOR, ROLES, SITE, WIDE, Permission

READ, WRITE = Permission.EXPERIMENT_READ, Permission.EXPERIMENT_WRITE
VISION, SPEECH = Scope("vision"), Scope("speech")
SCOPES = st.sampled_from([TENANT_SCOPE, VISION, SPEECH, Scope("vision", "detect"), Scope("speech", "detect")])
BINDINGS = st.lists(
    st.builds(Binding, st.just("x"), st.sampled_from(list(ROLES.values())), SCOPES), max_size=4
)


def having(role: str, place: Scope = TENANT_SCOPE) -> Grants:
    return combine_bindings([Binding(role, ROLES[role], place)])


@pytest.mark.parametrize(
    ("given_on", "asked_at", "counts"),
    [
        (TENANT_SCOPE, VISION, True),
        (TENANT_SCOPE, Scope("vision", "detect"), True),
        (VISION, VISION, True),
        (VISION, Scope("vision", "detect"), True),
        (VISION, SPEECH, False),
        (VISION, TENANT_SCOPE, False),
        (Scope("vision", "detect"), Scope("vision", "detect"), True),
        (Scope("vision", "detect"), VISION, False),
        (Scope("vision", "detect"), Scope("vision", "track"), False),
        (Scope("vision", "detect"), Scope("speech", "detect"), False),
    ],
)
def test_a_role_counts_where_it_was_given_and_beneath(given_on: Scope, asked_at: Scope, counts: bool) -> None:
    grants = having("editor", given_on)
    assert grants.holds(WRITE, asked_at) is counts
    assert grants.holds(WRITE)


def test_roles_add_up() -> None:
    grants = combine_bindings(
        [Binding("viewer", ROLES["viewer"]), Binding("editor", ROLES["editor"], VISION)]
    )
    assert grants.holds(READ, SPEECH) and not grants.holds(WRITE, SPEECH) and grants.holds(WRITE, VISION)
    assert grants.scopes_text(READ) == "" and grants.scopes_text(WRITE) == b"vision".hex()


def test_a_scope_narrows_and_leaves_who_am_i() -> None:
    grants = combine_bindings([Binding(ADMIN, ROLES[ADMIN])], frozenset({READ}))
    assert set(grants.held) == {READ, Permission.SELF}


def test_what_counts_on_the_tenant_only_is_not_had_in_a_workspace() -> None:
    """Whatever stands in the table: a role of a tenant may be widened after it was given."""
    assert not having(ADMIN, VISION).held.keys() & WIDE


def test_nobody_keeps_the_site_who_was_not_given_it() -> None:
    for name, permissions in ROLES.items():
        assert not permissions & SITE or name == OPERATOR


def test_nothing_is_seen_where_nothing_is_held() -> None:
    assert combine_bindings([]).scopes_text(READ) == "-"
    assert having("viewer", Scope("a,b'--/", "é")).scopes_text(READ) == "612c62272d2d2f/c3a9"


@given(BINDINGS, BINDINGS)
def test_who_covers_another_could_do_all_that_the_other_can(
    mine: list[Binding], theirs: list[Binding]
) -> None:
    here, there = combine_bindings(mine), combine_bindings(theirs)
    if here.covers(there):
        for permission in Permission:
            for place in (TENANT_SCOPE, VISION, SPEECH, Scope("vision", "detect")):
                assert here.holds(permission, place) or not there.holds(permission, place)
    assert combine_bindings([*mine, *theirs]).covers(there)


def test_an_admin_covers_what_a_tenant_has_to_give_and_no_more() -> None:
    admin = having(ADMIN)
    assert all(admin.covers(having(name)) for name in ROLES if name != OPERATOR)
    assert not admin.covers(having(OPERATOR)) and not having(OPERATOR).covers(having("viewer"))
    lead = having("workspace-admin", VISION)
    assert lead.covers(having("editor", Scope("vision", "detect"))) and not lead.covers(having("viewer"))


@pytest.mark.parametrize(
    ("grants", "expected"),
    [
        (combine_bindings([Binding(ADMIN, ROLES[ADMIN]), Binding(OPERATOR, ROLES[OPERATOR])]), "admin"),
        (having("workspace-admin"), "editor"),
        (having("approver"), "viewer"),
        (having(OPERATOR), "operator"),
        (having("editor", VISION), "viewer"),
    ],
)
def test_clients_of_before_are_told_the_nearest_role(grants: Grants, expected: str) -> None:
    assert nearest_role(grants) == expected
