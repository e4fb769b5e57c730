"""Divided training with restarts: `python -m undertow.distributed.run --nproc-per-node 2 --max-restarts 3 sharded.py FOLDER`.

Parameters, gradients and optimizer state are divided among the processes by fully_shard. Every epoch is saved in FOLDER; after a failure
the launcher starts again, and training continues from there, also on another number of processes.
"""

import os
import sys

import undertow as ut
import undertow.distributed as dist
from undertow import nn
from undertow.distributed import checkpoint
from undertow.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from undertow.distributed.fsdp import fully_shard


def main(folder: str) -> None:
    """Fit a sine."""
    dist.init_process_group("mpi")
    ut.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    fully_shard(model[2])
    fully_shard(model)
    optimizer = ut.optim.AdamW(model.parameters(), lr=0.01)
    weights, state = get_state_dict(model, optimizer)
    saved = {"model": weights, "optimizer": state, "epoch": 0}
    if os.path.exists(os.path.join(folder, "model.safetensors.index.json")):
        checkpoint.load(saved, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=saved["model"], optim_state_dict=saved["optimizer"])
    rank, size = dist.get_rank(), dist.get_world_size()
    x = ut.linspace(-3, 3, 240).view(-1, 1)[rank::size]
    for epoch in range(saved["epoch"], 10):
        for _ in range(20):
            loss = nn.functional.mse_loss(model(x), x.sin())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        weights, state = get_state_dict(model, optimizer)
        checkpoint.save({"model": weights, "optimizer": state, "epoch": epoch + 1}, checkpoint_id=folder)
    if rank == 0:
        print(f"{size} processes, loss {loss.item():.5f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
