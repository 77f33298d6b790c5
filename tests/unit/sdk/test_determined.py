"""Configs of Determined 0.38 are taken unchanged, and each key that does something else here is named."""

from typing import Any

import pytest
import yaml

from muster.config import ExperimentConfig, load_config, read_config
from muster.config.base_section import Section
from muster.config.determined_keys import BY_PATH, KEYS, Translation
from muster.config.log_policies import LogPolicy
from muster.config.searcher_schema import KINDS
from tests.unit.sdk.configs import GOOD, refused

SCHEMA = """
bind_mounts.host_path bind_mounts.container_path bind_mounts.read_only bind_mounts.propagation
checkpoint_policy checkpoint_storage.save_experiment_best checkpoint_storage.save_trial_best checkpoint_storage.save_trial_latest
checkpoint_storage.type checkpoint_storage.bucket checkpoint_storage.access_key checkpoint_storage.secret_key checkpoint_storage.endpoint_url
checkpoint_storage.prefix checkpoint_storage.container checkpoint_storage.connection_string checkpoint_storage.account_url
checkpoint_storage.credential checkpoint_storage.host_path checkpoint_storage.storage_path checkpoint_storage.propagation
checkpoint_storage.container_path checkpoint_storage.checkpoint_path checkpoint_storage.tensorboard_path
data debug description entrypoint environment.image.cpu environment.image.cuda environment.image.rocm environment.image.gpu
environment.environment_variables.cpu environment.environment_variables.cuda environment.environment_variables.rocm
environment.force_pull_image environment.registry_auth.username environment.registry_auth.password environment.registry_auth.serveraddress
environment.registry_auth.email environment.registry_auth.auth environment.registry_auth.identitytoken
environment.registry_auth.registrytoken environment.add_capabilities environment.drop_capabilities environment.pod_spec
environment.proxy_ports.proxy_port environment.proxy_ports.proxy_tcp environment.proxy_ports.unauthenticated environment.ports
hyperparameters integrations.webhooks.webhook_id integrations.webhooks.webhook_name integrations.webhooks.exclude
integrations.pachyderm.pachd.host integrations.pachyderm.pachd.port integrations.pachyderm.proxy.scheme integrations.pachyderm.proxy.host
integrations.pachyderm.proxy.port integrations.pachyderm.dataset.project integrations.pachyderm.dataset.repo
integrations.pachyderm.dataset.commit integrations.pachyderm.dataset.branch integrations.pachyderm.dataset.token
labels log_policies.name log_policies.pattern log_policies.action log_policies.action.type max_restarts
min_checkpoint_period.batches min_checkpoint_period.records min_checkpoint_period.epochs
min_validation_period.batches min_validation_period.records min_validation_period.epochs name
optimizations.aggregation_frequency optimizations.average_aggregated_gradients optimizations.average_training_metrics
optimizations.gradient_compression optimizations.mixed_precision optimizations.tensor_fusion_threshold
optimizations.tensor_fusion_cycle_time optimizations.auto_tune_tensor_fusion optimizations.grad_updates_size_file
pbs.pbsbatch_args pbs.slots_per_node perform_initial_validation preemption_timeout profiling.enabled profiling.begin_on_batch
profiling.end_after_batch profiling.sync_timings project records_per_epoch reproducibility.experiment_seed
resources.slots_per_trial resources.max_slots resources.weight resources.priority resources.resource_pool resources.shm_size
resources.is_single_node resources.devices.host_path resources.devices.container_path resources.devices.mode resources.slots
resources.native_parallel resources.agent_label retention_policy.log_retention_days scheduling_unit
searcher.name searcher.metric searcher.smaller_is_better searcher.source_trial_id searcher.source_checkpoint_uuid
searcher.max_length.batches searcher.max_length.records searcher.max_length.epochs searcher.max_trials searcher.max_concurrent_trials
searcher.num_rungs searcher.time_metric searcher.max_time searcher.divisor searcher.mode searcher.max_rungs searcher.bracket_rungs
searcher.stop_once security.kerberos.config_file slurm.gpu_type slurm.sbatch_args slurm.slots_per_node
tensorboard_storage.type workspace
""".split()
"""The keys of an experiment's config in Determined 0.38, from its schema."""

