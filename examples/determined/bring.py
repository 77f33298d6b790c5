"""Import a checkpoint from Determined: fetch it from its bucket, and save it as a checkpoint of this trial, to register as a model version."""

import os
from typing import Any

from minio import Minio

import muster

trial = muster.trial({"version": {"address": "s3://checkpoints/prefix/uuid", "metrics": {"loss": 0.5}}})
version: Any = trial.hparams["version"]
bucket, _, folder = version["address"].removeprefix("s3://").partition("/")
store = Minio(
    os.environ["STORE"],  # HOST:PORT
    os.environ.get("AWS_ACCESS_KEY_ID"),
    os.environ.get("AWS_SECRET_ACCESS_KEY"),
    secure=os.environ.get("STORE_TLS", "1") == "1",
)
trial.validate(1, **version["metrics"])
with trial.checkpoint(1) as directory:
    for file in store.list_objects(bucket, f"{folder}/", recursive=True):
        name = str(file.object_name)
        store.fget_object(bucket, name, str(directory / name.removeprefix(f"{folder}/")))
