"""What both libraries compute on two processes: python distributed_scenarios.py LIBRARY FOLDER [RANK]. Each rank writes its results.

torch's processes meet in a file and use gloo; ours are started by mpiexec.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

library, folder = sys.argv[1], Path(sys.argv[2])
T = importlib.import_module(library)
dist = importlib.import_module(f"{library}.distributed")
nn = T.nn
DDP = importlib.import_module(f"{library}.nn.parallel").DistributedDataParallel
hooks = importlib.import_module(f"{library}.distributed.algorithms.ddp_comm_hooks.default_hooks")
SIZE = 2
NUMBERS = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64"]  # gloo has no int16


def shown(x):
    if isinstance(x, T.Tensor):
        x = x.detach()
        if x.is_complex():
            x = T.view_as_real(x)
        return [str(x.dtype).rpartition(".")[2], list(x.shape), x.double().reshape(-1).tolist()]
    return [shown(y) for y in x] if isinstance(x, (list, tuple)) else x


def raised(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__ if not type(error).__name__.startswith("Dist") else "RuntimeError", str(error)[:24]]
    return "no error"


def inputs(rank, dtype, count=33):
    generator = T.Generator().manual_seed(rank)
    return (T.randn(count, generator=generator) * 8).to(getattr(T, dtype))


def reductions(rank):
    op = dist.ReduceOp
    found = []
    for dtype in NUMBERS:
        for kind in (op.SUM, op.PRODUCT, op.MIN, op.MAX):
            x = inputs(rank, dtype)
            dist.all_reduce(x, kind)
            found.append(x)
    for kind in (op.BAND, op.BOR, op.BXOR):
        x = inputs(rank, "int32")
        dist.all_reduce(x, kind)
        found.append(x)
    z = T.complex(inputs(rank, "float32"), inputs(rank + 5, "float32"))
    dist.all_reduce(z)
    return [*found, z]


def copies(rank):
    found = []
    for dtype in NUMBERS:
        x = inputs(rank, dtype)
        parts = [T.zeros_like(x) for _ in range(SIZE)]
        dist.all_gather(parts, x)
        dist.broadcast(x, 1)
        out = T.zeros(33, dtype=x.dtype)
        dist.scatter(out, [x * 2, x] if rank == 0 else None, src=0)
        found += [*parts, x, out]
    y = T.zeros(4)
    dist.all_to_all_single(y, T.arange(4.0) + 10 * rank)
    half = T.zeros(2)
    dist.reduce_scatter_tensor(half, T.arange(4.0) + 10 * rank)
    return [*found, y, half]


def errors(rank):
    x = T.ones(2)
    return [
        raised(lambda: dist.all_reduce(3)),
        raised(lambda: dist.all_reduce(T.ones(2), dist.ReduceOp.BAND)),
        raised(lambda: dist.gather(x) if rank == 0 else 1 / 0),
        raised(lambda: dist.scatter(x, [x, x]) if rank == 1 else 1 / 0),
        raised(lambda: dist.send(x, rank)),
        raised(lambda: dist.new_group([0, 5])),
        raised(lambda: dist.init_process_group("gloo")),
        raised(lambda: dist.P2POp(print, x, 0)),
    ]


def groups(rank):
    pair = dist.new_group([0, 1])
    mesh = dist.init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
    return [
        dist.get_rank(pair),
        dist.get_world_size(pair),
        dist.get_process_group_ranks(pair),
        mesh.get_coordinate(),
        mesh["tp"].size(),
        str(dist.ReduceOp.SUM),
    ]


def weights(model):
    """The same start in both libraries."""
    generator = T.Generator().manual_seed(3)
    with T.no_grad():
        for p in model.parameters():
            p.copy_(T.randn(p.shape, generator=generator) * 0.3)
    return model


def trained(rank, dtype, steps=6, hook=None, **options):
    model = DDP(weights(nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 3))).to(getattr(T, dtype)), **options)
    if hook is not None:
        model.register_comm_hook(None, hook)
    optimizer = T.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        generator = T.Generator().manual_seed(10 * step + rank)
        x = T.randn(6, 5, generator=generator, dtype=getattr(T, dtype))
        optimizer.zero_grad()
        loss = (model(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, *[p.grad for p in model.parameters()], *model.parameters(), *model.buffers()]


def training(rank):
    return [
        trained(rank, "float64"),
        trained(rank, "float64", gradient_as_bucket_view=True, bucket_cap_mb=0.0001),
        trained(rank, "float64", static_graph=True),
        trained(rank, "float64", hook=hooks.fp16_compress_hook),
    ]


def uneven(rank):
    model = DDP(weights(nn.Linear(3, 2)).double())
    with model.join():
        for step in range(2 + 2 * rank):
            model.zero_grad()
            model(T.ones(2, 3, dtype=T.float64) * (step + rank + 1)).sum().backward()
            with T.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
    return list(model.parameters())


def main():
    if library == "torch":
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=int(sys.argv[3]), world_size=SIZE)
    else:
        dist.init_process_group("gloo")
    rank = dist.get_rank()
    scenarios = [reductions, copies, errors, groups, training, uneven]
    results = {scenario.__name__: shown(scenario(rank)) for scenario in scenarios}
    (folder / f"{library}.{rank}.json").write_text(json.dumps(results))
    dist.destroy_process_group()


main()
