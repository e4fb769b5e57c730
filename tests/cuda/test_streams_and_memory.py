"""Streams, events, the caching allocator, pinned memory and captured graphs."""

from __future__ import annotations

import gc

import pytest

import undertow as ut

pytestmark = pytest.mark.cuda
MiB = 2**20


@pytest.fixture(autouse=True)
def _an_empty_cache():
    gc.collect()
    ut.cuda.synchronize()
    ut.cuda.empty_cache()
    yield
    ut.cuda.set_per_process_memory_fraction(1.0)


def test_work_is_issued_to_the_current_stream():
    default, side = ut.cuda.current_stream(), ut.cuda.Stream()
    assert default == ut.cuda.default_stream() and side != default
    with ut.cuda.stream(side):
        assert ut.cuda.current_stream() == side
        with ut.cuda.stream(None):
            assert ut.cuda.current_stream() == side
    assert ut.cuda.current_stream() == default
    ut.cuda.set_stream(side)
    assert ut.cuda.current_stream() == side
    ut.cuda.set_stream(default)
    with side:
        assert ut.cuda.current_stream() == side
    same = ut.cuda.ExternalStream(side.cuda_stream)
    assert same == side and hash(same) == hash(side)


def test_streams_wait_for_events_and_for_each_other():
    side, x = ut.cuda.Stream(), ut.ones(1000, device="cuda")
    side.wait_stream(ut.cuda.current_stream())
    with ut.cuda.stream(side):
        y = x * 2
        event = side.record_event()
    ut.cuda.current_stream().wait_event(event)
    assert (y + 1).sum().item() == 3000
    side.synchronize()
    assert side.query() and event.query()


def test_events_measure_time():
    start, end = ut.cuda.Event(enable_timing=True), ut.cuda.Event(enable_timing=True)
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    ut.ones(1000, device="cuda") + 1
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        ut.cuda.Event().elapsed_time(end)


def test_a_backward_pass_may_be_called_on_another_stream():
    side, w = ut.cuda.Stream(), ut.ones(1000, device="cuda", requires_grad=True)
    side.wait_stream(ut.cuda.current_stream())
    with ut.cuda.stream(side):
        loss = (w * w * 3).sum()
    loss.backward()
    assert w.grad.sum().item() == 6000
    with ut.cuda.stream(side):
        assert (w.grad + 1).sum().item() == 7000


def test_figures_follow_what_is_allocated():
    before = ut.cuda.memory_allocated()
    ut.cuda.reset_peak_memory_stats()
    x = ut.empty(3 * MiB, dtype=ut.uint8, device="cuda")
    assert ut.cuda.memory_allocated() == before + 3 * MiB and ut.cuda.memory_reserved() >= 3 * MiB
    del x
    assert ut.cuda.memory_allocated() == before and ut.cuda.max_memory_allocated() == before + 3 * MiB
    reserved = ut.cuda.memory_reserved()
    ut.cuda.empty_cache()
    assert ut.cuda.memory_reserved() < reserved
    stats = ut.cuda.memory_stats()
    assert stats["allocation.all.current"] == stats["allocation.small_pool.current"] + stats["allocation.large_pool.current"]
    assert ut.cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == before
    assert "Allocated memory" in ut.cuda.memory_summary()


def test_freed_memory_is_given_out_again_and_neighbours_are_joined():
    parts = [ut.empty(4 * MiB, dtype=ut.uint8, device="cuda") for _ in range(4)]  # one segment of 20 MiB
    segments = ut.cuda.memory_stats()["segment.large_pool.current"]
    first = min(p.data_ptr() for p in parts)
    del parts
    whole = ut.empty(20 * MiB - 512, dtype=ut.uint8, device="cuda")
    assert whole.data_ptr() == first or ut.cuda.memory_stats()["segment.large_pool.current"] <= segments + 1
    del whole
    small = ut.empty(100, device="cuda")
    at = small.data_ptr()
    del small
    assert ut.empty(100, device="cuda").data_ptr() == at
    for segment in ut.cuda.memory_snapshot():
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]


def test_memory_used_by_another_stream_waits_for_it():
    side = ut.cuda.Stream()
    x = ut.ones(MiB, device="cuda")
    at = x.data_ptr()
    side.wait_stream(ut.cuda.current_stream())
    with ut.cuda.stream(side):
        y = x * 2
    x.record_stream(side)
    del x
    waiting = [b for s in ut.cuda.memory_snapshot() for b in s["blocks"] if b["address"] == at]
    assert waiting[0]["state"] == "active_pending_free"
    side.synchronize()
    assert ut.empty(MiB, device="cuda").data_ptr() == at  # the event was reached
    assert y.sum().item() == 2 * MiB


def test_too_large_a_request_raises_with_the_figures_and_everything_stays_usable():
    free, total = ut.cuda.mem_get_info()
    with pytest.raises(ut.OutOfMemoryError, match="CUDA out of memory. Tried to allocate .* GPU 0 has a total capacity of") as caught:
        ut.empty(2 * total, dtype=ut.uint8, device="cuda")
    assert isinstance(caught.value, RuntimeError) and ut.cuda.OutOfMemoryError is ut.OutOfMemoryError
    assert (ut.ones(3, device="cuda") + 1).tolist() == [2, 2, 2]
    assert ut.cuda.memory_stats()["num_ooms"] >= 1


