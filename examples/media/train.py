"""Log media: histograms of weights, images, a table of misclassified images, and TensorBoard event files."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import muster

SIDE, CLASSES = 8, 3


def batch(generator: torch.Generator, size: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    """Return images with one bright row each; the class is the third of the image that contains it."""
    rows = torch.randint(0, SIDE, (size,), generator=generator)
    images = torch.rand(size, 1, SIDE, SIDE, generator=generator) * 0.7
    images[torch.arange(size), 0, rows] += 0.3
    return images, rows * CLASSES // SIDE


def main() -> None:
    """Train for several epochs, and log each."""
    trial = muster.trial({"lr": 0.05, "epochs": 3})
    generator = torch.Generator().manual_seed(trial.seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=float(trial.hparams["lr"]))
    writer = SummaryWriter(str(trial.tensorboard_dir))
    for epoch in range(1, int(trial.hparams["epochs"]) + 1):
        for _ in range(20):
            images, classes = batch(generator)
            loss = nn.functional.cross_entropy(model(images), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for name, parameter in model.named_parameters():
            trial.log_histogram(epoch, name, parameter)
        images, classes = batch(generator)
        predicted = model(images).argmax(1)
        wrong = [
            {"place": place, "is": int(classes[place]), "predicted": int(predicted[place])}
            for place in (predicted != classes).nonzero().flatten()
        ]
        trial.log_image(epoch, "first", images[0], caption=f"predicted {predicted[0]}, is {classes[0]}")
        trial.log_table(epoch, "wrong", wrong, ["place", "is", "predicted"])
        trial.log_text(epoch, "summary", f"**{len(wrong)}** of {len(predicted)} are wrong")
        writer.add_scalar("loss", float(loss), epoch)
        trial.validate(epoch, loss=loss, accuracy=1 - len(wrong) / len(predicted))
        if trial.should_stop():
            break
    writer.close()


if __name__ == "__main__":
    main()
