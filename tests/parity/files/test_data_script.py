"""A PyTorch program that loads data with workers and saves and loads checkpoints prints the same under both libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")

SCRIPT = """
import io, os, sys, tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split
from torch.utils.data.dataloader import default_collate
from torch.utils.data.distributed import DistributedSampler
from torch.utils.data.sampler import SubsetRandomSampler

torch.manual_seed(0)
X = torch.randn(120, 4)
Y = (X.sum(1) > 0).long()
train, test = random_split(TensorDataset(X, Y), [0.8, 0.2])

def made():
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    return model, torch.optim.Adam(model.parameters(), lr=1e-2)

def epoch(model, optimizer, loader):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"{total:.4f}")

model, optimizer = made()
loader = DataLoader(train, batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
epoch(model, optimizer, loader)
path = os.path.join(tempfile.mkdtemp(), "checkpoint.pth")
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state(), "shape": X.shape}, path)
epoch(model, optimizer, loader)

again, optimizer = made()
checkpoint = torch.load(path, map_location=torch.device("cpu"), weights_only=True)
again.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
torch.set_rng_state(checkpoint["rng"])
epoch(again, optimizer, loader)  # the same as the second epoch above

file = io.BytesIO()
torch.save(again.state_dict(), file)
file.seek(0)
print(sorted(torch.load(file)), tuple(checkpoint["shape"]))
print(sum(len(y) for _, y in DataLoader(test, 7)), list(DistributedSampler(test, 4, 1))[:3], list(SubsetRandomSampler([4, 8, 2])))
print(default_collate([(1, 2.0), (3, 4.0)]))
"""


def test_the_program_prints_the_same(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    outputs = []
    for command in ([str(script)], ["-m", "undertow.as_torch", str(script)]):
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    lines = outputs[1].splitlines()
    assert len(lines) == 6
    assert lines[1] == lines[2]
