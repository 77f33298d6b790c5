"""What a person may write as a config, and what each mistake answers."""

import json

import pytest

from muster.config import AdaptiveAsha, Const, Int, Log, leaves, load_config
from muster.config.yaml_reader import read_text
from muster.errors import Rejected
from tests.unit.sdk.configs import GOOD


def test_a_good_config_with_determineds_defaults() -> None:
    config = load_config(GOOD)
    searcher = config.searcher
    assert isinstance(searcher, AdaptiveAsha)
    assert (searcher.divisor, searcher.max_rungs, searcher.mode) == (4, 5, "standard")
    assert searcher.max_concurrent_trials == 16
    assert (config.max_restarts, config.preemption_timeout, config.upload_timeout) == (5, 3600, 300)
    assert config.resources.slots_per_trial == 1
    storage = config.checkpoint_storage
    assert (storage.save_experiment_best, storage.save_trial_best, storage.save_trial_latest) == (0, 1, 1)
    found = dict(leaves(config.hyperparameters))
    assert list(found) == [("batch",), ("layers", "act"), ("layers", "width"), ("lr",), ("sizes",)]
    assert isinstance(found["batch",], Const)
    assert found["sizes",] == Const(val=[1, 2])
    assert isinstance(found["layers", "width"], Int)
    assert isinstance(found["lr",], Log)


def test_equal_configs_have_equal_text_and_the_text_means_the_same() -> None:
    config = load_config(GOOD)
    assert load_config(config.to_json()) == config
    assert load_config(json.loads(config.to_json())).to_json() == config.to_json()
    lines = GOOD.splitlines()
    turned = "\n".join(lines[9:] + lines[2:9] + lines[:2])
    assert load_config(turned).to_json() == config.to_json()


def test_a_trial_takes_a_number_of_slots_a_part_of_one_or_a_range() -> None:
    assert load_config(GOOD, ["resources.slots_per_trial=3"]).resources.slot_range == (3, 3)
    elastic = load_config(GOOD + "resources: {slots_per_trial: {min: 2, max: 8}, max_slots: 6}\n")
    assert elastic.resources.slot_range == (2, 8)
    half = load_config(GOOD + "resources: {slots_per_trial: 0.5, max_slots: 1}\n")
    assert (half.resources.slot_range, half.resources.slot_fraction) == ((1, 1), 500)
    assert load_config(half.to_json()) == half
    assert load_config(GOOD, ["resources.slots_per_trial=0.333"]).resources.slot_fraction == 333
    assert load_config(elastic.to_json()) == elastic


def test_labels_say_on_which_workers_a_trial_may_be() -> None:
    text = "resources: {required_labels: {rack: r7}, preferred_labels: {gpu: h100}, excluded_workers: [w1]}\n"
    found = load_config(GOOD + text)
    assert found.resources.required_labels == {"rack": "r7"}
    assert found.resources.preferred_labels == {"gpu": "h100"}
    assert found.resources.excluded_workers == ("w1",)
    assert load_config(found.to_json()) == found


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
def test_what_ends_a_line_of_yaml_is_a_character_like_others_in_canonical_text(mark: str) -> None:
    config = load_config({**read_text(GOOD).root, "data": {mark: f"one{mark}two"}})
    assert load_config(config.to_json()) == config


def test_a_null_is_as_good_as_an_absent_key() -> None:
    assert load_config(GOOD + "resources: null\ndescription:\nlabels: ~\n") == load_config(GOOD)
    assert load_config(GOOD, ["hyperparameters.batch=null"]).hyperparameters["batch"] == Const(val=None)


def test_the_input_is_not_changed() -> None:
    document = json.loads(load_config(GOOD).to_json())
    before = json.dumps(document)
    load_config(document, ["name=other", "hyperparameters.new.deep=1"])
    assert json.dumps(document) == before


def test_scalars_mean_what_people_expect() -> None:
    root = read_text(
        "a: 1e-3\nb: yes\nc: 010\nd: 0x1F\ne: '1'\nf: 2021-01-01\ng: 1_000\nh: 12:30\ni: ~\nj: +.5\n"
    ).root
    assert root == {
        "a": 0.001,
        "b": "yes",
        "c": 10,
        "d": 31,
        "e": "1",
        "f": "2021-01-01",
        "g": "1_000",
        "h": "12:30",
        "i": None,
        "j": 0.5,
    }


def test_overrides_win_in_their_order() -> None:
    config = load_config(
        GOOD,
        [
            "searcher.max_trials=3",
            "searcher.max_trials=5",
            "hyperparameters.lr=0.1",
            "labels=[a, b]",
            "labels.1=c",
        ],
    )
    assert isinstance(config.searcher, AdaptiveAsha)
    assert config.searcher.max_trials == 5
    assert config.hyperparameters["lr"] == Const(val=0.1)
    assert config.labels == ("a", "c")


def test_keys_of_determined_that_do_no_harm_are_taken() -> None:
    extra = "debug: true\nscheduling_unit: 50\nrecords_per_epoch: 10\nperform_initial_validation: false\nresources: {slots: 3}\n"
    assert load_config(GOOD + extra + "optimizations: {aggregation_frequency: 1}\n") == load_config(GOOD)


def test_environment_variables_build_on_those_above() -> None:
    config = load_config(GOOD, ['environment.environment_variables=["A=1", "B=$A-${A}-$C", "A=2", "D=$A"]'])
    assert config.environment.variables() == {"A": "2", "B": "1-1-$C", "D": "2"}


def test_horovod_is_told_only_what_differs_from_its_defaults() -> None:
    assert load_config(GOOD).optimizations.variables() == {}
    config = load_config(
        GOOD, ["optimizations.tensor_fusion_threshold=32", "optimizations.auto_tune_tensor_fusion=true"]
    )
    assert config.optimizations.variables() == {
        "HOROVOD_FUSION_THRESHOLD": "33554432",
        "HOROVOD_AUTOTUNE": "1",
    }


def test_secrets_are_variables_or_files_below_home() -> None:
    config = load_config(GOOD, ["environment.secrets=[HF_TOKEN, {name: KEY, file: .ssh/id}, HF_TOKEN]"])
    assert [(one.name, one.file) for one in config.environment.secrets] == [
        ("HF_TOKEN", None),
        ("KEY", ".ssh/id"),
    ]
    assert config.environment.secret_names == {"HF_TOKEN", "KEY"}
    assert load_config(config.to_json()).environment == config.environment


@pytest.mark.parametrize(
    ("secrets", "reason"),
    [
        ("[a-b]", "must match"),
        ("[MUSTER_TOKEN]", "is set by Muster"),
        ("[{name: A, file: ../x}]", "below the trial's home"),
        ("[{name: A, file: /etc/x}]", "below the trial's home"),
        ("[{name: A, file: .}]", "below the trial's home"),
        ("[{name: A, file: x}, {name: B, file: x}]", "two secrets have the file x"),
        ("[{nam: A}]", "unknown key 'nam'"),
        ("A", "must be a list"),
    ],
)
def test_bad_secrets_are_refused(secrets: str, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        load_config(GOOD, [f"environment.secrets={secrets}"])


def test_a_variable_and_a_secret_of_one_name_are_refused() -> None:
    with pytest.raises(Rejected, match="by environment_variables and by secrets"):
        load_config(GOOD, ["environment.secrets=[A]", 'environment.environment_variables=["A=1"]'])


def test_a_config_without_secrets_is_understood_by_services_of_0_2_0() -> None:
    assert set(json.loads(load_config(GOOD).to_json())["environment"]) == {
        "environment_variables",
        "requirements",
    }
