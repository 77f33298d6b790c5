"""Every key of a Determined 0.38 config and how Muster handles it; the data of `determined_translation` and of `docs/determined.md`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue


class Translation(StrEnum):
    """How Muster handles a key of Determined."""

    SAME = "same"
    """Muster has the same key with the same meaning."""
    TRANSLATED = "translated"
    """The key is rewritten to its Muster equivalent."""
    WITHOUT_EFFECT = "without effect"
    """The key is removed; a warning names it if its value requests anything."""
    REFUSED = "refused"
    """The config is refused, because the experiment could not work as intended."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of Determined.

    Attributes:
        path: Path of the key from the top.
        message: Effect of the key in Muster and the remedy; follows the key's name in a warning.
        holds: Keys below it, handled in the same way.
        harmless: Values that request nothing and give no warning. Null and empty values are always harmless.
        is_deprecated: Whether Determined 0.38 deprecates the key or accepts it only for old configs.
        is_secret: Whether its value is a secret; the text of a config that contains it is not stored.
    """

    path: tuple[str, ...]
    translation: Translation
    message: str = ""
    holds: tuple[str, ...] = ()
    harmless: tuple[JsonValue, ...] = ()
    is_deprecated: bool = False
    is_secret: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)


_STORED = "checkpoints are stored in the platform's object store; remove the key, only the save_ counts have an effect"
_NOT_STORED = "the platform has its own credentials for the object store; remove the key, and keep secrets out of configs"
_CADENCE = "your script decides when to validate; call trial.validate there"
_MACHINES = "machines belong to pools; choose a pool with resources.resource_pool"
_IN_SCRIPT = "Muster does not change precision; set it in your script"
_LENGTH = "your script decides how long it trains; set the length there, or with searcher.time_metric and searcher.max_time of an ASHA searcher"
_OWN = "trials of Determined do not exist here; set searcher.source_checkpoint_uuid or searcher.source_model"


def _keys(
    section: str,
    translation: Translation,
    *names: str,
    message: str = "",
    is_deprecated: bool = False,
    is_secret: bool = False,
) -> tuple[Key, ...]:
    above = (section,) if section else ()
    return tuple(
        Key((*above, name), translation, message, is_deprecated=is_deprecated, is_secret=is_secret)
        for name in names
    )


_SAME, _TRANSLATED, _NOTHING, _REFUSED = Translation
_SEARCHER = ("metric", "smaller_is_better", "source_checkpoint_uuid", "max_trials", "max_concurrent_trials", "num_rungs", "time_metric",
             "max_time", "divisor", "mode", "max_rungs", "bracket_rungs", "stop_once")  # fmt: skip

KEYS: tuple[Key, ...] = (
    *_keys("", _SAME, "description", "data", "hyperparameters", "max_restarts", "checkpoint_policy", "preemption_timeout"),
    Key(("name",), _TRANSLATED, "names are cut to 128 characters"),
    Key(("labels",), _TRANSLATED, "written as a list; at most 64 labels of 128 characters are kept"),
    Key(("workspace",), _TRANSLATED, "an empty value is removed"),
    Key(("project",), _TRANSLATED, "an empty value is removed"),
    Key(
        ("entrypoint",), _TRANSLATED,
        "Muster starts the processes of a trial; the launcher is removed and `distributed` is set instead",
    ),
    Key(("data_layer",), _NOTHING, "your script reads its data; open it there", is_deprecated=True,
        holds=("type", "bucket", "bucket_directory_path", "local_cache_container_path", "local_cache_host_path", "access_key", "secret_key",
               "endpoint_url", "container_storage_path", "host_storage_path"), is_secret=True),
    Key(("debug",), _NOTHING, "Muster traces its own steps instead of printing them; see `muster trace`", harmless=(False,)),
    Key(("bind_mounts",), _SAME, "the site allows folders by name; they are read-only unless read_only is false, and mounts are private, so that "
        "propagation is refused", holds=("host_path", "container_path", "read_only", "propagation")),
    Key(("internal",), _NOTHING, "the key is internal to Determined; remove it", holds=("native", "native.command"), is_deprecated=True),
    Key(("min_validation_period",), _NOTHING, _CADENCE, ("batches", "records", "epochs"), is_deprecated=True),
    Key(("perform_initial_validation",), _NOTHING, _CADENCE, harmless=(False,), is_deprecated=True),
    Key(("min_checkpoint_period",), _TRANSLATED, "a length of 0 means none, a bare number means batches", ("batches", "records", "epochs"),
        is_deprecated=True),
    Key(("scheduling_unit",), _NOTHING, "trials receive stop signals immediately; remove the key", harmless=(100,), is_deprecated=True),
    Key(("records_per_epoch",), _NOTHING, "lengths are not converted; report the metric `epochs` or `records`", harmless=(0,),
        is_deprecated=True),
    Key(("slurm",), _NOTHING, _MACHINES, ("gpu_type", "sbatch_args", "slots_per_node")),
    Key(("pbs",), _NOTHING, _MACHINES, ("pbsbatch_args", "slots_per_node")),
    Key(("security",), _NOTHING, "Kerberos is not supported; remove the key", ("kerberos", "kerberos.config_file")),
    Key(("tensorboard_storage",), _NOTHING, "the platform stores TensorBoard data; remove the key", is_deprecated=True,
        holds=("type", "bucket", "access_key", "secret_key", "endpoint_url", "prefix", "host_path", "storage_path", "propagation",
               "container_path", "checkpoint_path", "tensorboard_path"), is_secret=True),
    Key(("integrations", "webhooks"), _NOTHING, "webhooks belong to workspaces, not to configs; create one with `muster webhook create`",
        ("webhook_id", "webhook_name", "exclude")),
    Key(("integrations", "pachyderm"), _NOTHING, "Pachyderm data do not appear in the lineage; read them in your script",
        ("pachd", "pachd.host", "pachd.port", "proxy", "proxy.scheme", "proxy.host", "proxy.port", "dataset", "dataset.project", "dataset.repo",
         "dataset.commit", "dataset.branch", "dataset.token"), is_secret=True),
    *_keys("resources", _SAME, "slots_per_trial", "max_slots", "weight", "resource_pool", "is_single_node"),
    Key(("resources", "priority"), _SAME, "under fair share (the default), it orders only your own experiments"),
    Key(("resources", "shm_size"), _TRANSLATED, "without an image it is removed: trials then use the machine's shared memory"),
    Key(("resources", "devices"), _SAME, "the site allows devices by path", ("host_path", "container_path", "mode")),
    *_keys("resources", _NOTHING, "native_parallel", message="resources.slots_per_trial replaces it; remove the key", is_deprecated=True),
    *_keys("resources", _NOTHING, "slots", message="resources.slots_per_trial replaces it; remove the key", is_deprecated=True),
    *_keys("resources", _NOTHING, "agent_label", message="Determined ignored it too; list required labels of workers in "
           "resources.required_labels", is_deprecated=True),
    Key(("environment", "environment_variables"), _TRANSLATED,
        "one list for all slot kinds; the variables of resources.slot_kind are used, else those of cuda", ("cpu", "cuda", "rocm", "gpu")),
    Key(("environment", "image"), _TRANSLATED, "images of determinedai are removed, and trials run as processes of the worker; list packages in "
        "environment.requirements, or name an image with Python 3.11 or newer", ("cpu", "cuda", "rocm", "gpu")),
    *_keys("environment", _SAME, "force_pull_image", "add_capabilities", "drop_capabilities"),
    Key(("environment", "registry_auth"), _SAME, "username and password; the registry is the image's, and other keys are refused",
        holds=("username", "password", "serveraddress", "email", "auth", "identitytoken", "registrytoken"), is_secret=True),
    Key(("environment", "pod_spec"), _NOTHING, "trials do not run in pods; choose machines with resources.required_labels"),
    Key(("environment", "proxy_ports"), _NOTHING, "ports of trials are not proxied; connect to the worker's address",
        ("proxy_port", "proxy_tcp", "unauthenticated")),
    Key(("environment", "ports"), _NOTHING, "ports of trials are not proxied; connect to the worker's address", is_deprecated=True),
    Key(("environment", "slurm"), _NOTHING, _MACHINES, is_deprecated=True),
    Key(("environment", "pbs"), _NOTHING, _MACHINES, is_deprecated=True),
    *_keys("checkpoint_storage", _SAME, "save_experiment_best", "save_trial_best", "save_trial_latest"),
    *_keys("checkpoint_storage", _NOTHING, "type", "bucket", "prefix", "endpoint_url", "host_path", "storage_path", "propagation", "container",
           "account_url", "container_path", "checkpoint_path", "tensorboard_path", "user", "hdfs_url", "hdfs_path", message=_STORED),
    *_keys("checkpoint_storage", _NOTHING, "access_key", "secret_key", "connection_string", "credential", message=_NOT_STORED, is_secret=True),
    Key(("reproducibility", "experiment_seed"), _SAME),
    *_keys("optimizations", _SAME, "aggregation_frequency", "average_aggregated_gradients", "gradient_compression",
           "tensor_fusion_threshold", is_deprecated=True),
    *_keys("optimizations", _TRANSLATED, "tensor_fusion_cycle_time", "auto_tune_tensor_fusion", is_deprecated=True,
           message="it applies to Horovod only; it is removed for other values of `distributed`"),
    Key(("optimizations", "average_training_metrics"), _NOTHING, "only metrics of rank 0 are recorded; average them in your script", harmless=(True,),
        is_deprecated=True),
    Key(("optimizations", "mixed_precision"), _NOTHING, f"{_IN_SCRIPT}: torch.autocast", harmless=("O0",), is_deprecated=True),
    Key(("optimizations", "grad_updates_size_file"), _NOTHING, "the file is not written; remove the key", is_deprecated=True),
    *_keys("profiling", _SAME, "enabled", "begin_on_batch", "end_after_batch", "sync_timings"),
    Key(("retention_policy", "log_retention_days"), _TRANSLATED, "0 would delete logs of running trials; 1 day is used"),
    *_keys("log_policies", _SAME, "name", "pattern"),
    Key(("log_policies", "action"), _SAME, "the older form {type: cancel_retries} is accepted too", ("type",)),
    *_keys("searcher", _SAME, "name", *_SEARCHER),
    Key(("searcher", "max_length"), _TRANSLATED, _LENGTH, ("batches", "records", "epochs"), is_deprecated=True),
    Key(("searcher", "source_trial_id"), _REFUSED, _OWN),
    *_keys("searcher", _TRANSLATED, "num_rounds", "length_per_round", "replace_function", "explore_function", is_deprecated=True,
           message="rewritten to time_metric, interval, max_time, truncate_fraction, resample_probability and perturb_factor"),
)  # fmt: skip
"""In the order of the sections of `docs/determined.md`. Every TRANSLATED key has a function in `determined_translation`."""

BY_PATH: Mapping[tuple[str, ...], Key] = {key.path: key for key in KEYS}
