"""Checks of DistributedDataParallel, its hooks, SyncBatchNorm, and of collectives with derivatives: equal to one process with the whole batch."""

import copy

import undertow as ut
from undertow import nn
from undertow.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from undertow.nn.parallel import DistributedDataParallel as DDP


def network(seed=0, dtype=ut.float64):
    ut.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2)).to(dtype)


def batch(size, step=0, dtype=ut.float64):
    generator = ut.Generator().manual_seed(100 + step)
    return ut.randn(4 * size, 4, generator=generator, dtype=dtype), ut.randn(4 * size, 2, generator=generator, dtype=dtype)


def part(tensor, rank):
    return tensor[4 * rank : 4 * rank + 4]


def trained(model, size, steps, rank=None):
    optimizer = ut.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        x, y = batch(size, step)
        if rank is not None:
            x, y = part(x, rank), part(y, rank)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def close(ours, expected, tolerance=1e-12):
    assert all(ut.allclose(a, b.to(a.dtype), rtol=tolerance, atol=tolerance) for a, b in zip(ours, expected))


def check_training_equals_one_process_with_the_whole_batch(dist, rank, size):
    expected = trained(network(), size, 5)
    for options in ({}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 1e-4}, {"static_graph": True}, {"find_unused_parameters": True}):
        model = DDP(network(seed=rank), **options)  # rank 0's parameters are copied
        if rank:
            assert not ut.equal(network(seed=rank)[0].weight, model.module[0].weight)
        close(trained(model, size, 5, rank), expected)


def check_gradients_in_rank_order_have_the_bits_of_micro_batches(dist, rank, size):
    import os

    os.environ["UNDERTOW_DETERMINISTIC"] = "1"
    x, y = batch(size, dtype=ut.float32)
    model, whole = DDP(network(dtype=ut.float32)), network(dtype=ut.float32)
    nn.functional.mse_loss(model(part(x, rank)), part(y, rank)).backward()
    totals = [None] * len(list(whole.parameters()))
    for r in range(size):
        grads = ut.autograd.grad(nn.functional.mse_loss(whole(part(x, r)), part(y, r)), list(whole.parameters()))
        totals = [g * (1 / size) if t is None else t + g * (1 / size) for t, g in zip(totals, grads)]
    del os.environ["UNDERTOW_DETERMINISTIC"]
    assert all(ut.equal(p.grad, total) for p, total in zip(model.parameters(), totals))


def check_buckets_follow_the_order_of_arrival(dist, rank, size):
    class Backwards(nn.Module):
        def __init__(self):
            super().__init__()
            self.second, self.first = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            return self.second(self.first(x))

    model = DDP(Backwards(), bucket_cap_mb=1e-5)
    before = [bucket.members for bucket in model.reducer.buckets]
    for _ in range(2):
        model(ut.ones(2, 3)).sum().backward()
    order = [member for bucket in model.reducer.buckets for member in bucket.members]
    names = [model.reducer.names[member].split(".")[0] for member in order]
    assert names == ["second", "second", "first", "first"] and before != [bucket.members for bucket in model.reducer.buckets]


def check_gradients_are_views_of_the_buckets(dist, rank, size):
    model = DDP(network(), gradient_as_bucket_view=True)
    for _ in range(2):
        x, y = batch(size)
        model.zero_grad(set_to_none=False)
        nn.functional.mse_loss(model(part(x, rank)), part(y, rank)).backward()
    memory = {bucket.memory.untyped_storage().data_ptr() for bucket in model.reducer.buckets}
    assert {p.grad.untyped_storage().data_ptr() for p in model.parameters()} <= memory
    whole = network()
    whole.load_state_dict(model.module.state_dict())
    x, y = batch(size)
    nn.functional.mse_loss(whole(x), y).backward()
    close([p.grad for p in model.parameters()], [p.grad for p in whole.parameters()])


def check_gradients_accumulate_without_synchronization(dist, rank, size):
    model, whole = DDP(network()), network()
    with model.no_sync():
        x, y = batch(size, 1)
        nn.functional.mse_loss(model(part(x, rank)), part(y, rank)).backward()
    local = [p.grad.clone() for p in model.parameters()]
    x, y = batch(size, 2)
    nn.functional.mse_loss(model(part(x, rank)), part(y, rank)).backward()
    for step in (1, 2):
        x, y = batch(size, step)
        nn.functional.mse_loss(whole(x), y).backward()
    close([p.grad for p in model.parameters()], [p.grad for p in whole.parameters()])
    assert not ut.allclose(local[0], whole[0].weight.grad)


class Optional(nn.Module):
    def __init__(self):
        super().__init__()
        self.always, self.sometimes, self.never = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, use):
        x = self.always(x)
        return self.sometimes(x) if use else x


def check_unused_parameters_are_found(dist, rank, size):
    ut.manual_seed(0)
    model = DDP(Optional(), find_unused_parameters=True)
    for _ in range(2):
        model.zero_grad()
        model(ut.ones(1, 2), rank == 0).sum().backward()
    assert model.module.never.weight.grad is None and model.module.always.weight.grad is not None
    assert ut.allclose(model.module.sometimes.bias.grad, ut.full((2,), 1 / size))  # rank 0's gradient, divided by the number of ranks


