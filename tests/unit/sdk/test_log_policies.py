"""What may be looked for in a trial's output, and how each mistake is answered."""

import time
from typing import Any

import pytest

from muster.config import load_config
from muster.config.log_patterns import MAX_PATTERN, MAX_REPEATS, read_pattern
from muster.errors import Rejected


def config(*policies: Any) -> dict[str, Any]:
    return {
        "entrypoint": "python3 train.py",
        "searcher": {"name": "single", "metric": "loss"},
        "log_policies": list(policies),
    }


def test_policies_as_determined_writes_them_now_and_did_before() -> None:
    found = load_config(
        config(
            {"name": "bad node", "pattern": "uncorrectable .* error", "action": "exclude_node"},
            {"pattern": ".*out of memory.*", "action": {"type": "cancel_retries"}},
            {"name": "seen", "pattern": "NaN", "action": "none"},
            {"name": "also", "pattern": "inf"},
            {"name": "CUDA OOM"},
        )
    )
    told = [(policy.label, policy.action) for policy in found.log_policies]
    assert told == [
        ("bad node", "exclude_node"),
        (".*out of memory.*", "cancel_retries"),
        ("seen", "label"),
        ("also", "label"),
        ("CUDA OOM", "label"),
    ]
    assert load_config(found.to_json()) == found


@pytest.mark.parametrize(
    ("policy", "place", "words"),
    [
        ({"name": "x", "pattern": "("}, "log_policies[0].pattern", "unclosed group"),
        ({"name": "x", "pattern": r"(a)\1"}, "log_policies[0].pattern", "backreferences are not supported"),
        ({"name": "x", "pattern": "(?=a)"}, "log_policies[0].pattern", "look-around"),
        ({"name": "x", "pattern": "(a{50}){3}"}, "log_policies[0].pattern", "too expensive"),
        ({"name": "x", "pattern": "a{99999999999999999999}"}, "log_policies[0].pattern", "too expensive"),
        ({"name": "x", "pattern": "a" * (MAX_PATTERN + 1)}, "log_policies[0].pattern", "too expensive"),
        ({"name": "x"}, "log_policies[0]", "CUDA OOM, ECC Error"),
        ({"name": "x", "pattern": "a", "action": "explode"}, "log_policies[0].action", "exclude_node"),
        ({"name": "x", "pattern": "a", "action": {"kind": "none"}}, "log_policies[0].action", "NAME"),
        ({"name": "x", "patern": "a"}, "log_policies[0].patern", "pattern"),
    ],
)
def test_what_is_refused_says_where_and_why(policy: Any, place: str, words: str) -> None:
    with pytest.raises(Rejected) as caught:
        load_config(config(policy))
    assert (caught.value.place or "").startswith(place)
    assert words in f"{caught.value} {caught.value.hint}"


def test_one_name_stands_once() -> None:
    with pytest.raises(Rejected, match="log policy name 'x' is repeated"):
        load_config(config({"name": "x", "pattern": "a"}, {"name": "x", "pattern": "b"}))


@pytest.mark.parametrize("text", ["(a*)*b", "(a|a)*b", "a.*a.*a.*a.*a.*b", f"a[ab]{{{MAX_REPEATS}}}c"])
def test_no_line_makes_a_pattern_explode(text: str) -> None:
    pattern = read_pattern(text)
    begin = time.process_time()
    assert not pattern.is_in("a" * 1_000_000)
    # A backtracking engine would not be back within this session.
    assert time.process_time() - begin < 60
