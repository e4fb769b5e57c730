"""The nodes of custom Functions in the graph: identity, lifetime, collection, threads, reentrance, anomalies, traces."""

from __future__ import annotations

import gc
import threading
import traceback
import warnings
import weakref

import pytest
from custom_functions import define
from test_function import Product, leaf

import undertow as ut


class Something:
    """To be held by a weak reference."""


def identity():
    return define(lambda ctx, a: a * 1)


# ---- identity ----


def test_the_ctx_of_forward_is_the_ctx_of_backward_and_the_grad_fn():
    seen = []

    def forward(ctx, a):
        seen.append(ctx)
        ctx.note = Something()
        return a * 2

    def backward(ctx, g):
        seen.append(ctx)
        return g * 2

    y = define(forward, backward).apply(leaf())
    note = seen[0].note
    assert y.grad_fn is seen[0]
    y.sum().backward()
    assert seen[1] is seen[0] and seen[1].note is note


def test_the_node_keeps_its_object_while_python_does_not():
    y = identity().apply(leaf())
    y.grad_fn.note = Something()
    note = weakref.ref(y.grad_fn.note)
    z = y * 2
    del y
    gc.collect()
    assert z.grad_fn.next_functions[0][0].note is note()
    del z
    assert note() is None


def test_the_object_keeps_its_node_while_the_graph_does_not():
    x = leaf()
    fn = identity().apply(x).grad_fn
    gc.collect()
    ((accumulate, _),) = fn.next_functions
    assert accumulate.variable is x


def test_a_weak_reference_to_a_ctx_lives_as_long_as_its_node():
    y = identity().apply(leaf())
    ref = weakref.ref(y.grad_fn)
    gc.collect()
    assert ref() is y.grad_fn
    ctx = ref()
    del y
    assert ref() is ctx and ctx.name() == "FBackward"
    del ctx
    assert ref() is None


def test_the_same_function_object_belongs_to_all_results():
    a, b = define(lambda ctx, x: (x * 1, x * 2), lambda ctx, g, h: g + h).apply(leaf())
    assert a.grad_fn is b.grad_fn and (a.output_nr, b.output_nr) == (0, 1)
    fn = a.grad_fn
    del a
    assert b.grad_fn is fn


def test_numbers_grow_in_the_order_of_the_calls():
    f = identity()
    x = leaf()
    assert f.apply(x).grad_fn._sequence_nr() < f.apply(x).grad_fn._sequence_nr()


def test_a_node_outside_any_graph_can_be_inspected():
    seen = []
    define(lambda ctx, a: seen.append(ctx) or a * 1).apply(leaf().detach())
    (ctx,) = seen
    assert ctx.name() == "FBackward" and ctx.next_functions == () and ctx.metadata == {} and ctx.saved_tensors == ()
    assert ctx._input_metadata == () and ctx.needs_input_grad == (False,)


# ---- lifetime ----


@pytest.mark.parametrize(
    "close",
    [
        lambda y, fn, z: setattr(fn, "y", y),
        lambda y, fn, z: setattr(fn, "z", z),
        lambda y, fn, z: setattr(fn, "me", fn),
        lambda y, fn, z: setattr(fn, "several", [y]),
        lambda y, fn, z: fn.metadata.update(y=y),
        lambda y, fn, z: fn.register_hook(lambda *grads: y),
        lambda y, fn, z: fn.register_prehook(lambda grads: y),
        lambda y, fn, z: setattr(y, "ctx", fn),
    ],
    ids=["result", "later result", "itself", "list", "metadata", "hook", "prehook", "attribute of result"],
)
def test_a_ring_through_a_ctx_is_collected(close):
    def ring():
        y = identity().apply(leaf())
        z = y * 2
        fn = y.grad_fn
        fn.something = Something()
        close(y, fn, z)
        return weakref.ref(fn.something)

    gc.collect()
    something = ring()
    gc.collect()
    assert something() is None