def check_a_missing_gradient_is_named_with_rank_and_module(dist, rank, size):
    model = DDP(Optional())
    try:
        model(ut.ones(1, 2), rank == 0).sum().backward()
    except RuntimeError as error:
        text = str(error)
        assert "did not receive a gradient" in text and "rank 0: never.weight, never.bias" in text
        assert "rank 1: sometimes.weight, sometimes.bias, never.weight, never.bias" in text
    else:
        raise AssertionError("no error")


def check_different_models_are_reported(dist, rank, size):
    try:
        DDP(nn.Linear(2, 2 + rank))
    except RuntimeError as error:
        assert "DDP expects same model across all ranks" in str(error) and "weight" in str(error)
    else:
        raise AssertionError("no error")


def check_buffers_are_those_of_rank_0(dist, rank, size):
    model = DDP(nn.BatchNorm1d(3))
    model(ut.randn(8, 3, generator=ut.Generator().manual_seed(rank)))
    local = model.module.running_mean.clone()
    model(ut.randn(8, 3))
    found = [ut.zeros(3) for _ in range(size)]
    dist.all_gather(found, local)
    assert not ut.equal(found[0], found[1])  # each pass updates them from its own inputs
    dist.all_gather(found, model.module.num_batches_tracked.expand(3).float())
    assert all(f[0] == 2 for f in found)


def check_ranks_with_fewer_inputs_take_part_with_zeros(dist, rank, size):
    for divide in (True, False):
        model, whole = DDP(network()), network()
        optimizer, other = ut.optim.SGD(model.parameters(), lr=0.1), ut.optim.SGD(whole.parameters(), lr=0.1)
        with model.join(divide_by_initial_world_size=divide):
            for step in range(2 + rank):
                x, y = batch(size, step)
                optimizer.zero_grad()
                nn.functional.mse_loss(model(part(x, rank)), part(y, rank)).backward()
                optimizer.step()
        for step in range(2 + size - 1):
            x, y = batch(size, step)
            active = [r for r in range(size) if step < 2 + r]
            other.zero_grad()
            for r in active:
                (nn.functional.mse_loss(whole(part(x, r)), part(y, r)) / (size if divide else len(active))).backward()
            other.step()
        close([p.detach() for p in model.parameters()], [p.detach() for p in whole.parameters()])


def check_several_objects_join(dist, rank, size):
    from undertow.distributed.algorithms.join import Join, Joinable, JoinHook
    from undertow.distributed.optim import ZeroRedundancyOptimizer

    class Counter(Joinable):
        """Counts the inputs of all ranks."""

        def __init__(self):
            super().__init__()
            self.count, self.ended = 0, None

        def __call__(self, mine=1):
            work = Join.notify_join_context(self)
            if work is not None:
                work.wait()
            total = ut.tensor([mine])
            dist.all_reduce(total)
            self.count += int(total)

        def join_hook(self, **kwargs):
            counter, seen = self, kwargs

            class Hook(JoinHook):
                def main_hook(self):
                    total = ut.tensor([0])
                    dist.all_reduce(total)
                    counter.count += int(total)

                def post_hook(self, is_last_joiner):
                    counter.ended = is_last_joiner, seen

            return Hook()

        join_device = property(lambda self: ut.device("cpu"))
        join_process_group = property(lambda self: dist.group.WORLD)

    counter = Counter()
    with Join([counter], color="blue"):
        for _ in range(2 + rank):
            counter()
    assert counter.count == sum(2 + r for r in range(size)) and counter.ended == (rank == size - 1, {"color": "blue"})

    model, whole = DDP(network()), network()
    optimizer = ZeroRedundancyOptimizer(model.parameters(), ut.optim.Adam, lr=0.1)
    other, counter = ut.optim.Adam(whole.parameters(), lr=0.1), Counter()
    with Join([model, optimizer, counter]):
        for step in range(2 + rank):
            x, y = batch(size, step)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(part(x, rank)), part(y, rank)).backward()
            optimizer.step()
            counter()
    for step in range(2 + size - 1):
        other.zero_grad()
        for r in [r for r in range(size) if step < 2 + r]:
            (nn.functional.mse_loss(whole(part(batch(size, step)[0], r)), part(batch(size, step)[1], r)) / size).backward()
        other.step()
    close([p.detach() for p in model.parameters()], [p.detach() for p in whole.parameters()], 1e-9)
    assert counter.count == sum(2 + r for r in range(size))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), ut.optim.SGD, lr=0.1)
    with Join([optimizer]):  # the only one sends the messages
        for _ in range(1 + rank):
            optimizer.step()


def check_all_ranks_can_end_with_the_first(dist, rank, size):
    model = DDP(network())
    steps = 0
    try:
        with model.join(throw_on_early_termination=True):
            for step in range(2 + rank):
                x, y = batch(size, step)
                nn.functional.mse_loss(model(part(x, rank)), part(y, rank)).backward()
                steps += 1
    except RuntimeError as error:
        assert "Detected at least one rank that exhausted inputs" in str(error) and steps == 2
    else:
        raise AssertionError("no error")


