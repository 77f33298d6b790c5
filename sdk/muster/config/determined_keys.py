"""Every key of a config of Determined 0.38, and what becomes of it: data, for `determined_translation` and for `docs/determined.md`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue


class Translation(StrEnum):
    """What becomes of a key."""

    SAME = "same"
    """It is a key of Muster's with the same meaning."""
    TRANSLATED = "translated"
    """It is written as Muster writes it."""
    WITHOUT_EFFECT = "without effect"
    """It is taken and left out; a warning names it where its value asks for anything."""
    REFUSED = "refused"
    """The experiment could not be what was meant."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of Determined's.

    Attributes:
        path: Its names from the top.
        says: What happens instead, and what to do; follows the key's name in a warning.
        holds: The keys below it, which share its fate.
        harmless: Values that ask for nothing: of them no warning is given. Null and empty ones are harmless always.
        is_deprecated: Whether 0.38 itself calls it deprecated, or takes it for old configs only.
        is_secret: Whether its value is one: a config's text that has it is not kept.
    """

    path: tuple[str, ...]
    fate: Translation
    says: str = ""
    holds: tuple[str, ...] = ()
    harmless: tuple[JsonValue, ...] = ()
    is_deprecated: bool = False
    is_secret: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)


_NO_CONTAINER = "trials run as processes of the worker, not in a container of their own"
_PACKAGES = f"{_NO_CONTAINER}; name the packages that they need in environment.requirements, or install them on the workers"
_STORED = "checkpoints go to the platform's object store; leave it out, only the save_ counts have an effect"
_NOT_STORED = (
    "the store's own credentials are the platform's; leave it out, and keep the secret out of configs"
)
_CADENCE = "your script decides when it validates; call trial.report there"
_MACHINES = "pools bring their machines themselves; choose one with resources.resource_pool"
_IN_SCRIPT = "your script decides this; write it there"
_LENGTH = "your script decides how long it trains; end it there, or let searcher.time_metric and searcher.max_time of an ASHA searcher say it"
_OWN = "this name is not a checkpoint of this installation; give searcher.source_checkpoint_uuid or searcher.source_model"


def _keys(
    section: str,
    fate: Translation,
    *names: str,
    says: str = "",
    is_deprecated: bool = False,
    is_secret: bool = False,
) -> tuple[Key, ...]:
    above = (section,) if section else ()
    return tuple(
        Key((*above, name), fate, says, is_deprecated=is_deprecated, is_secret=is_secret) for name in names
    )


_SAME, _TRANSLATED, _NOTHING, _REFUSED = Translation
_SEARCHER = ("metric", "smaller_is_better", "source_checkpoint_uuid", "max_trials", "max_concurrent_trials", "num_rungs", "time_metric",
             "max_time", "divisor", "mode", "max_rungs", "bracket_rungs", "stop_once")  # fmt: skip

