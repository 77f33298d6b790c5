"""Write `docs/determined.md` from `muster.config.determined_keys`: `python sdk/generate_determined_page.py [--check]`. Run by `make gen`."""

import sys

from generated import ROOT, main_of
from muster.config.determined_keys import KEYS, Key, Translation

TARGET = ROOT / "docs/determined.md"

HEADER = """# Coming from Determined

*The tables are generated from `sdk/muster/config/determined_keys.py` by `make gen`; change that.*

A config of Determined 0.38 is taken as it is: `muster experiment create CONFIG`, or `config` and `config_yaml` of `POST /v1/experiments`.
What is Determined's alone is translated, or left out; the answer's `warnings` name each such key, what happens instead, and what to do, and
the command prints them. `muster plan` and `POST /v1/plans` say the same before anything is submitted. A warning never shows a value, and where
a secret stood in a key that is left out (`checkpoint_storage.secret_key`, `environment.registry_auth`) the text of the config is not kept.

Defaults are Determined's: `max_restarts` 5, `max_concurrent_trials` 16, `checkpoint_policy` best, one best and one newest checkpoint of
each trial, `preemption_timeout` 3600, `divisor` 4, `mode` standard, `max_rungs` 5.

## Taking over what is there

Save what its REST API answers as JSON files, one answer a file: `GET /api/v1/experiments`, `/experiments/{id}` (for the config), `/models`,
`/models/{name}/versions`, `/checkpoints/{uuid}`, `/workspaces`. Then

    muster import determined DUMPS --s3 https://s3.example      # tells what would be done
    muster import determined DUMPS --s3 https://s3.example --apply --to configs
    muster import determined DUMPS --apply --submit CODE         # and submits each config with this folder of code

- Each experiment's config becomes `experiment-31-NAME.yaml`, translated; its first lines say what differs. One that cannot be submitted (a trial
  class) is written all the same, with the reason. A file that was changed by hand is left as it is.
- Each model is made in its workspace, which must be there where your roles ask for it, with description, notes, labels (as tags) and metadata. A name with
  other characters than letters, digits, blanks and `. _ -` gets `-` in their place.
- A version here is made of a checkpoint that the registry holds, and those of Determined lie in its own store: versions stand in the model's metadata under
  `determined.versions`, with name, comment, notes, labels, metadata, hyperparameters, metrics and the checkpoint's address (`s3://bucket/prefix/uuid`), where the store at
  `--s3` shows a file of it; else the report names it as left out. Keys: `--access-key`, `--secret-key`, or `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`.
  To have them as versions, see below.
- A version of which neither it nor its answer says whose it is, is named in the report.
- What was submitted has the label `determined-31`, and what was made is known by its metadata: a second time changes only what Determined tells otherwise.

Trials, metrics and logs are not taken over.

### Versions that can be loaded

A small experiment brings checkpoints over, one by each trial: `examples/determined/bring.py` fetches the address that its hyperparameters name and saves it by
`trial.checkpoint()`. Write the versions into `examples/determined/bring.yaml` as the import told them, then

    muster experiment create examples/determined/bring.yaml examples/determined --wait
    muster checkpoint list N                                     # a checkpoint for each version, with its metrics
    muster model register mnist-prod CHECKPOINT --name v1

and `muster.load("mnist-prod@1")` gives the files as Determined had stored them. What stands in `environment_variables` is seen by whoever sees the experiment: take a key that
may read that bucket and nothing else.

## Merging

A config is laid over a template as Determined lays it (`muster.config.merge_configs`): scalars of the config win; mappings are merged key by
key, and null leaves a key open; lists that gather (labels, environment variables, log policies, mounts, devices, capabilities, proxied ports)
are joined, the template's first, and an entry of the template whose name or `container_path` the config has too is left out; other lists, and
hyperparameters with a `type`, are taken whole; of a searcher with another name, or a storage of another type, the template gives only what
all kinds have.

## Short forms

A length is `{batches: 100}`, `{records: 100}`, `{epochs: 3}` or a bare number of batches. `max_length` of `async_halving` and `adaptive_asha`
becomes `time_metric` (its unit) and `max_time`; the script reports a metric of that name, or its steps count as `batches`. A hyperparameter
that is a bare scalar or list is a constant. `single` draws one value for each hyperparameter that has a range, by `experiment_seed`. `environment_variables` and `labels` may be mappings, as they were; a log policy's `action` may be
`{type: cancel_retries}`. An entrypoint `python3 -m determined.launch.torch_distributed -- COMMAND` (also `horovod`, `deepspeed`,
`tensorflow`) becomes COMMAND, and `distributed` says how its processes train together.

## What must change in the code

A script reports through `muster.trial()` (`docs/training.md`); what it gives to Determined's own library (`import determined`) is not recorded, even where
that library is installed. A search in which no trial reports the searcher's metric ends as `error` with that reason. A `single` experiment completes, and says
so in a warning: in `reason` and `warnings` of the API, in `muster experiment describe` and `wait`, and on its page of the dashboard.

## What is refused

| | why | instead |
|---|---|---|
| `entrypoint: module:TrialClass`, and launchers with `--trial` or options of their own | the class inherits from Determined's harness, which is not here | a script that calls `muster.trial()`; `docs/training.md` |
| `bind_mounts`, `resources.devices` with entries | trials run as processes of the worker, not in containers, so nothing can be mounted or mapped for them and the script would miss its paths | remove them; the script uses the paths of the machine, which `data` can name |
| `searcher.source_trial_id` | it names a trial of the other installation | `source_checkpoint_uuid` or `source_model`, after `muster import determined` |
| searchers `sync_halving`, `adaptive`, `adaptive_simple` | Determined 0.38 refuses them too | `adaptive_asha` |
| a search in which no hyperparameter varies; a log parameter of base 1; more rungs than `max_time` has units | there would be nothing to compare | `searcher.name: single`; a larger base; fewer rungs |
| keys that neither knows | as in Determined | the message names the likely one |

## Every key
"""
_FATES = {
    Translation.SAME: "as there",
    Translation.TRANSLATED: "translated",
    Translation.WITHOUT_EFFECT: "left out, named in a warning",
    Translation.REFUSED: "refused",
}


def generate() -> str:
    """Return the page's text."""
    return HEADER + "".join(_section(name) for name in dict.fromkeys(map(_section_of, KEYS)))


def _section_of(key: Key) -> str:
    return key.path[0] if len(key.path) > 1 else ""


def _section(name: str) -> str:
    title = f"`{name}`" if name else "The top"
    rows = "\n".join(_row(key) for key in KEYS if _section_of(key) == name)
    return f"\n### {title}\n\n| key | here | |\n|---|---|---|\n{rows}\n"


def _row(key: Key) -> str:
    fate = _FATES[key.fate] + ("; deprecated in 0.38" if key.is_deprecated else "")
    return f"| {_code('.'.join(key.path[1:]) or key.name)} | {fate} | {'; '.join(filter(None, (_sentence(key.says), _below(key))))} |"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _below(key: Key) -> str:
    return f"holds {', '.join(map(_code, key.holds))}" if key.holds else ""


def _code(name: str) -> str:
    return f"`{name}`"


if __name__ == "__main__":
    sys.exit(main_of(TARGET, generate()))
