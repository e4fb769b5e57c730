"""Checks of the collectives on tensors and objects: values on every rank, dtypes, strides, handles."""

import undertow as ut

FLOATS = [ut.float32, ut.float64, ut.float16, ut.bfloat16]
WHOLE = [ut.uint8, ut.int8, ut.int16, ut.int32, ut.int64]
COMPLEX = [ut.complex64, ut.complex128]


def check_all_reduce_sums_every_dtype(dist, rank, size):
    for dtype in (*FLOATS, *WHOLE, *COMPLEX):
        for count in (1, 5, 3000):
            x = (ut.arange(count) % 7 + rank).to(dtype)
            dist.all_reduce(x)
            assert x.tolist() == (size * (ut.arange(count) % 7) + sum(range(size))).to(dtype).tolist(), (dtype, count)


def check_all_reduce_has_every_reduction(dist, rank, size):
    op = dist.ReduceOp
    rows = ut.tensor([[r + 1, 6 - r, 3 ^ r] for r in range(size)])
    expected = {
        op.SUM: rows.sum(0),
        op.PRODUCT: rows.prod(0),
        op.MIN: rows.amin(0),
        op.MAX: rows.amax(0),
        op.AVG: rows.sum(0) // size,
    }
    for kind, value in expected.items():
        for dtype in (ut.int64, ut.float32, ut.bfloat16) if kind != op.AVG else (ut.int64,):
            x = rows[rank].clone().to(dtype)
            dist.all_reduce(x, kind)
            assert x.tolist() == value.to(dtype).tolist(), (kind, dtype)
    for kind, combine in ((op.BAND, ut.bitwise_and), (op.BOR, ut.bitwise_or), (op.BXOR, ut.bitwise_xor)):
        value = rows[0]
        for row in rows[1:]:
            value = combine(value, row)
        x = rows[rank].clone()
        dist.all_reduce(x, kind)
        assert x.tolist() == value.tolist(), kind
    x = ut.full((3,), float(rank))
    dist.all_reduce(x, op.AVG)
    assert x.tolist() == [(size - 1) / 2] * 3
    x = ut.ones(2) * (rank + 1)
    dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
    assert x.tolist() == [0.5 * sum(range(1, size + 1))] * 2


def check_all_reduce_of_truth_values_is_logical(dist, rank, size):
    op = dist.ReduceOp
    first, none, mine = ut.tensor([rank == 0]), ut.tensor([False]), ut.tensor([True])
    for kind, results in (
        (op.SUM, [True, False, True]),
        (op.MAX, [True, False, True]),
        (op.MIN, [False, False, True]),
        (op.BXOR, [True, False, size % 2 == 1]),
    ):
        x = ut.cat([first, none, mine])
        dist.all_reduce(x, kind)
        assert x.tolist() == results, kind


def check_half_types_round_after_every_addition_in_rank_order(dist, rank, size):
    ut.manual_seed(rank)
    for dtype in (ut.float16, ut.bfloat16):
        for count in (7, 20_001):
            mine = ut.randn(count).to(dtype)
            rows = ut.empty(size, count, dtype=dtype)
            dist.all_gather_into_tensor(rows, mine)
            total = rows[0].clone()
            for row in rows[1:]:
                total += row
            dist.all_reduce(mine)
            assert ut.equal(mine, total), (dtype, count)


def check_reductions_are_in_rank_order_when_asked(dist, rank, size):
    import os

    ut.manual_seed(rank)
    os.environ["UNDERTOW_DETERMINISTIC"] = "1"
    for count in (5, 40_001):
        mine = ut.randn(count) * 10.0 ** (rank * 3)
        rows = ut.empty(size, count)
        dist.all_gather_into_tensor(rows, mine)
        total = rows[0].clone()
        for row in rows[1:]:
            total += row
        dist.all_reduce(mine)
        assert ut.equal(mine, total), count
    del os.environ["UNDERTOW_DETERMINISTIC"]


def check_strided_tensors_are_read_and_written_in_place(dist, rank, size):
    base = ut.zeros(4, 6)
    view = base.t()[1:5:2]
    view.copy_(ut.arange(8.0).view(2, 4) + rank)
    dist.all_reduce(view)
    assert view.tolist() == (size * ut.arange(8.0).view(2, 4) + sum(range(size))).tolist() and base[:, 0].tolist() == [0] * 4
    z = ut.tensor([1 + 2j, 3 - 1j]).conj()
    dist.all_reduce(z)
    assert z.tolist() == [size * (1 - 2j), size * (3 + 1j)]
    parts = [ut.zeros(3, 2).t() for _ in range(size)]
    dist.all_gather(parts, ut.arange(6.0).view(2, 3) + rank)
    assert [p.tolist() for p in parts] == [(ut.arange(6.0).view(2, 3) + r).tolist() for r in range(size)]