KEYS: tuple[Key, ...] = (
    *_keys("", _SAME, "description", "data", "hyperparameters", "max_restarts", "checkpoint_policy", "preemption_timeout"),
    Key(("name",), _TRANSLATED, "names have 128 characters here; the rest of it is cut off"),
    Key(("labels",), _TRANSLATED, "written as a list; so many and such long ones as a config takes"),
    Key(("workspace",), _TRANSLATED, "an empty one is as good as none"),
    Key(("project",), _TRANSLATED, "an empty one is as good as none"),
    Key(
        ("entrypoint",), _TRANSLATED,
        "Muster starts the processes of a trial itself; the launcher is left out, and `distributed` says how they train together",
    ),
    Key(("data_layer",), _NOTHING, "your script reads its data itself; open it there", is_deprecated=True,
        holds=("type", "bucket", "bucket_directory_path", "local_cache_container_path", "local_cache_host_path", "access_key", "secret_key",
               "endpoint_url", "container_storage_path", "host_storage_path"), is_secret=True),
    Key(("debug",), _NOTHING, "Muster's own steps are traced, not printed; see `muster experiment trace`", harmless=(False,)),
    Key(("bind_mounts",), _REFUSED, f"{_NO_CONTAINER}, and nothing can be mounted for them; remove it, and use the folder's path on the machine in "
        "your script", holds=("host_path", "container_path", "read_only", "propagation")),
    Key(("internal",), _NOTHING, "it was Determined's own; leave it out", holds=("native", "native.command"), is_deprecated=True),
    Key(("min_validation_period",), _NOTHING, _CADENCE, ("batches", "records", "epochs"), is_deprecated=True),
    Key(("perform_initial_validation",), _NOTHING, _CADENCE, harmless=(False,), is_deprecated=True),
    Key(("min_checkpoint_period",), _TRANSLATED, "a length of 0 is none, a bare number counts batches", ("batches", "records", "epochs"),
        is_deprecated=True),
    Key(("scheduling_unit",), _NOTHING, "trials hear at once that they are to stop; leave it out", harmless=(100,), is_deprecated=True),
    Key(("records_per_epoch",), _NOTHING, "lengths are not converted; report the metric `epochs` or `records` itself", harmless=(0,),
        is_deprecated=True),
    Key(("slurm",), _NOTHING, _MACHINES, ("gpu_type", "sbatch_args", "slots_per_node")),
    Key(("pbs",), _NOTHING, _MACHINES, ("pbsbatch_args", "slots_per_node")),
    Key(("security",), _NOTHING, "there is no Kerberos here; leave it out", ("kerberos", "kerberos.config_file")),
    Key(("tensorboard_storage",), _NOTHING, "what TensorBoard shows is kept by the platform; leave it out", is_deprecated=True,
        holds=("type", "bucket", "access_key", "secret_key", "endpoint_url", "prefix", "host_path", "storage_path", "propagation",
               "container_path", "checkpoint_path", "tensorboard_path"), is_secret=True),
    Key(("integrations", "webhooks"), _NOTHING, "webhooks are set for the workspace, not in a config; make one there",
        ("webhook_id", "webhook_name", "exclude")),
    Key(("integrations", "pachyderm"), _NOTHING, "Pachyderm's data are not shown in the lineage; read them in your script",
        ("pachd", "pachd.host", "pachd.port", "proxy", "proxy.scheme", "proxy.host", "proxy.port", "dataset", "dataset.project", "dataset.repo",
         "dataset.commit", "dataset.branch", "dataset.token"), is_secret=True),
    *_keys("resources", _SAME, "slots_per_trial", "max_slots", "weight", "resource_pool", "is_single_node"),
    Key(("resources", "priority"), _SAME, "in a pool that shares fairly (the default) it orders your own experiments only"),
    Key(("resources", "shm_size"), _NOTHING, f"{_NO_CONTAINER}; they use the machine's own shared memory, whose size it does not change; leave it out"),
    Key(("resources", "devices"), _REFUSED, f"{_NO_CONTAINER}, and no device can be mapped for them; remove it, and use the device's path on the "
        "machine in your script", ("host_path", "container_path", "mode")),
    *_keys("resources", _NOTHING, "native_parallel", says="resources.slots_per_trial says it; leave it out", is_deprecated=True),
    *_keys("resources", _NOTHING, "slots", says="trials take resources.slots_per_trial; leave it out", is_deprecated=True),
    *_keys("resources", _NOTHING, "agent_label", says="Determined ignored it too; name what a worker must have in "
           "resources.required_labels", is_deprecated=True),
    Key(("environment", "environment_variables"), _TRANSLATED,
        "one list for every kind of slot; those for resources.slot_kind are taken, else those for cuda", ("cpu", "cuda", "rocm", "gpu")),
    Key(("environment", "image"), _NOTHING, _PACKAGES, ("cpu", "cuda", "rocm", "gpu")),
    Key(("environment", "force_pull_image"), _NOTHING, _PACKAGES, harmless=(False,)),
    Key(("environment", "registry_auth"), _NOTHING, _PACKAGES, is_secret=True,
        holds=("username", "password", "serveraddress", "email", "auth", "identitytoken", "registrytoken")),
    Key(("environment", "add_capabilities"), _NOTHING, f"{_NO_CONTAINER}; what a process may do is set on the worker"),
    Key(("environment", "drop_capabilities"), _NOTHING, f"{_NO_CONTAINER}; what a process may do is set on the worker"),
    Key(("environment", "pod_spec"), _NOTHING, f"{_NO_CONTAINER}; choose machines with resources.required_labels"),
    Key(("environment", "proxy_ports"), _NOTHING, "ports of trials are not proxied; reach them at the worker's address",
        ("proxy_port", "proxy_tcp", "unauthenticated")),
    Key(("environment", "ports"), _NOTHING, "ports of trials are not proxied; reach them at the worker's address", is_deprecated=True),
    Key(("environment", "slurm"), _NOTHING, _MACHINES, is_deprecated=True),
    Key(("environment", "pbs"), _NOTHING, _MACHINES, is_deprecated=True),
    *_keys("checkpoint_storage", _SAME, "save_experiment_best", "save_trial_best", "save_trial_latest"),
    *_keys("checkpoint_storage", _NOTHING, "type", "bucket", "prefix", "endpoint_url", "host_path", "storage_path", "propagation", "container",
           "account_url", "container_path", "checkpoint_path", "tensorboard_path", "user", "hdfs_url", "hdfs_path", says=_STORED),
    *_keys("checkpoint_storage", _NOTHING, "access_key", "secret_key", "connection_string", "credential", says=_NOT_STORED, is_secret=True),
    Key(("reproducibility", "experiment_seed"), _SAME),
    *_keys("optimizations", _SAME, "aggregation_frequency", "average_aggregated_gradients", "gradient_compression",
           "tensor_fusion_threshold", is_deprecated=True),
    *_keys("optimizations", _TRANSLATED, "tensor_fusion_cycle_time", "auto_tune_tensor_fusion", is_deprecated=True,
           says="it is Horovod's; with another way of training together it is left out"),
    Key(("optimizations", "average_training_metrics"), _NOTHING, "rank 0's metrics count; average them in your script", harmless=(True,),
        is_deprecated=True),
    Key(("optimizations", "mixed_precision"), _NOTHING, f"{_IN_SCRIPT}: torch.autocast", harmless=("O0",), is_deprecated=True),
    Key(("optimizations", "grad_updates_size_file"), _NOTHING, "it is not written; leave it out", is_deprecated=True),
    *_keys("profiling", _SAME, "enabled", "begin_on_batch", "end_after_batch", "sync_timings"),
    Key(("retention_policy", "log_retention_days"), _TRANSLATED, "0 would keep no log for a trial that still runs; 1 day is taken"),
    *_keys("log_policies", _SAME, "name", "pattern"),
    Key(("log_policies", "action"), _SAME, "also in the older form {type: cancel_retries}", ("type",)),
    *_keys("searcher", _SAME, "name", *_SEARCHER),
    Key(("searcher", "max_length"), _TRANSLATED, _LENGTH, ("batches", "records", "epochs"), is_deprecated=True),
    Key(("searcher", "source_trial_id"), _REFUSED, _OWN),
    *_keys("searcher", _TRANSLATED, "num_rounds", "length_per_round", "replace_function", "explore_function", is_deprecated=True,
           says="as time_metric, interval, max_time, truncate_fraction, resample_probability and perturb_factor"),
)  # fmt: skip
"""In the order of the sections of `docs/determined.md`. What is TRANSLATED has a function in `determined_translation`."""

BY_PATH: Mapping[tuple[str, ...], Key] = {key.path: key for key in KEYS}