SINGLE = "entrypoint: python3 train.py\nsearcher: {name: single, metric: loss}"
FULL = """
name: noop
description: all of it
labels: [a, b]
workspace: ''
project: ''
entrypoint: python3 -m determined.launch.torch_distributed -- python3 train.py --lr $LR && echo done
data: {any: thing, secrets: {token: s3cr3t}}
bind_mounts: []
checkpoint_policy: best
checkpoint_storage: {type: s3, bucket: b, access_key: AKIA, secret_key: s3cr3t, endpoint_url: null, prefix: p, save_experiment_best: 0,
                     save_trial_best: 1, save_trial_latest: 1}
debug: true
environment:
  image: {cpu: a, cuda: b, rocm: c}
  environment_variables: {cpu: [A=1], cuda: [A=1, B=2], rocm: [A=1]}
  force_pull_image: true
  registry_auth: {username: u, password: s3cr3t}
  add_capabilities: [CAP_CHOWN]
  drop_capabilities: [CAP_KILL]
  pod_spec: {spec: {}}
  proxy_ports: [{proxy_port: 8265, proxy_tcp: true, unauthenticated: false}]
  ports: {a: 1}
hyperparameters:
  global_batch_size: 32
  lr: {type: log, base: 10, minval: -4, maxval: -1, count: null}
  net: {width: {type: int, minval: 1, maxval: 8}, sizes: [1, {type: const, val: 2}]}
integrations: {webhooks: {webhook_id: [1], webhook_name: [n], exclude: false}, pachyderm: {dataset: {token: s3cr3t}}}
log_policies:
  - {name: mine, pattern: oops, action: exclude_node}
  - {pattern: older, action: {type: cancel_retries}}
  - {name: ECC Error}
max_restarts: 3
min_checkpoint_period: {batches: 0}
min_validation_period: {epochs: 1}
optimizations: {aggregation_frequency: 2, average_aggregated_gradients: true, average_training_metrics: false, gradient_compression: true,
                mixed_precision: O1, tensor_fusion_threshold: 32, tensor_fusion_cycle_time: 5, auto_tune_tensor_fusion: false,
                grad_updates_size_file: /tmp/s}
pbs: {pbsbatch_args: [], slots_per_node: 4}
perform_initial_validation: true
preemption_timeout: 60
profiling: {enabled: true, begin_on_batch: 0, end_after_batch: 9, sync_timings: true}
records_per_epoch: 50000
reproducibility: {experiment_seed: 7}
resources: {slots_per_trial: 2, max_slots: 8, weight: 2, priority: 50, resource_pool: '', shm_size: 4 GiB, is_single_node: true,
            devices: [], slots: 2, native_parallel: true, agent_label: x}
retention_policy: {log_retention_days: 0}
scheduling_unit: 10
searcher: {name: adaptive_asha, metric: loss, max_trials: 16, max_length: {epochs: 12}, divisor: 4, mode: standard, max_rungs: 5,
           max_concurrent_trials: 4, bracket_rungs: [], smaller_is_better: true, source_trial_id: null, source_checkpoint_uuid: null}
security: {kerberos: {config_file: x}}
slurm: {gpu_type: t, sbatch_args: [-x], slots_per_node: 4}
tensorboard_storage: {type: shared_fs}
"""


def test_every_key_of_0_38_is_in_the_table() -> None:
    known = {key.name for key in KEYS} | {f"{key.name}.{below}" for key in KEYS for below in key.holds}
    assert [name for name in SCHEMA if name not in known] == []


def test_what_is_said_to_be_the_same_is_a_key_of_ours() -> None:
    fields = set(_fields(ExperimentConfig, "")) | {f"log_policies.{name}" for name in LogPolicy.model_fields}
    fields |= {f"searcher.{name}" for kind in KINDS.values() for name in kind.model_fields}
    assert [key.name for key in KEYS if key.translation is Translation.SAME and key.name not in fields] == []
    left_out = [key.name for key in KEYS if key.translation is Translation.WITHOUT_EFFECT]
    assert [name for name in left_out if name in fields] == []


