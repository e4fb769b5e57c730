"""Checks of models that are divided along two dimensions of a mesh (4 ranks): they train as one process with the whole batch."""

import os
import tempfile

import undertow as ut
from undertow import nn
from undertow.distributed import checkpoint as dcp
from undertow.distributed.fsdp import fully_shard
from undertow.distributed.tensor import Shard, full_tensor, sharding_of
from undertow.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(5), nn.Linear(5, 7), nn.Linear(7, 5)

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).tanh())


def network(seed=0):
    ut.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), Block(), Block(), nn.Linear(5, 2)).double()


def batch(step, parts=1, part=0):
    generator = ut.Generator().manual_seed(step)
    x, y = ut.randn(8, 3, generator=generator, dtype=ut.float64), ut.randn(8, 2, generator=generator, dtype=ut.float64)
    rows = slice(part * 8 // parts, (part + 1) * 8 // parts)
    return x[rows], y[rows]


def trained(model, optimizer, parts=1, part=0, steps=3):
    norms = []
    for step in range(steps):
        x, y = batch(step, parts, part)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        optimizer.step()
    return norms


def close(ours, expected):
    for a, b in zip(ours, expected, strict=True):
        assert ut.allclose(ut.as_tensor(a).detach(), ut.as_tensor(b).detach(), rtol=1e-9, atol=1e-9), (a, b)


def divided(dist, rank):
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = network(0 if rank == 0 else 7)  # rank 0's values are copied to all
    for p in model.parameters():
        dist.broadcast(p.detach(), 0)
    for block in (model[1], model[2]):
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["dp"])
    return fully_shard(model, mesh=mesh["dp"]), mesh


def check_tensor_parallel_layers_are_divided_again(dist, rank, size):
    whole = network()
    expected = trained(whole, ut.optim.AdamW(whole.parameters(), lr=0.01))
    model, mesh = divided(dist, rank)
    norms = trained(model, ut.optim.AdamW(model.parameters(), lr=0.01), 2, mesh.get_local_rank("dp"))
    close(norms, expected)
    close([full_tensor(p) for p in model.parameters()], whole.parameters())
    up, down = model[1].up.weight, model[1].down.weight
    assert (up.placements, down.placements) == ((Shard(0), Shard(0)), (Shard(0), Shard(1)))
    assert up.device_mesh is mesh and sharding_of(up).shape == (7, 5) and sharding_of(up).part_shape() == tuple(up.shape)
    assert sum(p.numel() for p in model[1].parameters()) < 0.4 * sum(p.numel() for p in whole[1].parameters())


def check_checkpoints_of_two_dimensions_load_anywhere(dist, rank, size):
    box = [tempfile.mkdtemp(prefix="undertow-test-") if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    folder = os.path.join(box[0], "checkpoint")
    model, _ = divided(dist, rank)
    dcp.save(model.state_dict(), checkpoint_id=folder)
    plain = network(3)
    state = plain.state_dict()
    dcp.load(state, checkpoint_id=folder)
    close(plain.parameters(), network().parameters())
    other, _ = divided(dist, 1)
    state = other.state_dict()
    dcp.load(state, checkpoint_id=folder)
    close([full_tensor(p) for p in other.parameters()], network().parameters())


def check_the_first_dimension_of_a_mesh_has_replicas(dist, rank, size):
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    whole, model = network(), network(rank)
    expected = trained(whole, ut.optim.AdamW(whole.parameters(), lr=0.01))
    for layer in (model[1], model[2], model):
        fully_shard(layer, mesh=mesh)
    norms = trained(model, ut.optim.AdamW(model.parameters(), lr=0.01), 4, rank)
    close(norms, expected)
    close([full_tensor(p) for p in model.parameters()], whole.parameters())
    assert model[0].weight.shape == ((3 if mesh.get_local_rank("shard") == 0 else 2), 3)
