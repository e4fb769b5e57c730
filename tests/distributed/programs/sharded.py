"""Checks of divided training: ZeRO, fully_shard and the norm of divided gradients equal one process with the whole batch."""

import undertow as ut
from undertow import nn
from undertow.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from undertow.distributed.optim import ZeroRedundancyOptimizer
from undertow.distributed.tensor import full_tensor, sharding_of
from undertow.nn.parallel import DistributedDataParallel as DDP
from undertow.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width, recompute=False):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.recompute = recompute

    def _inner(self, x):
        return self.down(nn.functional.gelu(self.up(self.norm(x))))

    def forward(self, x):
        return x + (checkpoint(self._inner, x, use_reentrant=False) if self.recompute else self._inner(x))


def network(recompute=False):
    ut.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), Block(5, recompute), Block(5, recompute), nn.Linear(5, 2, bias=False)).double()


def batch(size, step):
    generator = ut.Generator().manual_seed(50 + step)
    return ut.randn(3 * size, 3, generator=generator, dtype=ut.float64), ut.randn(3 * size, 2, generator=generator, dtype=ut.float64)


def trained(model, optimizer, size, rank=None, steps=4, clip=None):
    norms = []
    for step in range(steps):
        x, y = batch(size, step)
        if rank is not None:
            x, y = x[3 * rank : 3 * rank + 3], y[3 * rank : 3 * rank + 3]
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        if clip is not None:
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), clip).item())
        optimizer.step()
    return norms


def close(ours, expected, tolerance=1e-9):
    ours, expected = list(ours), list(expected)
    assert len(ours) == len(expected)
    for a, b in zip(ours, expected):
        assert a.shape == b.shape and ut.allclose(a.detach(), b.detach(), rtol=tolerance, atol=tolerance), (a, b)


def sharded(recompute=False, **options):
    model = network(recompute)
    for layer in model:
        if isinstance(layer, Block):
            fully_shard(layer, **options)
    return fully_shard(model, **options)


def check_fully_shard_trains_as_one_process(dist, rank, size):
    for clip in (None, 0.05):
        whole = network()
        expected = trained(whole, ut.optim.AdamW(whole.parameters(), lr=0.01), size, clip=clip)
        for options in ({}, {"reshard_after_forward": False}):
            model = sharded(**options)
            norms = trained(model, ut.optim.AdamW(model.parameters(), lr=0.01), size, rank, clip=clip)
            close([full_tensor(p) for p in model.parameters()], whole.parameters())
            assert all(abs(a - b) < 1e-9 for a, b in zip(norms, expected)) and len(norms) == len(expected)


def check_each_rank_has_its_part_of_parameters_gradients_and_state(dist, rank, size):
    model = sharded()
    assert isinstance(model, FSDPModule) and isinstance(model, nn.Sequential) and isinstance(model[1], FSDPModule)
    optimizer = ut.optim.Adam(model.parameters())
    trained(model, optimizer, size, rank, steps=1)
    for (_, p), (_, whole) in zip(model.named_parameters(), network().named_parameters()):
        sharding = sharding_of(p)
        start, end = sharding.bounds()
        assert sharding.shape == tuple(whole.shape) and p.shape == whole[start:end].shape == p.grad.shape
        assert optimizer.state[p]["exp_avg"].shape == p.shape
        assert p.full_tensor().shape == whole.shape and p.to_local().shape == p.shape and p.placements[0].is_shard(0)


def check_gathered_parameters_are_freed(dist, rank, size):
    model = sharded()
    groups = [layer._fully_sharded for layer in model.modules() if isinstance(layer, FSDPModule)]
    x, y = batch(size, 0)
    loss = nn.functional.mse_loss(model(x), y)
    assert all(group._gathered is None for group in groups)
    loss.backward()
    assert all(group._gathered is None for group in groups)
    model.unshard()
    assert groups[0]._gathered is not None
    model.reshard()
    with ut.no_grad():
        close([model(x)], [network()(x)])
    assert all(group._gathered is None for group in groups)


def write_trace(trace, number, group, layer):
    begin = group.start_gather

    def started():
        if group._gathered is None and group._arriving is None:
            trace.append(f"gather {number}")
        begin()

    group.start_gather = started
    layer.register_forward_hook(lambda module, args, output: trace.append(f"forward {number}"))
    layer.register_full_backward_hook(lambda module, before, after: trace.append(f"backward {number}"))


def check_the_next_parameters_are_gathered_while_these_are_used(dist, rank, size):
    """The trace of a step: which gathers begin before which blocks compute."""
    for own in (True, False):
        model = sharded() if own else nn.Sequential(*[fully_shard(nn.Linear(3, 3).double()) for _ in range(4)])
        blocks = [layer for layer in model if isinstance(layer, FSDPModule)]
        if not own:
            fully_shard(model)  # nothing is left for it
        trace = []
        for number, block in enumerate(blocks):
            write_trace(trace, number, block._fully_sharded, block.up if own else block)
        x = ut.ones(2, 3, dtype=ut.float64, requires_grad=True)
        for _ in range(2):
            trace.clear()
            model(x).sum().backward()
        last = len(blocks) - 1
        forward, backward = trace[: 2 * last + 2], trace[2 * last + 2 :]
        assert forward.index("gather 1") < forward.index("forward 0") < forward.index("forward 1"), trace
        assert backward.index(f"gather {last - 1}") < backward.index(f"backward {last}"), trace
        assert sorted(backward) == sorted(f"{what} {k}" for what in ("gather", "backward") for k in range(last + 1)), trace
        assert all(block._fully_sharded._arriving is None and block._fully_sharded._gathered is None for block in blocks)


