"""Write `docs/determined.md` from `muster.config.determined_keys`: `python sdk/generate_determined_page.py [--check]`. Run by `make gen`."""

import sys

from generated import ROOT, main_of
from muster.config.determined_keys import KEYS, Key, Translation

TARGET = ROOT / "docs/determined.md"

HEADER = """# Coming from Determined

*The tables are generated from `sdk/muster/config/determined_keys.py` by `make gen`; do not edit this page.*

Submit a config of Determined 0.38 as it is: `muster experiment create CONFIG`, or `config` and `config_yaml` of `POST /v1/experiments`.
Keys that only Determined has are translated or ignored. The `warnings` of the answer name each such key, its replacement and what to do; the
command prints them. `muster plan` and `POST /v1/plans` show the same before you submit. Warnings never contain values. If a secret is in a key
that is ignored (`checkpoint_storage.secret_key`, `environment.registry_auth`), the text of the config is not stored.

Defaults are those of Determined: `max_restarts` 5, `max_concurrent_trials` 16, `checkpoint_policy` best, one best and one newest checkpoint of
each trial, `preemption_timeout` 3600, `divisor` 4, `mode` standard, `max_rungs` 5.

## What must change in the code

A script reports through `muster.trial()` ([training](training.md)). Metrics that it reports through Determined's own library (`import determined`)
are not recorded, even if that library is installed. A search in which no trial reports the searcher's metric ends as `error` with that reason.
A `single` experiment completes with a warning, which is shown in `reason` and `warnings` of the API, in `muster experiment describe` and `wait`, and
on the experiment's page of the dashboard.

## What is refused

| config | reason | use instead |
|---|---|---|
| `entrypoint: module:TrialClass`, and launchers with `--trial` or their own options | the class inherits from Determined's harness, which Muster does not have | a script that calls `muster.trial()`; [training](training.md) |
| `bind_mounts`, `resources.devices` with entries | trials run as processes of the worker, not in containers, so nothing can be mounted or mapped, and the script would not find its paths | remove them; the script uses paths of the machine, which `data` can name |
| `searcher.source_trial_id` | it names a trial of another installation | `source_checkpoint_uuid` or `source_model`, after `muster import determined` |
| searchers `sync_halving`, `adaptive`, `adaptive_simple` | Determined 0.38 refuses them too | `adaptive_asha` |
| a search in which no hyperparameter varies; a log parameter of base 1; more rungs than `max_time` has units | there is nothing to compare | `searcher.name: single`; a larger base; fewer rungs |
| keys that neither Determined nor Muster has | as in Determined | the error suggests the most similar key |

## Importing experiments and models

Save the answers of Determined's REST API as JSON files, one answer per file: `GET /api/v1/experiments`, `/experiments/{id}` (for the config), `/models`,
`/models/{name}/versions`, `/checkpoints/{uuid}`, `/workspaces`. Then run

    muster import determined DUMPS --s3 https://s3.example      # shows the changes
    muster import determined DUMPS --s3 https://s3.example --apply --to configs
    muster import determined DUMPS --apply --submit CODE         # also submits each config with this folder of code

- **Experiments.** Each config is translated and written to `experiment-31-NAME.yaml`; its first lines list the differences. A config that cannot be
  submitted (a trial class) is written too, with the reason. Files that you have edited are not overwritten.
- **Models.** Each model is created in its workspace, which must exist and be accessible to you, with description, notes, labels (as tags) and metadata.
  Characters of a name other than letters, digits, spaces and `. _ -` are replaced by `-`.
- **Versions.** A version in Muster needs a checkpoint in the registry, but Determined's checkpoints are in its own store. The import therefore stores the versions in the
  model's metadata under `determined.versions`, with name, comment, notes, labels, metadata, hyperparameters, metrics and the address of the checkpoint
  (`s3://bucket/prefix/uuid`), if the store at `--s3` has a file of it; otherwise the report lists the version as omitted. Credentials: `--access-key`, `--secret-key`, or
  `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`. The report also names versions whose model cannot be determined.
- **Repeating the import** changes only what differs in Determined: submitted experiments have the label `determined-31`, and created models are recognized by their metadata.

Trials, metrics and logs are not imported.

### Making versions loadable

To copy checkpoints into Muster, run a small experiment with one trial per checkpoint: `examples/determined/bring.py` downloads the address in its hyperparameters and saves it with
`trial.checkpoint()`. Copy the versions from the import's report into `examples/determined/bring.yaml`, then run

    muster experiment create examples/determined/bring.yaml examples/determined --wait
    muster checkpoint list N                                     # one checkpoint per version, with its metrics
    muster model register mnist-prod CHECKPOINT --name v1

`muster.load("mnist-prod@1")` then returns the files as Determined stored them. Everyone who can see the experiment can read its `environment_variables`: use a key that
may only read that bucket.

## Merging templates

A config is merged over a template with Determined's rules (`muster.config.merge_configs`):

- Scalars of the config win. Mappings are merged key by key; null does not override.
- Additive lists (labels, environment variables, log policies, mounts, devices, capabilities, proxied ports) are concatenated, the template's entries first. A
  template entry is dropped if the config has one with the same name or `container_path`.
- Other lists, and hyperparameters with a `type`, are taken from the config as a whole.
- If the searcher has another name, or the storage another type, the template contributes only keys that all kinds have.

## Short forms

- A length is `{batches: 100}`, `{records: 100}`, `{epochs: 3}` or a bare number of batches.
- `max_length` of `async_halving` and `adaptive_asha` becomes `time_metric` (its unit) and `max_time`. The script reports a metric of that name; without it, its steps count as `batches`.
- A hyperparameter that is a bare scalar or list is a constant.
- `single` draws one value for each hyperparameter that has a range, by `experiment_seed`.
- `environment_variables` and `labels` may be mappings; a log policy's `action` may be `{type: cancel_retries}`.
- An entrypoint `python3 -m determined.launch.torch_distributed -- COMMAND` (also `horovod`, `deepspeed`, `tensorflow`) becomes COMMAND, and `distributed` selects how its
  processes train together.

## Every key
"""
_FATES = {
    Translation.SAME: "same",
    Translation.TRANSLATED: "translated",
    Translation.WITHOUT_EFFECT: "ignored, with a warning",
    Translation.REFUSED: "refused",
}


def generate() -> str:
    """Return the text of the page."""
    return HEADER + "".join(_section(name) for name in dict.fromkeys(map(_section_of, KEYS)))


def _section_of(key: Key) -> str:
    return key.path[0] if len(key.path) > 1 else ""


def _section(name: str) -> str:
    title = f"`{name}`" if name else "The top"
    rows = "\n".join(_row(key) for key in KEYS if _section_of(key) == name)
    return f"\n### {title}\n\n| key | in Muster | |\n|---|---|---|\n{rows}\n"


def _row(key: Key) -> str:
    translation = _FATES[key.translation] + ("; deprecated in 0.38" if key.is_deprecated else "")
    return f"| {_code('.'.join(key.path[1:]) or key.name)} | {translation} | {'; '.join(filter(None, (_sentence(key.message), _below(key))))} |"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _below(key: Key) -> str:
    return f"with {', '.join(map(_code, key.holds))}" if key.holds else ""


def _code(name: str) -> str:
    return f"`{name}`"


if __name__ == "__main__":
    sys.exit(main_of(TARGET, generate()))