def _fields(section: type[Section], above: str) -> list[str]:
    found = []
    for name, field in section.model_fields.items():
        found.append(above + name)
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())]
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, Section):
                found += _fields(kind, f"{above}{name}.")
    return found


def test_a_config_with_everything_is_taken_and_each_key_that_differs_is_named() -> None:
    read = read_config(FULL)
    config = read.config
    assert config.entrypoint == "python3 train.py --lr $LR && echo done"
    assert (config.distributed, config.workspace, config.min_checkpoint_period) == ("torch", None, None)
    assert getattr(config.searcher, "time_metric") == "epochs"  # noqa: B009 - only some searchers have it
    assert getattr(config.searcher, "max_time") == 12  # noqa: B009
    assert config.environment.environment_variables == ("A=1", "B=2")
    assert (config.max_restarts, config.preemption_timeout, config.resources.priority) == (3, 60, 50)
    assert config.optimizations.gradient_compression
    assert [policy.action for policy in config.log_policies] == ["exclude_node", "cancel_retries", "label"]
    assert config.data["secrets"] == {"token": "s3cr3t"}
    assert config.retention_policy.log_retention_days == 1
    named = [warning.split(":")[0].split(" ")[0] for warning in read.warnings]
    left_out = [key.name for key in KEYS if key.translation is Translation.WITHOUT_EFFECT]
    unset = {"data_layer", "internal", "environment.slurm", "environment.pbs", "environment.pod_spec"}
    unset |= {name for name in left_out if name.startswith("checkpoint_storage.") and name.split(".")[1] not in
              ("type", "bucket", "prefix", "access_key", "secret_key")}  # fmt: skip
    translated = {"entrypoint", "environment.environment_variables", "optimizations.tensor_fusion_cycle_time", "searcher.max_length",
                  "retention_policy.log_retention_days"}  # fmt: skip
    assert set(named) == (set(left_out) | translated) - unset
    assert len(named) == len(set(named))


def test_a_warning_says_what_to_do_and_shows_no_secret() -> None:
    read = read_config(FULL)
    assert all("; " in warning and ": " in warning for warning in read.warnings)
    assert "s3cr3t" not in str(read.warnings)
    assert read.has_secret
    assert not read_config(GOOD).has_secret
    old = next(warning for warning in read.warnings if warning.startswith("scheduling_unit"))
    assert "deprecated in Determined 0.38" in old


def test_a_config_of_ours_has_no_warning_and_comes_back_equal() -> None:
    read = read_config(GOOD)
    assert read.warnings == ()
    again = read_config(read.config.model_dump(mode="json"))
    assert (again.config, again.warnings) == (read.config, ())


@pytest.mark.parametrize(
    "config",
    [
        "searcher: {name: single, metric: loss}\nhyperparameters: {}\nscheduling_unit: 100\nrecords_per_epoch: 0\ndebug: false",
        "searcher: {name: grid, metric: loss}\nhyperparameters: {a: {type: int, minval: 1, maxval: 3, count: 3}}\nbind_mounts: []",
        "searcher: {name: single, metric: loss, max_length: null}\nenvironment: {environment_variables: {}, image: null, pod_spec: null}",
        "searcher: {name: single, metric: loss}\nmin_validation_period: {batches: 0}\nperform_initial_validation: false",
        "searcher: {name: single, metric: loss}\noptimizations: {mixed_precision: O0, average_training_metrics: true}",
        "searcher: {name: single, metric: loss}\nlabels: {a: true}\nenvironment: {environment_variables: {cpu: [A=1], cuda: [A=1]}}",
    ],
)
def test_what_asks_for_nothing_is_taken_in_silence(config: str) -> None:
    assert read_config(f"entrypoint: python3 train.py\n{config}").warnings == ()


