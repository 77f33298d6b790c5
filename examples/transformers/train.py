"""Handwritten digits with a small vision transformer: `python train.py`, or `muster experiment create config.yaml`."""

import torch
from sklearn.datasets import load_digits
from torch.utils.data import Subset
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

import muster
import muster.transformers

trial = muster.trial({"lr": 0.003, "width": 32, "batch_size": 64, "epochs": 3})
hp = trial.hparams

pixels, labels = load_digits(return_X_y=True)
images = torch.tensor(pixels / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
digits = [{"pixel_values": image, "labels": int(label)} for image, label in zip(images, labels, strict=True)]

torch.manual_seed(trial.seed)
model = ViTForImageClassification(
    ViTConfig(image_size=8, patch_size=2, num_channels=1, num_labels=10,
              hidden_size=hp["width"], intermediate_size=4 * hp["width"], num_hidden_layers=2, num_attention_heads=2,
              initializer_range=0.2)  # the default suits widths of hundreds; a narrow model hardly learns with it
)  # fmt: skip


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(1) == prediction.label_ids).mean())}


trainer = Trainer(
    model,
    TrainingArguments(
        "output",
        num_train_epochs=hp["epochs"],
        learning_rate=hp["lr"],
        per_device_train_batch_size=hp["batch_size"] // trial.size,
        per_device_eval_batch_size=100,
        logging_steps=10,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,  # Muster keeps the trial's checkpoints
        report_to="none",
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
        seed=trial.seed,
    ),
    train_dataset=Subset(digits, range(1497)),
    eval_dataset=Subset(digits, range(1497, 1797)),
    compute_metrics=accuracy,
    callbacks=[muster.transformers.MusterCallback(trial)],
)
trainer.train(resume_from_checkpoint=muster.transformers.latest(trial, model))