def test_a_ring_through_a_saved_tensor_is_collected():
    def ring():
        w = ut.ones(2)

        def forward(ctx, a):
            w.ctx = ctx
            ctx.something = Something()
            ctx.save_for_backward(w)
            return a * 1

        fn = define(forward).apply(leaf()).grad_fn
        return weakref.ref(fn.something)

    something = ring()
    gc.collect()
    assert something() is None


def test_a_ring_of_a_ctx_that_the_graph_holds_is_left_alone():
    y = identity().apply(leaf())
    other = Something()
    other.ctx = y.grad_fn
    y.grad_fn.other = other
    y.grad_fn.number = 5
    y.grad_fn.me = y.grad_fn
    del other
    gc.collect()
    assert y.grad_fn.number == 5 and y.grad_fn.other.ctx is y.grad_fn
    y.sum().backward()


def test_classes_are_collected():
    def make():
        f = identity()
        f.apply(leaf()).sum().backward()
        return weakref.ref(f)

    ref = make()
    gc.collect()
    assert ref() is None


def test_nothing_is_left_behind():
    x = leaf()

    def once():
        y = Product.apply(x, x * 2)
        y.sum().backward(retain_graph=True)
        ut.autograd.grad(y.sum(), x, create_graph=True)

    for _ in range(3):
        once()
    gc.collect()
    before = ut._C._live_counts()
    for _ in range(50):
        once()
    gc.collect()
    assert ut._C._live_counts() == before


def test_a_chain_of_100_000_functions_is_differentiated_and_freed():
    f = define(lambda ctx, a: a + 1)
    x = ut.zeros((), requires_grad=True)
    y = x
    for _ in range(100_000):
        y = f.apply(y)
    y.grad_fn.something = Something()
    something = weakref.ref(y.grad_fn.something)
    y.backward()
    del y
    assert x.grad.item() == 1.0 and something() is None


def test_what_was_saved_is_freed_by_the_pass():
    def forward(ctx, a):
        w = ut.ones(2)
        w.kept = Something()
        ctx.save_for_backward(w)
        return a * 1

    y = define(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf())
    ref = weakref.ref(y.grad_fn.saved_tensors[0].kept)
    assert ref() is not None
    y.sum().backward()
    assert ref() is None


# ---- passes ----


def test_the_traceback_shows_the_line_in_backward():
    def backward(ctx, g):
        raise ZeroDivisionError("in backward")  # this very line

    with pytest.raises(ZeroDivisionError, match="in backward") as caught:
        define(lambda ctx, a: a * 1, backward).apply(leaf()).sum().backward()
    assert "this very line" in "".join(traceback.format_tb(caught.value.__traceback__))


@pytest.mark.parametrize("workers", [1, 4])
def test_functions_run_on_any_number_of_workers(workers):
    x = leaf()
    total = sum((Product.apply(x, x * float(i)) for i in range(20)), start=ut.zeros(2, dtype=ut.float64))
    ut.autograd.set_num_workers(workers)
    try:
        total.sum().backward()
    finally:
        ut.autograd.set_num_workers(1)
    assert x.grad.tolist() == [380.0, 760.0]


def test_needs_input_grad_is_right_on_workers():
    seen = []

    def backward(ctx, a):
        seen.append(ctx.needs_input_grad)
        return a, a

    f = define(lambda ctx, a, b: a * b, backward)
    x, y = leaf(), leaf()
    total = sum((f.apply(x, y) for _ in range(8)), start=ut.zeros(2, dtype=ut.float64)).sum()
    ut.autograd.set_num_workers(4)
    try:
        ut.autograd.grad(total, y)
    finally:
        ut.autograd.set_num_workers(1)
    assert seen == [(False, True)] * 8


def test_many_threads_call_and_differentiate_one_function():
    x, failures = leaf(), []

    def work():
        try:
            for _ in range(100):
                (g,) = ut.autograd.grad(Product.apply(x, x).sum(), x)
                assert g.tolist() == [2.0, 4.0]
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_a_long_pass_reacquires_the_gil_for_python_functions():
    x = ut.ones(200_000, requires_grad=True)
    define(lambda ctx, a: a * 2, lambda ctx, g: g * 2).apply(x * 1).exp().sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("depth", [3, 200])