def check_copies_between_ranks(dist, rank, size):
    for dtype in (*FLOATS, *WHOLE, *COMPLEX, ut.bool):
        mine = (ut.arange(4) + rank).to(dtype)
        every = [(ut.arange(4) + r).to(dtype) for r in range(size)]
        x = mine.clone()
        dist.broadcast(x, src=size - 1)
        assert x.tolist() == every[-1].tolist()
        found = [ut.zeros(4, dtype=dtype) for _ in range(size)]
        dist.all_gather(found, mine)
        assert [f.tolist() for f in found] == [e.tolist() for e in every]
        found = [ut.zeros(4, dtype=dtype) for _ in range(size)] if rank == 1 else None
        dist.gather(mine, found, dst=1)
        assert rank != 1 or [f.tolist() for f in found] == [e.tolist() for e in every]
        out = ut.zeros(4, dtype=dtype)
        dist.scatter(out, every if rank == 1 else None, src=1)
        assert out.tolist() == mine.tolist()
        whole = ut.zeros(4 * size, dtype=dtype)
        dist.all_gather_into_tensor(whole, mine)
        assert whole.tolist() == ut.cat(every).tolist()


def check_reductions_to_one_rank_and_to_parts(dist, rank, size):
    for dtype in (ut.float32, ut.bfloat16, ut.int64):
        x = ut.full((3,), rank + 1).to(dtype)
        dist.reduce(x, dst=1)
        assert x.tolist() == ([sum(range(1, size + 1))] * 3 if rank == 1 else [rank + 1] * 3)
        out = ut.zeros(2, dtype=dtype)
        dist.reduce_scatter(out, [ut.full((2,), 10 * r + rank).to(dtype) for r in range(size)])
        assert out.tolist() == [10 * rank * size + sum(range(size))] * 2
        dist.reduce_scatter_tensor(out, ut.arange(2 * size).to(dtype), dist.ReduceOp.MAX)
        assert out.tolist() == [2 * rank, 2 * rank + 1]


def check_all_to_all_with_equal_and_other_sizes(dist, rank, size):
    out = ut.zeros(size, 2)
    dist.all_to_all_single(out, ut.arange(2.0 * size).view(size, 2) + 100 * rank)
    assert out.tolist() == [[100 * r + 2 * rank, 100 * r + 2 * rank + 1] for r in range(size)]
    sent = [r + 1 for r in range(size)]  # rows for rank r
    out = ut.zeros(size * (rank + 1), dtype=ut.bfloat16)
    dist.all_to_all_single(out, ut.full((sum(sent),), float(rank), dtype=ut.bfloat16), [rank + 1] * size, sent)
    assert out.tolist() == [float(r) for r in range(size) for _ in range(rank + 1)]
    outs = [ut.zeros(rank + 1) for _ in range(size)]
    dist.all_to_all(outs, [ut.full((r + 1,), float(rank)) for r in range(size)])
    assert [o.tolist() for o in outs] == [[float(r)] * (rank + 1) for r in range(size)]


def check_handles_complete_in_order_while_the_program_goes_on(dist, rank, size):
    tensors = [ut.full((10_000,), float(k + rank)) for k in range(8)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    after = ut.ones(3)
    dist.all_reduce(after)  # waits for those before it
    assert all(work.is_completed() and work.is_success() for work in works) and after.tolist() == [size] * 3
    for k, work in enumerate(works):
        assert work.wait() is True and work.result()[0] is tensors[k]
        assert tensors[k][0] == size * k + sum(range(size))
    work = dist.all_gather_into_tensor(ut.zeros(size), ut.ones(1), async_op=True)
    assert work.get_future().then(lambda f: f.value()[0].sum().item()).wait() == size
    assert dist.barrier(async_op=True).wait() is True


def check_empty_tensors_and_numbers(dist, rank, size):
    x = ut.zeros(0)
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    number = ut.tensor(2.0)
    dist.all_reduce(number)
    assert number.item() == 2 * size and x.shape == (0,)
    several = [ut.ones(2), ut.ones(2, 2)]
    dist.all_reduce_coalesced(several)
    assert several[0].tolist() == [size] * 2 and several[1].tolist() == [[size] * 2] * 2


def check_objects(dist, rank, size):
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "text": "x" * rank})
    assert found == [{"rank": r, "text": "x" * r} for r in range(size)]
    found = [None] * size if rank == 0 else None
    dist.gather_object((rank, "a"), found, dst=0)
    assert rank or found == [(r, "a") for r in range(size)]
    items = [ut.arange(3), "b"] if rank == 1 else [None, None]
    dist.broadcast_object_list(items, src=1)
    assert items[0].tolist() == [0, 1, 2] and items[1] == "b"
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)] if rank == 0 else None, src=0)
    assert mine == [f"for {rank}"]


