"""Checks of collectives on a GPU by NCCL, and of training with it: the same results as on the CPU."""

import undertow as ut
from undertow import nn
from undertow.nn.parallel import DistributedDataParallel as DDP

INTEGERS = (ut.int8, ut.uint8, ut.int32, ut.int64)
FLOATS = (ut.float16, ut.bfloat16, ut.float32, ut.float64)


def mine(rank, dtype=ut.float32, shape=(3,)):
    return (ut.arange(float(ut.Size(shape).numel())).view(shape) + rank).to(dtype).cuda()


def same(found, expected):
    assert found.is_cuda and found.dtype == expected.dtype, (found, expected)
    assert ut.equal(found.cpu(), expected.cpu()), (found, expected)


def check_the_group_has_a_link_to_the_gpu(dist, rank, size):
    assert dist.get_backend() == "nccl" and dist.is_nccl_available() and dist.is_backend_available("nccl")
    assert type(dist.group.WORLD.links.gpu.transport).__name__ == "NcclTransport"


def check_sums_of_every_dtype(dist, rank, size):
    for dtype in (*INTEGERS, *FLOATS, ut.int16, ut.complex64, ut.complex128):
        x = mine(rank, dtype)
        dist.all_reduce(x)
        same(x, sum(mine(r, dtype).cpu() for r in range(size)))
    x = ut.tensor([rank == 0, False], device="cuda")
    dist.all_reduce(x)
    same(x, ut.tensor([True, False]))


def check_every_reduction(dist, rank, size):
    op = dist.ReduceOp
    ranks = [mine(r) for r in range(size)]
    expected = {
        op.AVG: sum(ranks) / size,
        op.MAX: ranks[-1],
        op.MIN: ranks[0],
        op.PRODUCT: ut.stack(ranks).prod(0),
        dist._make_nccl_premul_sum(2.0): 2 * sum(ranks),
    }
    for kind, value in expected.items():
        x = mine(rank)
        dist.all_reduce(x, kind)
        same(x, value)
    for kind, value in ((op.BOR, 3), (op.BAND, 3 if size == 1 else 1), (op.BXOR, 3 if size % 2 else 2)):
        x = ut.full((2,), 3 if rank == 0 else 1, dtype=ut.int32, device="cuda")
        dist.all_reduce(x, kind)
        same(x, ut.full((2,), value, dtype=ut.int32))


def check_reductions_in_rank_order(dist, rank, size):
    import os

    os.environ["UNDERTOW_DETERMINISTIC"] = "1"
    for count in (3, 7001):
        x = ut.full((count,), 0.1 + rank, device="cuda")
        dist.all_reduce(x)
        total = ut.full((count,), 0.1)
        for r in range(1, size):
            total += 0.1 + r
        same(x, total)
    del os.environ["UNDERTOW_DETERMINISTIC"]


def check_copies(dist, rank, size):
    last = size - 1
    x = mine(rank)
    dist.broadcast(x, last)
    same(x, mine(last))
    rows = [ut.zeros(3, device="cuda") for _ in range(size)]
    dist.all_gather(rows, mine(rank))
    same(ut.stack(rows), ut.stack([mine(r) for r in range(size)]))
    whole = ut.zeros(3 * size, dtype=ut.bool, device="cuda")
    dist.all_gather_into_tensor(whole, mine(rank, ut.bool))
    same(whole, ut.cat([mine(r, ut.bool) for r in range(size)]))
    rows = [ut.zeros(3, device="cuda") for _ in range(size)] if rank == last else None
    dist.gather(mine(rank), rows, last)
    if rows is not None:
        same(ut.stack(rows), ut.stack([mine(r) for r in range(size)]))
    out = ut.zeros(3, device="cuda")
    dist.scatter(out, [mine(10 * r) for r in range(size)] if rank == last else None, last)
    same(out, mine(10 * rank))
    total = mine(rank)
    dist.reduce(total, 0)
    if rank == 0:
        same(total, sum(mine(r) for r in range(size)))
    part = ut.zeros(2, device="cuda")
    dist.reduce_scatter_tensor(part, mine(rank, shape=(2 * size,)))
    same(part, sum(mine(r, shape=(2 * size,)) for r in range(size))[2 * rank : 2 * rank + 2])
    sizes = [r + 1 for r in range(size)]
    sent = ut.cat([mine(10 * rank + r, shape=(r + 1,)) for r in range(size)])
    got = ut.zeros((rank + 1) * size, device="cuda")
    dist.all_to_all_single(got, sent, [rank + 1] * size, sizes)
    same(got, ut.cat([mine(10 * r + rank, shape=(rank + 1,)) for r in range(size)]))