def test_backward_inside_backward(depth):
    def backward(ctx, g):
        if ctx.depth == 0:
            return g, None
        with ut.enable_grad():
            inner = leaf(1.0)
            f.apply(inner, ctx.depth - 1).backward()
        return g + inner.grad, None

    def forward(ctx, a, depth):
        ctx.depth = depth
        return a * 1

    f = define(forward, backward)
    x = leaf(1.0)
    f.apply(x, depth).backward()
    assert x.grad.item() == depth + 1


def test_a_function_that_checkpoints():
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a.exp().sin()

    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        with ut.enable_grad():
            again = a.detach().requires_grad_()
            ut.autograd.backward(again.exp().sin(), g)
        return again.grad

    x = leaf()
    define(forward, backward).apply(x).sum().backward()
    assert x.grad.tolist() == pytest.approx((x.exp().cos() * x.exp()).tolist())


# ---- watching ----


def test_anomaly_mode_names_the_line_of_apply():
    def backward(ctx, g):
        raise ZeroDivisionError

    f = define(lambda ctx, a: a * 1, backward)
    with ut.autograd.set_detect_anomaly(True):
        y = f.apply(leaf())  # the line to be named
        with pytest.warns(UserWarning, match=r"(?s)Error detected in FBackward. Traceback of forward call.*the line to be named"):
            with pytest.raises(ZeroDivisionError):
                y.sum().backward()


def test_anomaly_mode_finds_nan():
    f = define(lambda ctx, a: a * 1, lambda ctx, g: g * float("nan"))
    with ut.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="Function 'FBackward' returned nan values in its 0th output"):
            f.apply(leaf()).sum().backward()


def test_a_trace_shows_the_function_by_name():
    y = Product.apply(leaf(), leaf()).sum()
    ut._C._trace_start()
    try:
        y.backward()
    finally:
        events = ut._C._trace_stop()
    assert [e["event"] for e in events if e["name"] == "ProductBackward"] == ["arrived", "ready", "started", "released", "finished"]


def test_a_trace_knows_the_line_of_apply():
    ut._C._record_lines(True)
    try:
        y = Product.apply(leaf(), leaf()).sum()
    finally:
        ut._C._record_lines(False)
    ut._C._trace_start()
    try:
        y.backward()
    finally:
        events = ut._C._trace_stop()
    (line,) = {e["line"] for e in events if e["name"] == "ProductBackward"}
    assert line.rpartition(":")[0] == __file__


def test_a_ring_through_both_a_result_and_its_ctx_is_collected():
    def ring():
        y = identity().apply(leaf())
        y.grad_fn.both = [y, y.grad_fn, Something()]
        return weakref.ref(y.grad_fn.both[2])

    something = ring()
    gc.collect()
    assert something() is None


def test_a_saved_output_of_a_standalone_ctx_has_the_ctx_as_grad_fn():
    def forward(ctx, a):
        y = a.exp()
        ctx.save_for_backward(y)
        return y

    x = leaf()
    ctx = define(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x).grad_fn
    (y,) = ctx.saved_tensors
    assert y.grad_fn is ctx
    del ctx
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_collections_while_threads_make_and_drop_rings():
    failures, threshold = [], gc.get_threshold()

    def work(number):
        try:
            for i in range(300):
                y = Product.apply(leaf(), leaf())
                fn = y.grad_fn
                fn.ring = [y, fn] if i % 2 else fn
                seen = weakref.ref(fn)
                del fn
                y = Product.apply(y, y * 0.5)
                y.sum().backward()
                assert seen() is None or seen().name() == "ProductBackward"
        except BaseException as e:
            failures.append(e)

    gc.set_threshold(7, 2, 2)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        gc.set_threshold(*threshold)
    assert not failures
