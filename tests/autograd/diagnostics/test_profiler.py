"""autograd.profiler: events, their nesting and pairing, averages, tables and files."""

from __future__ import annotations

import gzip
import json
import threading

import pytest

import undertow as ut
from undertow.autograd import profiler
from undertow.autograd.profiler import profile, record_function


def leaf(*shape: int) -> ut.Tensor:
    return ut.ones(*shape, requires_grad=True)


def names(prof) -> list[str]:
    return [event.name for event in prof.function_events]


def one(prof, name: str):
    (event,) = [e for e in prof.function_events if e.name == name]
    return event


def test_forward_operations_are_events_in_order():
    x = leaf(4)
    with profile() as prof:
        (x.exp() * 2 + x).sum()
    assert names(prof) == ["aten::exp", "aten::mul", "aten::add", "aten::sum"]


@pytest.mark.parametrize(
    ("expected", "call"),
    [
        ("aten::mul", lambda x: x * x),
        ("aten::mul", lambda x: 2 * x),
        ("aten::mul", lambda x: ut.mul(x, x)),
        ("aten::sub", lambda x: x - 1),
        ("aten::neg", lambda x: -x),
        ("aten::select", lambda x: x[0]),
        ("aten::slice", lambda x: x[1:2]),
        ("aten::index", lambda x: x[ut.tensor([0, 1])]),
        ("aten::view", lambda x: x.view(4, 1)),
        ("aten::exp_", lambda x: x.exp_()),
        ("aten::copy_", lambda x: x.__setitem__(0, x[1])),
        ("aten::item", lambda x: x.sum().item()),
        ("aten::detach", lambda x: x.detach()),
        ("aten::relu", lambda x: ut.nn.functional.relu(x)),
        ("aten::gt", lambda x: x > 0),
    ],
)
def test_functions_appear_under_torchs_names(expected, call):
    with profile() as prof:
        call(ut.ones(4))
    assert expected in names(prof)


def test_reading_attributes_and_sizes_is_not_an_event():
    x = leaf(4)
    with profile() as prof:
        x.shape, x.size(), x.dim(), x.requires_grad, x.grad, len(x), x.numel()
    assert names(prof) == []


def test_a_composite_call_contains_its_operators():
    x, w, b = ut.ones(2, 3), leaf(4, 3), leaf(4)
    with profile() as prof:
        ut.nn.functional.linear(x, w, b)
    linear = one(prof, "aten::linear")
    assert {child.name for child in linear.cpu_children} >= {"aten::addmm"}
    for child in linear.cpu_children:
        assert child.cpu_parent is linear
        assert linear.time_range.start <= child.time_range.start <= child.time_range.end <= linear.time_range.end


def test_children_do_not_overlap_and_self_time_excludes_them():
    with profile() as prof:
        with record_function("outer"):
            leaf(8).exp().sin().sum().backward()
    assert {"aten::exp", "aten::sin", "aten::sum"} <= {child.name for child in one(prof, "outer").cpu_children}
    for event in prof.function_events:
        ends = event.time_range.start
        for child in event.cpu_children:
            assert child.time_range.start >= ends
            ends = child.time_range.end
        assert ends <= event.time_range.end
        inside = sum(child.cpu_time_total for child in event.cpu_children)
        assert event.self_cpu_time == pytest.approx(event.cpu_time_total - inside)
        assert event.self_cpu_time_total >= -1e-6


def test_backward_nodes_are_events_with_their_function_inside():
    x = leaf(4)
    y = (x * 2).sum()
    with profile() as prof:
        y.backward()
    found = names(prof)
    for node in ("SumBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"):
        outer, inner = one(prof, f"autograd::engine::evaluate_function: {node}"), one(prof, node)
        assert inner.cpu_parent is outer
        assert found.index(outer.name) < found.index(node)
    assert "aten::mul" in [child.name for child in one(prof, "MulBackward0").cpu_children]


def test_a_backward_node_carries_its_forward_operation():
    x = leaf(4)
    with profile() as prof:
        (x.exp() * x).sum().backward()
    for forward, backward in (("aten::exp", "ExpBackward0"), ("aten::sum", "SumBackward0")):
        before, after = one(prof, forward), one(prof, backward)
        assert after.sequence_nr == before.sequence_nr >= 0
        assert after.forward_event is before
        assert after.fwd_thread == before.thread
    accumulate = one(prof, "torch::autograd::AccumulateGrad")
    assert (accumulate.sequence_nr, accumulate.fwd_thread) == (-1, 0)