@pytest.mark.parametrize(
    ("searcher", "expected"),
    [
        ("{name: async_halving, metric: m, max_trials: 4, num_rungs: 2, max_length: 100}", {"time_metric": "batches", "max_time": 100}),
        ("{name: adaptive_asha, metric: m, max_trials: 4, max_length: {records: 9}}", {"time_metric": "records", "max_time": 9}),
        ("{name: adaptive_asha, metric: m, max_trials: 4, max_length: 3, time_metric: epochs, max_time: 9}",
         {"time_metric": "epochs", "max_time": 9}),
        ("{name: random, metric: m, max_trials: 4, max_length: {epochs: 3}}", {"max_concurrent_trials": 16}),
        ("{name: pbt, metric: m, population_size: 4, num_rounds: 5, length_per_round: {batches: 10}, replace_function: {truncate_fraction: 0.25}, explore_function: {resample_probability: 0.5, perturb_factor: 0.1}}",
         {"time_metric": "batches", "interval": 10, "max_time": 50, "truncate_fraction": 0.25, "resample_probability": 0.5}),
    ],
)  # fmt: skip
def test_lengths_become_times(searcher: str, expected: dict[str, Any]) -> None:
    space = "hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}"
    read = read_config(f"entrypoint: ./run\n{space}\nsearcher: {searcher}")
    found = read.config.searcher.model_dump()
    assert {name: found[name] for name in expected} == expected
    assert len(read.warnings) == 1


def test_what_could_not_be_what_was_meant_is_refused() -> None:
    for entrypoint in (
        "model_def:MyTrial",
        "python3 -m determined.launch.torch_distributed --trial model_def:MyTrial",
    ):
        told = refused(yaml.safe_load(GOOD) | {"entrypoint": entrypoint})
        assert (told.place or "").startswith("entrypoint")
        assert "script" in (told.hint or "")
    told = refused(GOOD, ["searcher.source_trial_id=5"])
    assert (told.code, (told.place or "").split(",")[0]) == ("unsupported_key", "searcher.source_trial_id")
    assert BY_PATH["searcher", "source_trial_id"].translation is Translation.REFUSED


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("bind_mounts: [{host_path: /data, container_path: /data}]", "bind_mounts"),
        ("resources: {devices: [{host_path: /dev/a, container_path: /dev/b}]}", "resources.devices"),
        ("resources: {devices: ['/dev/a:/dev/b:mrw']}", "resources.devices"),
        ("environment: {add_capabilities: [SYS_PTRACE]}", "environment.add_capabilities"),
        ("environment: {registry_auth: {username: u, password: p}}", "environment.registry_auth"),
    ],
)
def test_what_only_a_container_has_is_refused_without_an_image(given: str, place: str) -> None:
    told = refused(f"{SINGLE}\n{given}")
    assert (told.place or "").split(",")[0] == place
    assert "the config names no image" in told.message
    assert load_config(f"{SINGLE}\n{given}", ["environment.image=ghcr.io/team/train:1"]).environment.image


def test_determineds_own_image_is_left_out_and_the_difference_is_told() -> None:
    given = "environment: {image: {cuda: determinedai/environments:cuda-11}}\nresources: {shm_size: 4 GiB}"
    read = read_config(f"{SINGLE}\n{given}")
    told = {warning.split(":")[0]: warning for warning in read.warnings}
    assert set(told) == {"environment.image", "resources.shm_size"}
    assert "environment.requirements" in told["environment.image"]
    assert "the machine's shared memory" in told["resources.shm_size"]


def test_other_images_are_used_with_their_shared_memory() -> None:
    given = (
        "environment: {image: {gpu: team/train, cpu: null}}\nresources: {shm_size: 4 GiB, slot_kind: cuda}"
    )
    read = read_config(f"{SINGLE}\n{given}")
    assert read.warnings == ()
    assert read.config.environment.image == {"cuda": "docker.io/team/train:latest"}
    assert read.config.resources.shm_size == 4 * 2**30


def test_a_single_training_takes_a_space() -> None:
    space = "hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}, width: 8}"
    assert read_config(f"{SINGLE}\n{space}").warnings == ()


def test_variables_follow_the_kind_of_slot() -> None:
    given = "environment: {environment_variables: {cpu: [A=1], gpu: [A=2]}}\n"

    def variables(overrides: list[str]) -> tuple[str, ...]:
        return load_config(GOOD + given, overrides).environment.environment_variables

    assert variables([]) == ("A=2",)
    assert variables(["resources.slot_kind=cpu"]) == ("A=1",)
    assert variables(["resources.slots_per_trial=0"]) == ("A=1",)
    assert "resources.slot_kind" in read_config(GOOD + given).warnings[0]
