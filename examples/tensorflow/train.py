"""Handwritten digits with a plain TensorFlow loop: `.tensorflow/bin/python train.py`, after `make tensorflow`."""

import tensorflow as tf
from sklearn.datasets import load_digits

import muster
import muster.tensorflow

trial = muster.trial({"lr": 0.05, "width": 64, "batch_size": 64, "epochs": 5})
hp = trial.hparams
tf.random.set_seed(trial.seed)

pixels, labels = load_digits(return_X_y=True)
pixels = (pixels / 16).astype("float32")


class Digits(tf.Module):
    def __init__(self, width):
        self.first = tf.Variable(tf.random.normal([64, width], stddev=0.1))
        self.second = tf.Variable(tf.random.normal([width, 10], stddev=0.1))
        self.epoch = tf.Variable(0)

    def __call__(self, images):
        return tf.nn.relu(images @ self.first) @ self.second


model = Digits(hp["width"])
saved = tf.train.Checkpoint(model=model)
if trial.latest_checkpoint:
    saved.read(str(trial.latest_checkpoint / "state")).assert_consumed()
muster.tensorflow.share(trial, model.variables)


@tf.function
def train(images, wanted):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, model(images)))
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(
        model.trainable_variables, muster.tensorflow.average(trial, gradients), strict=True
    ):
        if gradient is not None:
            variable.assign_sub(hp["lr"] * gradient)
    return loss


steps = 1497 // hp["batch_size"]
while int(model.epoch) < hp["epochs"]:
    order = tf.random.experimental.stateless_shuffle(tf.range(1497), [trial.seed, int(model.epoch)])
    for batch in range(steps):
        mine = order[batch * hp["batch_size"] : (batch + 1) * hp["batch_size"]][trial.rank :: trial.size]
        loss = train(tf.gather(pixels, mine), tf.gather(labels, mine))
    model.epoch.assign_add(1)
    step = int(model.epoch) * steps
    trial.report(step, loss=float(loss))
    right = tf.argmax(model(pixels[1497:]), 1).numpy() == labels[1497:]
    trial.validate(step, accuracy=right.mean())
    with trial.checkpoint(step) as folder:
        if trial.rank == 0:
            saved.write(str(folder / "state"))
    if trial.should_stop():
        break