def test_an_in_place_operation_is_paired_too():
    x = leaf(4)
    with profile() as prof:
        y = x * 1
        y.exp_()
        y.sum().backward()
    assert one(prof, "ExpBackward0").forward_event is one(prof, "aten::exp_")


def test_operations_that_record_nothing_have_no_sequence_number():
    x = leaf(4)
    with profile() as prof:
        with ut.no_grad():
            x * 2
        ut.ones(2) + 1
        x.gt(0)
    assert {event.sequence_nr for event in prof.function_events} == {-1}


def test_shapes_are_recorded_only_on_request():
    a, b = ut.ones(2, 3), ut.ones(3, 4)
    with profile(record_shapes=True) as prof:
        a.mm(b)
    assert one(prof, "aten::mm").input_shapes == [[2, 3], [3, 4]]
    with profile() as prof:
        a.mm(b)
    assert one(prof, "aten::mm").input_shapes == []


def test_a_user_range_is_a_context_and_a_decorator():
    @record_function("step")
    def step(x):
        """Docs stay."""
        return x * 2

    assert (step.__name__, step.__doc__) == ("step", "Docs stay.")
    with profile() as prof:
        step(ut.ones(2))
        with record_function("more"):
            step(ut.ones(2))
    assert [e.name for e in prof.function_events if e.is_user_annotation] == ["step", "more", "step"]
    more = one(prof, "more")
    assert [child.name for child in more.cpu_children] == ["step"] or "step" in [child.name for child in more.cpu_children]


def test_a_user_range_survives_an_exception():
    with profile() as prof:
        with pytest.raises(ZeroDivisionError):
            with record_function("failing"):
                ut.ones(2) * 2
                raise ZeroDivisionError
        ut.ones(2) * 3
    failing = one(prof, "failing")
    assert [e.cpu_parent for e in prof.function_events if e.name == "aten::mul"] == [failing, None]


def test_a_user_range_outside_of_a_profile_does_nothing():
    with record_function("nothing"):
        assert (ut.ones(2) * 2).tolist() == [2.0, 2.0]


def test_a_range_that_begins_inside_and_ends_outside_is_closed_by_the_profile():
    outside = record_function("outside")
    inside = record_function("inside")
    outside.__enter__()
    with profile() as prof:
        ut.ones(2) * 2
        outside.__exit__(None, None, None)
        inside.__enter__()
        ut.ones(2) * 3
    inside.__exit__(None, None, None)
    assert "outside" not in names(prof)
    assert [child.name for child in one(prof, "inside").cpu_children][-1] == "aten::mul"


def test_an_operation_that_fails_ends_its_event():
    with profile() as prof:
        with pytest.raises(RuntimeError, match="must match the size"):
            ut.ones(2) + ut.ones(3)
        ut.ones(2).exp()
    assert one(prof, "aten::exp").cpu_parent is None


def test_stacks_name_the_callers_innermost_first():
    def inner():
        return ut.ones(2).exp()

    with profile(with_stack=True) as prof:
        inner()
    stack = one(prof, "aten::exp").stack
    assert "inner" in stack[0]
    assert "test_stacks_name_the_callers_innermost_first" in stack[1]
    assert not any("undertow/autograd" in frame for frame in stack)


def test_a_backward_node_has_the_stack_of_its_forward():
    x = leaf(2)
    with profile(with_stack=True) as prof:
        x.exp().sum().backward()
    assert one(prof, "ExpBackward0").stack == one(prof, "aten::exp").stack != []


def test_memory_of_large_tensors_is_recorded():
    x = ut.ones(100_000)
    with profile(profile_memory=True) as prof:
        y = x * 2
        del y
    assert one(prof, "aten::mul").cpu_memory_usage >= 400_000
    assert "CPU Mem" in prof.table()


def test_products_count_their_flops():
    with profile(with_flops=True) as prof:
        ut.ones(2, 3).mm(ut.ones(3, 4))
        ut.ones(5) * 2
    assert one(prof, "aten::mm").flops == 2 * 2 * 3 * 4
    assert one(prof, "aten::mul").flops == 5
    assert one(prof, "aten::mm").input_shapes == []
    assert "Total FLOPs" in prof.table()


