import pytest
from pydantic import ValidationError

from shared.errors import Rejected
from shared.settings import PostgresSettings, Section, ServiceSettings, load

URLS = {
    "MUSTER_POSTGRES__TENANT_URL": "postgresql://t:hush@/muster",
    "MUSTER_POSTGRES__SYSTEM_URL": "postgresql://s:hush@/muster",
}


class SearcherSection(Section):
    cache: int = 10
    names: tuple[str, ...] = ()


class Settings(ServiceSettings):
    postgres: PostgresSettings
    searcher: SearcherSection = SearcherSection()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in URLS.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_sections_come_from_the_environment(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MUSTER_NATS__URL", "nats://elsewhere:4222")
    environment.setenv("MUSTER_SEARCHER__CACHE", "3")
    settings = load(Settings)
    assert settings.nats.url == "nats://elsewhere:4222"
    assert settings.searcher.cache == 3
    assert settings.postgres.tenant_url.get_secret_value() == URLS["MUSTER_POSTGRES__TENANT_URL"]


@pytest.mark.parametrize("name", ["MUSTER_SEARCHER__CASH", "MUSTER_NATS__URLL", "MUSTER_NATZ__URL"])
def test_an_unknown_key_is_refused_by_its_name(environment: pytest.MonkeyPatch, name: str) -> None:
    environment.setenv(name, "1")
    with pytest.raises(Rejected, match=f"{name} is not a setting of Muster"):
        load(Settings)


def test_a_misspelt_section_gets_a_hint(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MUSTER_NATZ__URL", "nats://x")
    with pytest.raises(Rejected, match="did you mean MUSTER_NATS__URL"):
        load(Settings)


@pytest.mark.parametrize("name", ["MUSTER_GATEWAY__PORT", "MUSTER_TOKEN", "MUSTER_FAULTS"])
def test_what_belongs_to_others_is_left_alone(environment: pytest.MonkeyPatch, name: str) -> None:
    environment.setenv(name, "1")
    assert load(Settings).nats == ServiceSettings().nats


def test_every_missing_key_is_named(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MUSTER_POSTGRES__POOL_SIZE", "4")
    environment.delenv("MUSTER_POSTGRES__TENANT_URL")
    environment.delenv("MUSTER_POSTGRES__SYSTEM_URL")
    with pytest.raises(Rejected) as refused:
        load(Settings)
    assert "MUSTER_POSTGRES__TENANT_URL is missing" in str(refused.value)
    assert "MUSTER_POSTGRES__SYSTEM_URL is missing" in str(refused.value)


def test_of_a_missing_section_the_settings_are_named(environment: pytest.MonkeyPatch) -> None:
    for name in URLS:
        environment.delenv(name)
    with pytest.raises(
        Rejected, match="MUSTER_POSTGRES__TENANT_URL is missing; MUSTER_POSTGRES__SYSTEM_URL is missing"
    ):
        load(Settings)


@pytest.mark.parametrize("name", ["MUSTER_SEARCHER__NAMES", "MUSTER_SEARCHER", "MUSTER_NATS"])
def test_a_value_that_is_not_json_is_refused_by_its_name(environment: pytest.MonkeyPatch, name: str) -> None:
    environment.setenv(name, "localhost")
    with pytest.raises(Rejected, match=f"{name} must be a JSON"):
        load(Settings)


def test_a_value_of_another_type_is_refused_by_its_name(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MUSTER_SEARCHER__CACHE", "many")
    with pytest.raises(Rejected, match=r"MUSTER_SEARCHER__CACHE: .*integer"):
        load(Settings)


def test_a_side_port_that_others_reach_needs_a_token(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MUSTER_SIDE__HOST", "0.0.0.0")
    with pytest.raises(Rejected, match="MUSTER_SIDE__TOKEN"):
        load(Settings)
    environment.setenv("MUSTER_SIDE__TOKEN", "hush")
    assert load(Settings).side.host == "0.0.0.0"


def test_secrets_are_masked() -> None:
    masked = load(Settings).masked()
    assert "hush" not in masked
    assert "tenant_url" in masked


def test_settings_are_frozen() -> None:
    settings = load(Settings)
    with pytest.raises(ValidationError):
        settings.nats = settings.nats  # type: ignore[misc]