def check_gathered_ahead_and_unused_parameters_are_forgotten(dist, rank, size):
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two, self.three = (fully_shard(nn.Linear(2, 2)) for _ in range(3))

        def forward(self, x, way):
            return self.three(self.two(self.one(x))) if way else self.three(self.one(x))

    model = fully_shard(Branches())
    for way in (True, False, True, False):
        model(ut.ones(1, 2), way).sum().backward()
    for layer in (model.one, model.two, model.three):
        assert layer._fully_sharded._arriving is None and layer._fully_sharded._gathered is None
    model.one.set_modules_to_forward_prefetch([model.three])
    model.three.set_modules_to_backward_prefetch([model.one])
    model(ut.ones(1, 2), False).sum().backward()
    handle = model.one.unshard(async_op=True)
    handle.wait()
    assert model.one._fully_sharded._gathered is not None
    model.one.reshard()


def check_checkpoints_inside_are_recomputed_with_gathered_parameters(dist, rank, size):
    whole = network()
    trained(whole, ut.optim.SGD(whole.parameters(), lr=0.1), size)
    model = sharded(recompute=True)
    trained(model, ut.optim.SGD(model.parameters(), lr=0.1), size, rank)
    close([full_tensor(p) for p in model.parameters()], whole.parameters())


def check_gradients_accumulate_until_they_are_synchronized(dist, rank, size):
    whole, model = network(), sharded()
    for step in range(3):
        x, y = batch(size, step)
        nn.functional.mse_loss(whole(x), y).backward()
        model.set_requires_gradient_sync(step == 2)
        nn.functional.mse_loss(model(x[3 * rank : 3 * rank + 3]), y[3 * rank : 3 * rank + 3]).backward()
    close([sharding_of(p).whole(p.grad) for p in model.parameters()], [p.grad for p in whole.parameters()])


def check_mixed_precision_computes_in_the_given_dtypes(dist, rank, size):
    model = fully_shard(network(), mp_policy=MixedPrecisionPolicy(param_dtype=ut.float32, reduce_dtype=ut.float64, output_dtype=ut.float64))
    seen = []
    model[0].register_forward_hook(lambda module, args, output: seen.append((args[0].dtype, module.weight.dtype, output.dtype)))
    x, y = batch(size, 0)
    out = model(x)
    assert seen == [(ut.float32, ut.float32, ut.float32)] and out.dtype == ut.float64
    nn.functional.mse_loss(out, y).backward()
    whole = network()
    nn.functional.mse_loss(whole(x), y).backward()
    assert all(p.grad.dtype == ut.float64 for p in model.parameters())
    close([sharding_of(p).whole(p.grad) for p in model.parameters()], [p.grad for p in whole.parameters()], 1e-5)


def check_zero_trains_as_the_plain_optimizer(dist, rank, size):
    whole = network()
    plain = ut.optim.AdamW(whole.parameters(), lr=0.01)
    trained(whole, plain, size, steps=3)
    model = DDP(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), ut.optim.AdamW, lr=0.01)
    trained(model, optimizer, size, rank, steps=3)
    close(model.parameters(), whole.parameters())
    elements = ut.tensor([sum(s["exp_avg"].numel() for s in optimizer.optim.state.values())])
    counts = [ut.zeros(1, dtype=ut.int64) for _ in range(size)]
    dist.all_gather(counts, elements)
    assert sum(int(c) for c in counts) == sum(p.numel() for p in whole.parameters()) and max(counts) < sum(counts)
    optimizer.consolidate_state_dict(to=0)
    states = [optimizer.state_dict() if rank == 0 else None]
    if rank == 0:
        for place, state in plain.state_dict()["state"].items():
            close([states[0]["state"][place]["exp_avg"]], [state["exp_avg"]])
    else:
        try:
            optimizer.state_dict()
        except RuntimeError as error:
            assert "has not been consolidated on this rank" in str(error)
        else:
            raise AssertionError("no error")
    dist.broadcast_object_list(states, src=0)
    again = ZeroRedundancyOptimizer(model.parameters(), ut.optim.AdamW, lr=0.5)
    again.load_state_dict(states[0])
    assert again.param_groups[0]["lr"] == 0.01
    trained(whole, plain, size, steps=2)
    trained(model, again, size, rank, steps=2)
    close(model.parameters(), whole.parameters())
    again.add_param_group({"params": [nn.Parameter(ut.ones(2))], "lr": 0.1})
    assert len(again.param_groups) == 2