def test_averages_sum_the_events_of_one_name():
    x = ut.ones(4)
    with profile(record_shapes=True) as prof:
        for _ in range(3):
            x * 2
        ut.ones(5) * 2
    average = next(a for a in prof.key_averages() if a.key == "aten::mul")
    assert average.count == 4
    muls = [e for e in prof.function_events if e.name == "aten::mul"]
    assert average.cpu_time_total == pytest.approx(sum(e.cpu_time_total for e in muls))
    assert average.cpu_time == pytest.approx(average.cpu_time_total / 4)
    by_shape = [a for a in prof.key_averages(group_by_input_shape=True) if a.key == "aten::mul"]
    assert sorted(a.count for a in by_shape) == [1, 3]


def test_averages_can_be_grouped_by_stack():
    def first():
        return ut.ones(2).exp()

    def second():
        return ut.ones(2).exp()

    with profile(with_stack=True) as prof:
        first(), second(), second()
    groups = [a for a in prof.key_averages(group_by_stack_n=1) if a.key == "aten::exp"]
    assert sorted(a.count for a in groups) == [1, 2]


def test_the_total_is_the_time_of_top_level_events():
    with profile() as prof:
        leaf(4).exp().sum().backward()
    top = sum(e.cpu_time_total for e in prof.function_events if e.cpu_parent is None)
    assert prof.self_cpu_time_total == pytest.approx(top)
    total = prof.total_average()
    assert total.key == "Total"
    assert total.count == len(prof.function_events)
    assert total.self_cpu_time_total == pytest.approx(top)


def test_the_table_is_sorted_and_cut_on_request():
    with profile() as prof:
        x = ut.ones(4)
        x.exp(), x.exp(), x.exp(), x.sin()
    text = prof.key_averages().table(sort_by="count", row_limit=1, header="what ran")
    lines = text.splitlines()
    assert lines[0] == "what ran"
    rows = [line for line in lines if "aten::" in line]
    assert len(rows) == 1
    assert rows[0].split()[0] == "aten::exp"
    assert rows[0].split()[-1] == "3"
    assert "Self CPU time total" in text
    assert "ms" in prof.table(time_unit="ms")
    with pytest.raises(AttributeError, match="sort_by"):
        prof.table(sort_by="beauty")
    assert "autograd::engine::evaluate_function: torch::autograd..." not in text


def test_long_names_are_cut_in_the_table():
    with profile() as prof:
        leaf(2).sum().backward()
    assert "autograd::engine::ev..." in prof.table(max_name_column_width=23)


def test_only_top_level_events_on_request():
    with profile() as prof:
        with record_function("outer"):
            ut.ones(2).exp()
    text = prof.table(top_level_events_only=True)
    assert "outer" in text
    assert "aten::exp" not in text


def test_the_chrome_trace_says_which_rank_it_is_of(tmp_path, monkeypatch):
    with profile() as prof:
        ut.ones(2).exp()
    prof.export_chrome_trace(str(tmp_path / "one.json"))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    prof.export_chrome_trace(str(tmp_path / "two.json"))
    one, two = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "two"))
    assert "distributedInfo" not in one and two["distributedInfo"] == {"rank": 1, "world_size": 2}
    assert [trace["traceEvents"][0]["args"]["name"] for trace in (one, two)] == ["undertow", "undertow, rank 1 of 2"]


def test_the_chrome_trace_is_valid_and_links_forward_to_backward(tmp_path):
    x = leaf(4)
    with profile(record_shapes=True, with_stack=True) as prof:
        with record_function('a "quoted" name'):
            x.exp().sum().backward()
    path = str(tmp_path / "trace.json")
    prof.export_chrome_trace(path)
    with open(path) as file:
        trace = json.load(file)
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in slices] == names(prof)
    assert all(e["dur"] >= 0 and e["ts"] >= 0 and {"pid", "tid", "cat", "args"} <= e.keys() for e in slices)
    starts = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "s"}
    ends = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(starts) == 2  # exp and sum
    forward = {e["ts"] for e in slices if e["name"] in ("aten::exp", "aten::sum")}
    assert {e["ts"] for e in starts.values()} <= forward
    prof.export_chrome_trace(path + ".gz")
    with gzip.open(path + ".gz", "rt") as file:
        assert json.load(file) == trace