def check_communication_hooks(dist, rank, size):
    expected = trained(network(), size, 3)
    model = DDP(network())
    model.register_comm_hook(None, default_hooks.allreduce_hook)
    close(trained(model, size, 3, rank), expected)
    for hook, tolerance in ((default_hooks.fp16_compress_hook, 2e-3), (default_hooks.bf16_compress_hook, 2e-2)):
        model = DDP(network())
        model.register_comm_hook(None, hook)
        close(trained(model, size, 3, rank), expected, tolerance)
    model = DDP(network())
    model.register_comm_hook(None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))
    close(trained(model, size, 3, rank), expected, 2e-3)


def check_power_sgd_of_full_rank_is_exact_and_of_low_rank_learns(dist, rank, size):
    expected = trained(network(), size, 6)
    model = DDP(network())
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=8, start_powerSGD_iter=2, min_compression_rate=0.01)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    close(trained(model, size, 6, rank), expected, 1e-5)
    ut.manual_seed(1)
    model = DDP(nn.Linear(16, 16, bias=False))
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    optimizer, losses = ut.optim.SGD(model.parameters(), lr=0.5), []
    x = ut.randn(32, 16, generator=ut.Generator().manual_seed(rank))
    for _ in range(40):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert state.iter == 40 and losses[-1] < 0.2 * losses[0] and state.error_dict[0].abs().max() > 0


def check_sync_batch_norm_equals_one_process_with_the_whole_batch(dist, rank, size):
    for shape in ((4 * size, 3), (4 * size, 3, 2, 2)):
        x = ut.randn(shape, generator=ut.Generator().manual_seed(5), dtype=ut.float64)
        ut.manual_seed(0)
        plain = (nn.BatchNorm1d if len(shape) == 2 else nn.BatchNorm2d)(3).to(ut.float64)
        with ut.no_grad():
            plain.weight.uniform_(0.5, 2)
        synced = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain))
        assert isinstance(synced, nn.SyncBatchNorm)
        whole, mine = x.clone().requires_grad_(), part(x, rank).clone().requires_grad_()
        expected, found = plain(whole), synced(mine)
        close([found], [part(expected, rank)])
        close([synced.running_mean, synced.running_var], [plain.running_mean, plain.running_var])
        (expected**3).sum().backward()
        (found**3).sum().backward()
        close([mine.grad], [part(whole.grad, rank)], 1e-10)
        total = synced.weight.grad.clone()
        dist.all_reduce(total)
        close([total], [plain.weight.grad], 1e-10)
        synced.eval(), plain.eval()
        close([synced(part(x, rank))], [part(plain(x), rank)])


def check_collectives_have_derivatives(dist, rank, size):
    F = dist.nn.functional
    x = ut.tensor([1.0 + rank, 2.0], requires_grad=True)
    weights = ut.tensor([3.0 + rank, 1.0])
    total = sum(3.0 + r for r in range(size))
    (F.all_reduce(x) * weights).sum().backward()
    assert x.grad.tolist() == [total, size]
    x.grad = None
    (F.broadcast(x, 1) * weights).sum().backward()
    assert x.grad.tolist() == ([total, size] if rank == 1 else [0, 0])
    x.grad = None
    (F.reduce(x, 0) * weights * (1 if rank == 0 else 0)).sum().backward()
    assert x.grad.tolist() == [3, 1]
    x.grad = None
    (F.all_gather(x)[1] * weights).sum().backward()
    assert x.grad.tolist() == ([total, size] if rank == 1 else [0, 0])
    x.grad = None
    (F.gather(x, 0)[1] * weights * (1 if rank == 0 else 0)).sum().backward()
    assert x.grad.tolist() == ([3, 1] if rank == 1 else [0, 0])
    x.grad = None
    F.scatter([x * (r + 1) for r in range(size)], 0).sum().backward()
    assert x.grad.tolist() == ([sum(range(1, size + 1))] * 2 if rank == 0 else [0, 0])
    x.grad = None
    (F.reduce_scatter(ut.empty(2), [x * (r + 1) for r in range(size)]) * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [sum((r + 1) ** 2 for r in range(size))] * 2
    y = ut.arange(2.0 * size, requires_grad=True)
    (F.all_to_all_single(ut.empty(2 * size), y) * (rank + 1)).sum().backward()
    assert y.grad.tolist() == [float(r + 1) for r in range(size) for _ in range(2)]
    parts = [ut.ones(r + 1, requires_grad=True) for r in range(size)]
    sum((p * (rank + 1)).sum() for p in F.all_to_all([ut.empty(rank + 1) for _ in range(size)], parts)).backward()
    assert [p.grad.tolist() for p in parts] == [[float(r + 1)] * (r + 1) for r in range(size)]


def check_samplers_know_the_rank(dist, rank, size):
    from undertow.utils.data import DistributedSampler

    sampler = DistributedSampler(range(10), shuffle=False)
    assert (sampler.rank, sampler.num_replicas) == (rank, size) and next(iter(sampler)) == rank
