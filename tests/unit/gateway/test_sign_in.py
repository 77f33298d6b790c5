"""Signed tokens, tickets of sign-ins, and what a provider's claims come to: the pure half of signing in."""

import time
from pathlib import Path
from typing import Any

import pytest

from muster.errors import Rejected
from services.gateway.platform.auth.sign_in import login_state
from services.gateway.platform.auth.sign_in.passwords import Passwords, check_password
from services.gateway.platform.auth.sign_in.sign_in_file import load_sign_in
from services.gateway.sessions.claims import fulfils, groups_of, names_for, verified_email
from shared.auth import jwts
from shared.auth.jwts import Expected, NotValid
from tests.support.oidc_provider import SigningKey, bad_tokens, unsigned

NOW = 1_900_000_000.0
EXPECTED = Expected("https://id.example", "muster")
GOOD = {"iss": EXPECTED.issuer, "aud": "muster", "sub": "ci", "exp": int(NOW) + 600, "iat": int(NOW)}
KEY, OTHER, STRANGER = SigningKey("a"), SigningKey("b"), SigningKey("c")
CURVED = SigningKey("d", curve=True)
SHOWN = [KEY.document, OTHER.document, CURVED.document]
BAD = bad_tokens(GOOD, KEY, OTHER, STRANGER, NOW)


def verified(token: str, expected: Expected = EXPECTED, keys: list[dict[str, Any]] | None = None) -> Any:
    """As the edge does it."""
    if not jwts.is_jwt(token):
        raise NotValid("no shape")
    key = jwts.choose_key(jwts.read_unverified(token)[0], SHOWN if keys is None else keys)
    if key is None:
        raise NotValid("no key")
    return jwts.verify(token, key, expected, NOW)


@pytest.mark.parametrize("claims", [GOOD, GOOD | {"aud": ["x", "muster"]}, GOOD | {"exp": int(NOW) - 20}])
def test_what_a_shown_key_signed_for_us_is_believed(claims: dict[str, Any]) -> None:
    assert verified(KEY.sign(claims))["sub"] == "ci"
    assert verified(CURVED.sign(claims))["sub"] == "ci"


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_bad_token_is_not_believed(name: str) -> None:
    with pytest.raises(NotValid):
        verified(BAD[name])


def test_a_key_is_used_for_what_it_is_for() -> None:
    token = KEY.sign(GOOD)
    for change in ({"use": "enc"}, {"alg": "RS512"}, {"kty": "EC"}, {"kid": "z"}):
        with pytest.raises(NotValid):
            verified(token, keys=[KEY.document | change])
    short = SigningKey("short", bits=1024)
    with pytest.raises(NotValid, match="short"):
        verified(short.sign(GOOD), keys=[short.document])
    # Without a name it is the only one of its kind, or none.
    nameless = KEY.sign(GOOD, kid=None)
    assert verified(nameless, keys=[KEY.document, CURVED.document])
    with pytest.raises(NotValid):
        verified(nameless)


def test_who_signs_in_has_the_nonce_that_was_asked_for() -> None:
    asked = Expected(EXPECTED.issuer, "muster", nonce="n")
    assert verified(KEY.sign(GOOD | {"nonce": "n"}), asked)
    for claims in (
        GOOD,
        GOOD | {"nonce": "m"},
        GOOD | {"nonce": "n", "aud": ["muster", "x"]},
        GOOD | {"nonce": "n", "aud": ["muster", "x"], "azp": "x"},
        GOOD | {"nonce": "n", "azp": "x"},
    ):
        with pytest.raises(NotValid):
            verified(KEY.sign(claims), asked)


def test_a_time_beyond_numbers_is_none() -> None:
    for exp in (10**400, float("nan")):
        with pytest.raises(NotValid):
            jwts._check_times(GOOD | {"exp": exp}, NOW)
    assert not jwts.is_jwt(unsigned({}, {"x": "y" * jwts.MAX_CHARS}))


def test_a_ticket_is_ours_and_of_its_time() -> None:
    key = b"k" * 32
    ticket = login_state.Ticket("acme", "http://127.0.0.1:5000/signed-in", int(NOW) + 600, "r")
    text = login_state.render_ticket(key, ticket)
    assert login_state.read_ticket(key, text, NOW) == ticket
    for wrong in (text[:-2], "A" + text[1:], "", "é", login_state.render_ticket(b"x" * 32, ticket)):
        with pytest.raises(Rejected, match="not a valid sign-in ticket"):
            login_state.read_ticket(key, wrong, NOW)
    with pytest.raises(Rejected, match="longer than 10 minutes"):
        login_state.read_ticket(key, text, NOW + 601)


