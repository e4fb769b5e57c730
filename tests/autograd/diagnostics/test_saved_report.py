"""saved_tensors_report: what a graph keeps for backward, by node and line, each storage once."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import autograd
from undertow.autograd import saved_tensors_report
from undertow.autograd.graph import get_gradient_edge, save_on_cpu, saved_tensors_hooks


def leaf(*shape: int) -> ut.Tensor:
    return ut.ones(*shape, requires_grad=True)


@pytest.fixture
def lines():
    before = ut._C._record_lines(True)
    yield
    ut._C._record_lines(before)


def test_a_saved_result_counts_with_its_node_name_shape_and_dtype():
    report = saved_tensors_report(leaf(10, 10).exp().sum())
    assert report.total_bytes == 400
    (row,) = report.rows
    assert (row.node, row.name, row.shape, row.dtype, row.bytes) == ("ExpBackward0", "result", (10, 10), ut.float32, 400)


def test_a_storage_saved_twice_counts_once_with_the_earlier_operation():
    x = leaf(100)
    y = x.exp()
    report = saved_tensors_report((y * y).sum())
    assert report.total_bytes == 400
    assert [(r.node, r.bytes) for r in report.rows] == [("ExpBackward0", 400), ("MulBackward0", 0), ("MulBackward0", 0)]


def test_a_view_counts_for_the_whole_storage_it_keeps_alive():
    big = ut.ones(1000)
    report = saved_tensors_report((leaf(10) * big[:10]).sum())
    (row,) = [r for r in report.rows if r.name == "other"]
    assert row.tensor_bytes == 40
    assert row.bytes == 4000


def test_memory_that_a_variable_holds_is_not_held_by_the_graph_alone():
    x = leaf(100)
    kept = x.exp()
    loss = (kept.sin() * 2).sum()
    report = saved_tensors_report(loss)
    assert report.exclusive_bytes == 0
    del kept
    report = saved_tensors_report(loss)
    assert report.total_bytes == report.exclusive_bytes == 400


def test_a_parameter_is_held_but_not_by_the_graph_alone():
    w = leaf(50)
    report = saved_tensors_report((w * ut.full((50,), 2.0)).sum())
    assert report.total_bytes == report.exclusive_bytes == 200  # the factor; w itself is not needed
    report = saved_tensors_report((w * leaf(50)).sum())
    assert report.total_bytes == 400
    assert report.exclusive_bytes == 200  # only the other leaf has no other owner


def test_a_view_held_only_by_the_graph_makes_its_base_held_by_the_graph():
    report = saved_tensors_report((leaf(10) * ut.full((1000,), 2.0)[:10]).sum())
    assert report.exclusive_bytes == 4000


def test_each_tensor_of_a_list_has_a_row():
    report = saved_tensors_report(leaf(8)[ut.tensor([1, 2, 3])].sum())
    (row,) = [r for r in report.rows if r.name == "indices"]
    assert (row.dtype, row.shape, row.bytes) == (ut.int64, (3,), 24)


def test_rows_are_in_the_order_of_the_program():
    x = leaf(4)
    report = saved_tensors_report((x.exp().sin().cos() * x).sum())
    assert [r.node for r in report.rows] == ["ExpBackward0", "SinBackward0", "CosBackward0", "MulBackward0", "MulBackward0"]


def test_a_packed_tensor_is_reported_as_packed_and_not_unpacked():
    def never(_):
        raise AssertionError("the report must not unpack")

    with saved_tensors_hooks(lambda t: "elsewhere", never):
        loss = leaf(10).exp().sum()
    report = saved_tensors_report(loss)
    (row,) = report.rows
    assert row.packed
    assert (row.shape, row.dtype, row.bytes) == (None, None, 0)
    assert report.packed == 1
    assert "packed" in str(report)


def test_memory_of_a_packed_value_is_counted_if_it_is_a_tensor():
    with save_on_cpu():
        loss = leaf(10).exp().sum()
    (row,) = saved_tensors_report(loss).rows
    assert row.packed
    assert (row.shape, row.bytes) == ((10,), 40)
    with saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        loss = leaf(10).exp().sum()
    (row,) = saved_tensors_report(loss).rows
    assert (row.dtype, row.bytes, row.exclusive) == (ut.float16, 20, True)


def test_a_packed_tensor_that_the_program_holds_too_is_not_held_by_the_graph_alone():
    packed = []
    with saved_tensors_hooks(lambda t: packed.append(t.half()) or packed[0], lambda t: t.float()):
        loss = leaf(10).exp().sum()
    (row,) = saved_tensors_report(loss).rows
    assert not row.exclusive


def test_after_backward_what_was_freed_is_counted_and_nothing_is_held():
    loss = (leaf(10).exp() * leaf(10)).sum()
    loss.backward()
    report = saved_tensors_report(loss)
    assert report.total_bytes == 0
    assert report.rows == []
    assert report.freed == 3
    assert "freed" in str(report)


def test_in_place_writes_to_views_show_what_their_inner_node_saved():
    x = leaf(4)
    y = x * 1
    y[:2].mul_(leaf(2))
    report = saved_tensors_report(y.sum())
    assert {r.node for r in report.rows if r.bytes} == {"CopySlices"}


def test_retained_gradients_are_not_counted():
    y = leaf(10).exp()
    y.retain_grad()
    loss = y.sum()
    before = saved_tensors_report(loss).total_bytes
    loss.backward(retain_graph=True)
    assert y.grad is not None
    assert saved_tensors_report(loss).total_bytes == before == 40


def test_a_loss_without_a_graph_has_an_empty_report():
    report = saved_tensors_report(ut.ones(3).sum())
    assert (report.total_bytes, report.rows, report.nodes) == (0, [], 0)
    assert str(report).startswith("saved for backward: 0 B")


def test_several_roots_nodes_and_edges_are_combined():
    x = leaf(10)
    a, b = x.exp(), x.sin()
    assert saved_tensors_report((a, b)).total_bytes == 80
    assert saved_tensors_report(a.grad_fn).total_bytes == 40
    assert saved_tensors_report(get_gradient_edge(b)).total_bytes == 40


def test_arguments_of_another_type_raise():
    with pytest.raises(TypeError):
        saved_tensors_report(3)


def test_rows_can_be_summed_by_line(lines):
    x = leaf(1000)
    y = x.exp()
    loss = y.sin().sum()
    report = saved_tensors_report(loss)
    assert report.has_lines
    exp, sin = report.by_line()  # sin saves exp's result: one storage, saved first where exp was called
    assert (exp.bytes, sin.bytes) == (4000, 0)
    assert int(sin.key.rpartition(":")[2]) == int(exp.key.rpartition(":")[2]) + 1
    assert exp.key.rpartition(":")[0].endswith("test_saved_report.py")


def test_without_recorded_lines_the_table_has_none():
    report = saved_tensors_report(leaf(10).exp().sum())
    assert not report.has_lines
    assert "test_saved_report" not in str(report)


def test_the_table_names_the_line_and_the_largest_first(lines):
    small = leaf(10).exp()
    large = leaf(1000).exp()
    text = str(saved_tensors_report(small.sum() + large.sum()))
    assert text.index("3.9 KiB  ExpBackward0") < text.index("40 B  ExpBackward0")
    assert "test_saved_report.py:" in text
    assert repr(saved_tensors_report(small)) == str(saved_tensors_report(small))


def test_groups_by_node_and_by_operation_hold_all_bytes():
    x = leaf(10)
    report = saved_tensors_report(x.exp().exp().sin().sum())
    assert sum(g.bytes for g in report.by_node()) == sum(g.bytes for g in report.by_operation()) == report.total_bytes
    assert [g.key for g in report.by_operation()].count("ExpBackward0") == 1


@pytest.mark.slow
def test_a_chain_of_a_million_nodes_is_reported():
    x = leaf(1)
    y = x
    with ut.no_grad():
        two = ut.full((1,), 1.0)
    for _ in range(1_000_000):
        y = y * two
    report = saved_tensors_report(y)
    assert report.nodes == 1_000_001
    assert len(report.rows) == 1_000_000
    assert report.total_bytes == 4
    assert len(str(report)) < 10_000


def test_the_graph_still_runs_after_the_report():
    x = leaf(3)
    loss = (x.exp() * x).sum()
    saved_tensors_report(loss)
    (grad,) = autograd.grad(loss, x)
    assert ut.allclose(grad, x.exp() * (1 + x))


def test_what_a_custom_function_saved_is_in_its_rows():
    class Square(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    loss = Square.apply(leaf(10)).sum()
    (row,) = saved_tensors_report(loss).rows
    assert (row.node, row.name, row.bytes) == ("SquareBackward", "tensors", 40)
    with saved_tensors_hooks(lambda t: "elsewhere", lambda _: 1 / 0):
        loss = Square.apply(leaf(10)).sum()
    assert saved_tensors_report(loss).packed == 1
    loss = Square.apply(leaf(10)).sum()
    loss.backward()
    assert saved_tensors_report(loss).freed == 1
