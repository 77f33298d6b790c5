"""When a browser's cookie counts: what a page of another site can have a browser send never is enough."""

import pytest

from services.gateway.platform.auth.csrf import BrowserRequest

HOST = "muster.example"
OWN = f"https://{HOST}"
VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("site", [None, "same-origin"])
@pytest.mark.parametrize("origin", [None, OWN])
def test_a_page_of_the_gateways_own_is_heeded(verb: str, site: str | None, origin: str | None) -> None:
    assert BrowserRequest(verb, HOST, True, origin, site, wants_cookie=True).is_own


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize(
    ("origin", "site"),
    [
        ("https://evil.example", None),
        ("https://evil.example", "cross-site"),
        (f"https://other.{HOST}", "same-site"),
        (f"{OWN}:8443", "same-site"),
        (f"http://{HOST}", None),
        (f"{OWN}.evil.example", None),
        ("null", None),
        ("", None),
        (None, "cross-site"),
        (None, "same-site"),
        (None, "none"),
        (OWN, "cross-site"),
    ],
)
def test_a_foreign_page_is_not_heeded(verb: str, asks: bool, origin: str | None, site: str | None) -> None:
    assert not BrowserRequest(verb, HOST, True, origin, site, asks).is_own


@pytest.mark.parametrize("verb", VERBS)
def test_without_the_header_a_page_may_only_look(verb: str) -> None:
    assert BrowserRequest(verb, HOST, True, OWN, "same-origin").is_own is (verb in ("GET", "HEAD"))
    assert not BrowserRequest(verb, HOST, True).is_own, "a link, a form, or no browser at all"


@pytest.mark.parametrize(
    ("host", "is_secure", "name"),
    [
        (HOST, True, "__Host-muster"),
        ("127.0.0.1:8080", True, "__Host-muster"),
        ("127.0.0.1:8080", False, "muster-8080"),
        ("LOCALHOST", False, "muster-80"),
        ("[::1]:9000", False, "muster-9000"),
        ("[::1]", False, "muster-80"),
        (HOST, False, None),
        (f"{HOST}:8080", False, None),
        ("10.1.2.3:8080", False, None),
    ],
)
def test_no_cookie_is_given_where_somebody_may_listen(host: str, is_secure: bool, name: str | None) -> None:
    assert BrowserRequest("GET", host, is_secure).cookie_name == name
