"""Event files for TensorBoard match those of torch's writer, value for value."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("tensorboard", reason="event files are written by the tensorboard package")
pytest.importorskip("PIL", reason="pictures are encoded by Pillow")
torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from torch.utils.tensorboard import SummaryWriter as TorchsWriter

import undertow as ut
from undertow.utils.tensorboard import SummaryWriter


def written(lib, writer_class, folder):
    values = lib.linspace(-2, 3, 50).pow(3)
    with writer_class(str(folder), purge_step=0) as writer:
        for step in range(2):
            writer.add_scalar("loss", lib.tensor(1.0 / (step + 1)), step)
            writer.add_scalar("new", 2.5, step, new_style=True)
            writer.add_scalars("both", {"a": step, "b": 2.0}, step)
            writer.add_histogram("h", values, step)
            writer.add_histogram("bins", values, step, bins=10)
        writer.add_image("picture", lib.linspace(0, 1, 48).view(3, 4, 4))
        writer.add_images("pictures", lib.linspace(0, 1, 144).view(3, 3, 4, 4))
        writer.add_text("said", "hello", 1)
        writer.add_pr_curve("pr", lib.tensor([0, 1, 1, 0]), lib.tensor([0.1, 0.9, 0.4, 0.6]), 1, num_thresholds=5)
        writer.add_custom_scalars({"T": {"c": ["Multiline", ["a", "b"]], "m": ["Margin", ["x", "y", "z"]]}})
        writer.add_hparams({"lr": 0.1, "name": "x"}, {"acc": 0.5}, run_name="options")
        writer.add_embedding(lib.arange(6.0).view(3, 2), metadata=["a", "b", "c"], global_step=1)
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if "tfevents" not in name:
                with open(path) as file:
                    found[os.path.relpath(path, folder)] = file.read()
                continue
            for event in EventFileLoader(path).Load():
                for value in event.summary.value:
                    if value.HasField("image"):
                        value.image.encoded_image_string = b""  # compressed as the version of Pillow does
                    if value.metadata.plugin_data.plugin_name == "hparams":
                        value.metadata.plugin_data.content = b"".join(sorted(value.metadata.plugin_data.content.split(b"\n")))  # in any order
                    found[os.path.relpath(where, folder), value.tag, event.step] = str(value)
    return found


def test_every_kind_of_event_matches_torch(tmp_path):
    ours = written(ut, SummaryWriter, tmp_path / "ours")
    theirs = written(torch, TorchsWriter, tmp_path / "theirs")
    assert ours.keys() == theirs.keys() and len(ours) > 20
    different = [key for key in ours if ours[key] != theirs[key] and "_hparams_" not in str(key) and "projector" not in str(key)]
    assert different == []