def test_what_goes_through_the_browser_tells_nothing_else() -> None:
    key = b"k" * 32
    one, other = (
        login_state.secrets_of(key, login_state.render_ticket(key, login_state.Ticket("a", "r", 1, random)))
        for random in ("1", "2")
    )
    found = {one.state, one.nonce, one.verifier, one.challenge, other.state, other.nonce, other.verifier}
    assert len(found) == 7 and len(one.verifier) == 43
    # RFC 7636, appendix B.
    known = login_state.SignInSecrets("", "", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    assert known.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    url = login_state.authorization_url(
        "https://id.example/auth?x=1", "muster", "https://a/b?c", "openid", one
    )
    assert "&state=" in url and one.verifier not in url and "code_challenge_method=S256" in url


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("https://muster.example/signed-in", True),
        ("https://muster.example/signed-in/", False),
        ("https://muster.example/signed-in?x", False),
        ("https://MUSTER.example/signed-in", False),
        ("http://127.0.0.1:5000/signed-in", True),
        ("http://[::1]:5000/signed-in", True),
        ("http://127.0.0.1:5000/signed-in#", False),
        ("http://127.0.0.1:5000/signed-in\n", False),
        ("http://127.0.0.1/signed-in", False),
        ("http://127.0.0.1:5000@evil.example/signed-in", False),
        ("http://127.0.0.1.evil.example:80/signed-in", False),
        ("http://localhost:5000/signed-in", False),
        ("https://127.0.0.1:5000/signed-in", False),
    ],
)
def test_a_browser_is_sent_back_to_where_the_site_says_and_nowhere_else(address: str, allowed: bool) -> None:
    assert login_state.is_redirect(address, ("https://muster.example/signed-in",), loopback=True) is allowed
    if address.startswith("http:"):
        assert not login_state.is_redirect(address, (), loopback=False)


def test_a_name_is_nobody_elses_at_the_end() -> None:
    claims = {"iss": "i", "sub": "s", "preferred_username": " ann o'neill", "email": "a@x.org"}
    first, last = names_for(claims)
    assert first == "ann-o-neill" and last.startswith("ann-o-neill-") and len(last) == 24
    assert names_for(claims | {"email_verified": True})[1] == "a@x.org"
    (only,) = names_for({"iss": "i", "sub": "s"})
    assert only.startswith("person-") and only != names_for({"iss": "i", "sub": "t"})[0]
    assert all(len(name) <= 100 for name in names_for(claims | {"preferred_username": "x" * 300}))
    assert verified_email(claims | {"email_verified": "true"}) is None


def test_groups_and_what_is_required_are_what_the_file_names() -> None:
    claims = {"groups": ["/ml", "/hr", 7], "hd": "acme.com"}
    assert groups_of(claims, "groups", {"/ml": "vision", "/ops": "ops"}) == {"vision"}
    assert groups_of({"groups": "/ml"}, "groups", {"/ml": "vision"}) == {"vision"}
    assert fulfils(claims, {"hd": "acme.com", "groups": "/hr"})
    assert not fulfils(claims, {"hd": "evil.com"}) and not fulfils({}, {"hd": "acme.com"})


async def test_a_password_is_known_by_its_hash_under_one_key_alone() -> None:
    passwords = Passwords(b"k" * 32, memory_kib=64)
    hashed = await passwords.hash("correct horse battery")
    assert hashed.startswith("$argon2id$") and "correct" not in hashed
    assert await passwords.matches(hashed, "correct horse battery")
    assert not await passwords.matches(hashed, "correct horse batterz")
    assert not await Passwords(b"x" * 32, memory_kib=64).matches(hashed, "correct horse battery")
    assert not await passwords.matches(None, "") and not await passwords.matches("nonsense", "x")


async def test_who_is_not_there_takes_as_much_work() -> None:
    passwords = Passwords(b"k" * 32, memory_kib=16 * 1024)
    hashed = await passwords.hash("correct horse battery")

    async def best_s(known: str | None) -> float:
        took = []
        for _ in range(5):
            began = time.process_time()
            await passwords.matches(known, "something else")
            took.append(time.process_time() - began)
        return min(took)

    assert 0.3 < await best_s(None) / await best_s(hashed) < 3


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaaaaaa", "hello-ann-hello-12"])
def test_a_weak_password_is_refused(password: str) -> None:
    with pytest.raises(Rejected, match="password"):
        check_password(password, "ann", "password")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("providers: {acme: {tenant: a, issuer: 'http://id.example', client_id: m}}", "not an https address"),
        ("providers: {acme: {tenant: a, issuer: 'https://id.example'}}", "set client_id"),
        ("providers: {acme: {tenant: a, issuer: 'https://i', client_id: m, audience: m}}", "must differ from client_id"),
        ("providers: {acme: {tenant: a, issuer: 'https://i', client_id: m, default_role: operator}}", "default_role"),
        ("providers: {acme: {tenant: a, issuer: 'https://i', client_id: m, colour: red}}", "colour"),
        ("providers: {a: {tenant: a, issuer: 'https://i', audience: m}, b: {tenant: b, issuer: 'https://i', audience: m}}", "same issuer"),
        ("providers: [", "while parsing"),
    ],
)  # fmt: skip
def test_a_file_that_would_let_in_too_many_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "sign-in.yaml"
    file.write_text(text)
    with pytest.raises(Rejected, match=said):
        load_sign_in(file)
    with pytest.raises(Rejected, match="No such file"):
        load_sign_in(tmp_path / "nowhere")