def check_messages_with_tags_and_from_any_rank(dist, rank, size):
    if rank == 0:
        seen = set()
        for _ in range(size - 1):
            x = ut.zeros(2)
            sender = dist.recv(x, tag=3)
            assert x.tolist() == [sender, 3]
            seen.add(sender)
        assert seen == set(range(1, size))
    else:
        dist.send(ut.tensor([float(rank), 3.0]), 0, tag=3)
    after, before = (rank + 1) % size, (rank - 1) % size
    small, large = ut.zeros(2, dtype=ut.bfloat16), ut.zeros(50_000)
    works = dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, ut.full((2,), float(rank), dtype=ut.bfloat16), after, tag=1),
            dist.P2POp(dist.irecv, large, before, tag=2),
            dist.P2POp(dist.isend, ut.full((50_000,), float(rank)), after, tag=2),
            dist.P2POp(dist.irecv, small, before, tag=1),
        ]
    )
    for work in works:
        work.wait()
    assert small.tolist() == [before] * 2 and large[-1] == before and works[1].source_rank() == before
    strided = ut.zeros(4)[::2]
    work = dist.irecv(strided, before)
    dist.isend(ut.tensor([1.0, 2.0]), after).wait()
    work.wait()
    assert strided.tolist() == [1, 2]
    if rank == 0:
        dist.send_object_list(["a", {"b": 1}], 1)
    elif rank == 1:
        items = [None, None]
        assert dist.recv_object_list(items, 0) == 0 and items == ["a", {"b": 1}]


def check_groups_of_some_ranks(dist, rank, size):
    pair = dist.new_group([0, 1])
    again = dist.new_group([1, 0])
    last = dist.new_group([size - 1])
    if rank < 2:
        for group in (pair, again):
            x = ut.ones(2)
            dist.all_reduce(x, group=group)
            assert x.tolist() == [2, 2] and dist.get_process_group_ranks(group) == [0, 1] and dist.get_world_size(group) == 2
        y = ut.tensor([rank])
        dist.broadcast(y, src=1, group=pair)
        assert y.item() == 1
        dist.broadcast(y, group_src=0, group=pair)
        assert y.item() == 1
    else:
        assert pair == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(pair) == -1 and dist.all_reduce(ut.ones(1), group=pair) is None
    assert (last == dist.GroupMember.NON_GROUP_MEMBER) == (rank != size - 1)
    mine, every = dist.new_subgroups(1)
    assert mine.size() == 1 and len(every) == size
    if rank < 2:
        dist.destroy_process_group(again)


def check_meshes_have_a_group_for_each_dimension(dist, rank, size):
    mesh = dist.init_device_mesh("cpu", (1, size), mesh_dim_names=("dp", "tp"))
    assert mesh.shape == (1, size) and mesh.get_coordinate() == [0, rank] and mesh["tp"].get_local_rank() == rank
    x = ut.ones(1)
    dist.all_reduce(x, group=mesh.get_group("tp"))
    assert x.item() == size and mesh.get_group("dp").size() == 1 and mesh["dp"].size() == 1
    if size == 4:
        square = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        assert dist.get_process_group_ranks(square.get_group("dp")) == [rank % 2, rank % 2 + 2]
        assert dist.get_process_group_ranks(square.get_group("tp")) == [rank // 2 * 2, rank // 2 * 2 + 1]


def check_a_monitored_barrier_passes(dist, rank, size):
    dist.monitored_barrier()
    dist.monitored_barrier(wait_all_ranks=True)
    assert dist.get_debug_level() is dist.DebugLevel.OFF


def check_the_same_call_on_all_ranks_passes_the_comparison(dist, rank, size):
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    x = ut.ones(3)
    dist.all_reduce(x)
    dist.broadcast(x, 0, async_op=True).wait()
    assert x.tolist() == [size] * 3
    dist.set_debug_level(dist.DebugLevel.OFF)