def test_a_fraction_limits_the_memory_of_the_process():
    _, total = ut.cuda.mem_get_info()
    ut.cuda.set_per_process_memory_fraction(0.01)
    assert ut.cuda.get_per_process_memory_fraction() == 0.01
    with pytest.raises(ut.OutOfMemoryError, match="this process may use"):
        ut.empty(total // 20, dtype=ut.uint8, device="cuda")
    ut.cuda.set_per_process_memory_fraction(1.0)
    with pytest.raises(ValueError, match="Invalid fraction value"):
        ut.cuda.set_per_process_memory_fraction(1.5)


def test_memory_for_other_libraries_comes_from_the_same_cache():
    before = ut.cuda.memory_allocated()
    address = ut.cuda.caching_allocator_alloc(1000)
    assert ut.cuda.memory_allocated() == before + 1024
    ut.cuda.caching_allocator_delete(address)
    assert ut.cuda.memory_allocated() == before
    with pytest.raises(ValueError, match="is not an address"):
        ut.cuda.caching_allocator_delete(address)


def test_pinned_memory_is_copied_without_waiting():
    x = ut.arange(1000.0).pin_memory()
    assert x.is_pinned() and not ut.arange(3).is_pinned() and x.pin_memory() is x and x.untyped_storage().is_pinned()
    y = ut.empty(1000, device="cuda").copy_(x, non_blocking=True)
    assert y.tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        y.pin_memory()
    back = ut.empty(1000).pin_memory()
    back.copy_(y, non_blocking=True)
    ut.cuda.synchronize()
    assert back.tolist() == x.tolist()
    assert ut.cuda.host_memory_stats()["allocated_bytes.current"] >= 8000


def test_a_captured_graph_reads_and_writes_the_same_memory_at_each_replay():
    x, graph = ut.zeros(3, device="cuda"), ut.cuda.CUDAGraph()
    with ut.cuda.graph(graph):
        assert ut.cuda.is_current_stream_capturing()
        y = (x + 1) * 2
    assert not ut.cuda.is_current_stream_capturing()
    for value in (1, 5):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [2 * (value + 1)] * 3
    blocks = ut.cuda.memory_stats()["active.all.current"]
    other = [ut.ones(3, device="cuda") for _ in range(10)]
    graph.replay()
    assert [t.tolist() for t in other] == [[1.0] * 3] * 10 and y.tolist() == [12.0] * 3
    assert blocks
    with pytest.raises(RuntimeError, match="already owns a captured graph"), ut.cuda.graph(graph):
        pass
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


def test_an_error_inside_a_capture_ends_it():
    graph = ut.cuda.CUDAGraph()
    with pytest.raises(ZeroDivisionError), ut.cuda.graph(graph):
        ut.ones(2, device="cuda") + 1 / 0
    assert not ut.cuda.is_current_stream_capturing() and (ut.ones(2, device="cuda") + 1).tolist() == [2, 2]


def test_graphs_may_share_a_pool():
    pool = ut.cuda.graph_pool_handle()
    one, two, x = ut.cuda.CUDAGraph(), ut.cuda.CUDAGraph(), ut.ones(4, device="cuda")
    with ut.cuda.graph(one, pool=pool):
        y = x + 1
    with ut.cuda.graph(two, pool=one.pool()):
        z = y * 3
    x.fill_(2)
    one.replay()
    two.replay()
    assert z.tolist() == [9.0] * 4 and one.pool() == two.pool() == pool


def test_graphed_callables_compute_the_same_values_and_gradients():
    ut.manual_seed(0)
    net = ut.nn.Sequential(ut.nn.Linear(4, 8), ut.nn.Tanh(), ut.nn.Linear(8, 2)).cuda()
    x = ut.randn(3, 4, device="cuda")
    net(x).square().sum().backward()
    expected = [p.grad.clone() for p in net.parameters()]
    wanted = net(x).detach().clone()
    net.zero_grad()
    graphed = ut.cuda.make_graphed_callables(net, (ut.randn(3, 4, device="cuda"),))
    y = graphed(x)
    y.square().sum().backward()
    ut.testing.assert_close(y.detach(), wanted)
    for p, g in zip(net.parameters(), expected):
        ut.testing.assert_close(p.grad, g)


def test_properties_describe_the_device():
    found = ut.cuda.get_device_properties(0)
    assert (found.major, found.minor) == ut.cuda.get_device_capability() and found.name == ut.cuda.get_device_name()
    assert found.total_memory > 0 and found.multi_processor_count > 0 and ut.cuda.device_count() >= 1
    assert ut.cuda.is_bf16_supported() and ut.cuda.is_initialized()
    with ut.cuda.device(0):
        assert ut.cuda.current_device() == 0
    assert ut.accelerator.current_accelerator() == ut.device("cuda") and ut.accelerator.device_count() == ut.cuda.device_count()


def test_switches_reach_the_backend():
    backend = ut._C._cuda()
    for module, name, switch in ((ut.backends.cuda.matmul, "allow_tf32", "matmul.allow_tf32"), (ut.backends.cudnn, "benchmark", "cudnn.benchmark")):
        before = getattr(module, name)
        setattr(module, name, True)
        assert backend.get_switch(switch) == 1
        setattr(module, name, False)
        assert backend.get_switch(switch) == 0
        setattr(module, name, before)
    with ut.backends.cudnn.flags(deterministic=True):
        assert backend.get_switch("cudnn.deterministic") == 1
    assert backend.get_switch("cudnn.deterministic") == 0
    ut.set_float32_matmul_precision("high")
    assert backend.get_switch("matmul.allow_tf32") == 1
    ut.set_float32_matmul_precision("highest")
    assert backend.get_switch("matmul.allow_tf32") == 0


def test_factories_make_pinned_tensors():
    for made in (ut.empty(3, pin_memory=True), ut.zeros(3, pin_memory=True), ut.tensor([1.0], pin_memory=True), ut.ones_like(ut.ones(2), pin_memory=True)):
        assert made.is_pinned() and made.is_cpu
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        ut.zeros(3, pin_memory=True, device="cuda")