def test_stacks_are_exported_from_the_outermost(tmp_path):
    with profile(with_stack=True) as prof:
        for _ in range(50):
            ut.ones(10_000).exp()
    path = str(tmp_path / "stacks.txt")
    prof.export_stacks(path, "self_cpu_time_total")
    with open(path) as file:
        (line,) = [text for text in file.read().splitlines() if "test_stacks_are_exported" in text.split(";")[-1]][:1]
    frames, value = line.rsplit(" ", 1)
    assert int(value) > 0
    assert len(frames.split(";")) > 1
    with pytest.raises(ValueError, match="metric"):
        prof.export_stacks(path, "beauty")
    with profile() as prof:
        pass
    with pytest.raises(ValueError, match="with_stack"):
        prof.export_stacks(path)


def test_a_disabled_profile_records_nothing():
    with profile(enabled=False) as prof:
        assert prof is None
        assert not ut._C._profiler_enabled()


def test_profiles_do_not_nest():
    with profile() as outer:
        with pytest.raises(RuntimeError, match="already enabled"):
            with profile():
                pass
        ut.ones(2).exp()
    assert "aten::exp" in names(outer)
    with pytest.raises(RuntimeError, match="not reentrant"):
        outer.__enter__()


def test_an_unfinished_profile_raises():
    prof = profile()
    assert "unfinished" in repr(prof)
    with pytest.raises(RuntimeError, match="didn't finish"):
        prof.key_averages()


def test_after_the_profile_everything_is_switched_off():
    with profile():
        ut.ones(2).exp()
    assert not ut._C._profiler_enabled()
    assert ut._C._profile_stop()[1] == []
    assert not ut.overrides.has_torch_function((ut.ones(1),))
    assert ut._C._trace_stop() == []


def test_modes_and_subclasses_still_override_inside_a_profile():
    seen = []

    class Names(ut.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Loud(ut.Tensor):
        pass

    with profile() as prof:
        with Names():
            ut.ones(2).exp()
        z = ut.ones(2).as_subclass(Loud).sin()
    assert "exp" in seen
    assert type(z) is Loud
    assert {"aten::exp", "aten::sin"} <= set(names(prof))
    assert names(prof).count("aten::exp") == 1


def test_a_mode_around_a_profile_is_restored():
    with ut.overrides.BaseTorchFunctionMode():
        with profile() as prof:
            ut.ones(2).exp()
        assert ut.overrides.has_torch_function((ut.ones(1),))
    assert not ut.overrides.has_torch_function((ut.ones(1),))
    assert "aten::exp" in names(prof)


def test_results_are_the_same_under_the_profiler():
    def run():
        x = ut.arange(6.0).reshape(2, 3).requires_grad_()
        y = ut.einsum("ij,kj->ik", x, x)[0].softmax(0)
        ut.nn.functional.mse_loss(y, ut.zeros(2)).backward()
        return y.tolist(), x.grad.tolist()

    expected = run()
    with profile():
        assert run() == expected


def test_another_thread_is_not_profiled_but_a_pass_over_workers_is():
    x = leaf(4)
    loss = sum((x * float(i)).exp().sum() for i in range(6))
    with profile() as prof:
        thread = threading.Thread(target=lambda: ut.ones(3).tanh())
        thread.start()
        thread.join()
        ut.autograd.set_num_workers(3)
        try:
            loss.backward()
        finally:
            ut.autograd.set_num_workers(1)
    assert "aten::tanh" not in names(prof)
    assert names(prof).count("ExpBackward0") == 6


def test_other_devices_warn_and_vendor_tools_raise():
    with pytest.warns(UserWarning, match="not available"):
        profile(use_cuda=True)
    for tool in (profiler.emit_nvtx, profiler.emit_itt):
        with pytest.raises(RuntimeError, match="this build has no"):
            tool()
        with tool(enabled=False):
            pass


def test_a_custom_function_is_an_event_with_its_name():
    class Square(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(4)
    with profile(record_shapes=True) as prof:
        Square.apply(x).sum().backward()
    forward, backward = one(prof, "Square"), one(prof, "SquareBackward")
    assert forward.input_shapes == [[4]]
    assert [child.name for child in forward.cpu_children] == ["aten::mul"]
    assert backward.forward_event is forward
    assert "aten::mul" in [child.name for child in backward.cpu_children]