def check_strided_tensors_and_tensors_of_the_cpu(dist, rank, size):
    x = ut.zeros(4, 3, device="cuda")
    column = x[:, 1]
    column.copy_(mine(rank, shape=(4,)))
    dist.all_reduce(column)
    same(x[:, 1], sum(mine(r, shape=(4,)) for r in range(size)))
    assert x[:, 0].sum().item() == 0
    y = ut.full((2,), 1.0 + rank)
    dist.all_reduce(y)
    assert y.tolist() == [sum(range(1, size + 1))] * 2
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    assert found == [{"rank": r} for r in range(size)]


def check_work_overlaps_and_waits_on_the_stream(dist, rank, size):
    x, other = mine(rank, shape=(1000,)), mine(rank, shape=(1000,))
    work = dist.all_reduce(x, async_op=True)
    later = dist.all_reduce(other * 2, async_op=True)  # the program drops the tensor
    garbage = [ut.full((1000,), 7.0, device="cuda") for _ in range(4)]
    assert work.wait() and later.wait()
    same(x + 0, sum(mine(r, shape=(1000,)) for r in range(size)))
    same(later.result()[0], 2 * sum(mine(r, shape=(1000,)) for r in range(size)))
    assert work.is_completed() and work.is_success() and work.exception() is None and len(garbage) == 4
    side = ut.cuda.Stream()
    side.wait_stream(ut.cuda.current_stream())
    with ut.cuda.stream(side):
        y = mine(rank) * 3
        dist.all_reduce(y)
        y += 1
    ut.cuda.current_stream().wait_stream(side)
    same(y, 3 * sum(mine(r) for r in range(size)) + 1)
    future = dist.all_reduce(mine(rank), async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    same(future.wait(), 2 * sum(mine(r) for r in range(size)))
    assert dist.all_reduce(mine(rank), async_op=True).wait(60)


def check_messages(dist, rank, size):
    if size == 1:
        return
    after, before = (rank + 1) % size, (rank - 1) % size
    x, y = mine(rank), ut.zeros(3, device="cuda")
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, y, before)])
    for work in works:
        work.wait()
    same(y, mine(before))
    if rank == 0:
        dist.send(mine(5), 1)
        dist.isend(mine(6), 1).wait()
    if rank == 1:
        got = ut.zeros(2, 3, device="cuda")[:, 0:3]
        assert dist.recv(got[0], 0) == 0
        dist.irecv(got[1], 0).wait()
        same(got, ut.stack([mine(5), mine(6)]))


def check_groups(dist, rank, size):
    ranks = list(range(size))[::-1][:2]
    group = dist.new_group(ranks)
    if rank in ranks:
        x = mine(rank)
        dist.all_reduce(x, group=group)
        same(x, sum(mine(r) for r in ranks))
    mesh = dist.init_device_mesh("cuda", (size,), mesh_dim_names=("dp",))
    x = mine(rank)
    dist.all_reduce(x, group=mesh.get_group("dp"))
    same(x, sum(mine(r) for r in range(size)))
    dist.barrier()


def network():
    ut.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).double()


def batch(size, step):
    generator = ut.Generator().manual_seed(step)
    return ut.randn(4 * size, 4, generator=generator, dtype=ut.float64), ut.randn(4 * size, 2, generator=generator, dtype=ut.float64)


