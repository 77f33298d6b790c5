"""The gateway's pure parts: cursors, tokens, buckets, documents, roles."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from services.gateway.platform.auth.permissions import ROLES, Permission
from services.gateway.platform.auth.tokens import derive_key, hash_token, is_token, render_token
from services.gateway.platform.etags import names_tag, tag_of
from services.gateway.platform.json_documents import MAX_DEPTH, check_document, merge_patch, render_place
from services.gateway.platform.limits.buckets import Bucket, Rate, RateLimitStatus, take
from services.gateway.platform.lists.cursors import decode_cursor, encode_cursor
from shared.errors import Rejected

KEY = b"k" * 32
POSITIONS = st.lists(
    st.one_of(st.integers(), st.text(max_size=20), st.none(), st.floats(allow_nan=False)), max_size=4
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


@given(POSITIONS, st.text(max_size=30))
def test_a_cursor_gives_back_its_position(position: Any, scope: str) -> None:
    assert decode_cursor(KEY, scope, encode_cursor(KEY, scope, position)) == position


@given(st.integers(min_value=0), st.data())
def test_a_changed_or_foreign_cursor_is_refused(number: int, data: st.DataObject) -> None:
    cursor = encode_cursor(KEY, "mine", [number])
    at = data.draw(st.integers(0, len(cursor) - 1))
    sign = data.draw(st.sampled_from("ABCdef123-_"))
    changed = cursor[:at] + sign + cursor[at + 1 :]
    for text, scope, key in ((changed, "mine", KEY), (cursor, "theirs", KEY), (cursor, "mine", b"x" * 32)):
        if (text, scope, key) == (cursor, "mine", KEY):
            continue
        try:
            found = decode_cursor(key, scope, text)
        except Rejected as error:
            assert error.code == "cursor_invalid" and error.place == "cursor"  # noqa: PT017
        else:
            assert found == [number]  # only the unused bits of the last sign differed


@given(st.text(max_size=60))
def test_no_text_crashes_the_cursor(text: str) -> None:
    with pytest.raises(Rejected):
        decode_cursor(KEY, "mine", text)


def test_a_token_has_256_bits_and_only_its_keyed_hash_is_kept() -> None:
    token = render_token(bytes(range(32)))
    assert is_token(token) and token.startswith("mst_") and len(token) == 47
    assert hash_token(b"one", token) != hash_token(b"two", token)
    assert derive_key(b"p", "token") != derive_key(b"p", "cursor")
    for text in ("", "mst_", token[:-1], token + "x", token.upper(), " " + token):
        assert not is_token(text)
    with pytest.raises(ValueError, match="32"):
        render_token(b"short")


@given(st.lists(st.floats(0, 2), min_size=1, max_size=60))
def test_a_bucket_never_gives_more_than_its_rate_and_burst(gaps: list[float]) -> None:
    rate, now, passed = Rate(per_s=3.0, burst=5.0), 0.0, 0
    bucket: Bucket | None = None
    for gap in gaps:
        now += gap
        (bucket,), taken = take([(bucket, rate)], now)
        passed += taken
        assert RateLimitStatus("", rate, bucket.tokens).wait_s <= 1 / rate.per_s + 1e-9
    assert passed <= rate.burst + now * rate.per_s + 1e-6


def test_a_bucket_fills_again() -> None:
    rate = Rate(per_s=1.0, burst=1.0)
    (bucket,), _ = take([(None, rate)], 0.0)
    (bucket,), taken = take([(bucket, rate)], 0.25)
    assert not taken and RateLimitStatus("", rate, bucket.tokens).wait_s == pytest.approx(0.75)
    assert take([(bucket, rate)], 1.0)[1]


def test_of_several_buckets_each_gives_a_token_or_none_does() -> None:
    full, empty, rate = Bucket(5.0, 0.0), Bucket(0.0, 0.0), Rate(per_s=1.0, burst=5.0)
    assert take([(full, rate), (None, rate)], 0.0) == ([Bucket(4.0, 0.0), Bucket(4.0, 0.0)], True)
    assert take([(full, rate), (empty, rate)], 0.5) == ([Bucket(5.0, 0.5), Bucket(0.5, 0.5)], False)


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_is_idempotent_and_leaves_its_inputs(document: Any, patch: Any) -> None:
    before = json.dumps([document, patch])
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once
    assert json.dumps([document, patch]) == before


def test_merge_patch_as_in_rfc_7396() -> None:
    cases: list[tuple[Any, Any, Any]] = [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ]
    for document, patch, merged in cases:
        assert merge_patch(document, patch) == merged


def test_deep_and_huge_documents_are_refused() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    with pytest.raises(Rejected, match="nested"):
        check_document(deep)
    with pytest.raises(Rejected, match="values"):
        check_document([[0] * 300_000])
    check_document({"a": [1, {"b": None}]})


def test_places_read_as_people_write_them() -> None:
    assert render_place(("labels", 2)) == "labels[2]"
    assert render_place(("config", "searcher", "name")) == "config.searcher.name"
    assert render_place(()) == "body"


def test_an_operator_sees_no_tenants_content() -> None:
    content = {
        Permission.EXPERIMENT_READ,
        Permission.MODEL_READ,
        Permission.CHECKPOINT_DOWNLOAD,
        Permission.CODE_WRITE,
    }
    assert not ROLES["operator"] & content


@pytest.mark.parametrize(
    ("header", "weak", "strong"),
    [
        ('"a"', True, True),
        ('W/"a"', True, False),
        ('"b", "a"', True, True),
        (' "b",, W/"a" ', True, False),
        ("*", True, True),
        ('"b"', False, False),
        ('"b,a"', False, False),
    ],
)
def test_a_list_of_tags_names_some(header: str, weak: bool, strong: bool) -> None:
    assert names_tag(header, '"a"', "X", is_weak=True) is weak
    assert names_tag(header, '"a"', "X", is_weak=False) is strong


@pytest.mark.parametrize("header", ["", "a", '"a', '"a" "b"', 'w/"a"', '"a";x'])
def test_what_is_no_list_of_tags_is_refused(header: str) -> None:
    with pytest.raises(Rejected, match="not a list of entity tags"):
        names_tag(header, '"a"', "If-Match", is_weak=False)


@given(st.binary(), st.binary())
def test_tags_are_equal_for_equal_bytes_only(one: bytes, other: bytes) -> None:
    assert (tag_of(one) == tag_of(other)) == (one == other)
    assert names_tag(tag_of(one), tag_of(one), "X", is_weak=False)


def test_a_rate_is_told_in_whole_requests_and_seconds() -> None:
    told = RateLimitStatus("read", Rate(2.0, 5.0), 3.7).headers()
    assert told == {"RateLimit-Policy": '"read";q=5;w=3', "RateLimit": '"read";r=3;t=1'}
    assert RateLimitStatus("read", Rate(2.0, 5.0), 0.2).headers()["RateLimit"] == '"read";r=0;t=3'