def trained(model, size, device, rank=None):
    optimizer = ut.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        x, y = batch(size, step)
        if rank is not None:
            x, y = x[4 * rank : 4 * rank + 4], y[4 * rank : 4 * rank + 4]
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    return [p.detach().cpu() for p in model.parameters()]


def close(ours, expected):
    assert all(ut.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(ours, expected, strict=True)), (ours, expected)


def check_data_parallel_training_equals_one_process(dist, rank, size):
    expected = trained(network(), size, "cpu")
    for options in ({"device_ids": [0]}, {"gradient_as_bucket_view": True, "bucket_cap_mb": 1e-4}):
        model = DDP(network().cuda(), **options)
        assert model.device.type == "cuda"
        close(trained(model, size, "cuda", rank), expected)


def check_communication_hooks_reduce_the_buckets(dist, rank, size):
    from undertow.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    seen = []

    def hook(group, bucket):
        seen.append(bucket.buffer().is_cuda)
        return allreduce_hook(group, bucket)

    model = DDP(network().cuda(), bucket_cap_mb=1e-4)
    model.register_comm_hook(None, hook)
    close(trained(model, size, "cuda", rank), trained(network(), size, "cpu"))
    assert len(seen) > 3 and all(seen)


def check_divided_training_equals_one_process(dist, rank, size):
    from undertow.distributed.fsdp import fully_shard
    from undertow.distributed.optim import ZeroRedundancyOptimizer

    expected = trained(network(), size, "cpu")
    model = network().cuda()
    for layer in (model[0], model[2], model):
        fully_shard(layer)
    trained(model, size, "cuda", rank)
    close([p.full_tensor().cpu() for p in model.parameters()], expected)
    model = DDP(network().cuda())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), ut.optim.SGD, lr=0.1)
    x, y = batch(size, 0)
    nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
    optimizer.step()
    assert model.module[0].weight.is_cuda


def check_pipelines_compute_the_gradients_of_the_whole_model(dist, rank, size):
    from undertow.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    def layers():
        ut.manual_seed(4)
        return [nn.Sequential(nn.Linear(4, 4), nn.Tanh()).double() for _ in range(size)]

    x, y = ut.randn(12, 4, dtype=ut.float64), ut.randn(12, 4, dtype=ut.float64)
    dist.broadcast(x, 0)
    dist.broadcast(y, 0)
    whole = nn.Sequential(*layers())
    expected = whole(x)
    nn.functional.mse_loss(expected, y).backward()
    groups = [None, dist.new_group(backend="gloo")]  # the second copies through the host, where there is MPI
    for schedule, parts, group in (
        (ScheduleGPipe, 4, groups[0]),
        (Schedule1F1B, 1, groups[0]),
        (Schedule1F1B, 6, groups[0]),
        (Schedule1F1B, 4, groups[1]),
    ):
        mine = layers()[rank].cuda()
        runner = schedule(PipelineStage(mine, rank, size, group=group), parts, loss_fn=nn.functional.mse_loss)
        args = (x.cuda(),) if rank == 0 else ()
        for _ in range(2):
            output = runner.eval(*args)
            mine.zero_grad()
            trained = runner.step(*args, target=y.cuda() if rank == size - 1 else None)
            assert (output is None) == (trained is None) == (rank < size - 1)
            if rank == size - 1:
                close([output.cpu(), trained.cpu()], [expected.detach()] * 2)
            close([p.grad.cpu() for p in mine.parameters()], [p.grad for p in whole[rank].parameters()])


class Optional(nn.Module):
    def __init__(self):
        super().__init__()
        self.always, self.sometimes = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, use):
        return self.sometimes(self.always(x)) if use else self.always(x)


def check_missing_gradients_are_named_by_the_next_pass(dist, rank, size):
    if size == 1:
        return
    model, x = DDP(Optional().cuda()), ut.ones(1, 2, device="cuda")
    model(x, rank == 1).sum().backward()
    try:
        model(x, True)
    except RuntimeError as error:
        assert "did not receive a gradient" in str(error) and "rank 0: sometimes.weight, sometimes.bias" in str(error), error
    else:
        raise AssertionError("no error")
