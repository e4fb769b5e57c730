"""Object lifetimes: identity, weak references, garbage collection, and no leaks."""

import gc
import subprocess
import sys
import textwrap
import threading
import warnings
import weakref

import pytest

import undertow as ut

WITH_POOL = bool(ut._C._live_counts())  # a sanitizer build has no pool to count


def live():
    gc.collect()
    return sum(ut._C._live_counts().values())


def leaves_nothing(f, rounds=3):
    """f() leaves no tensor, node or small storage behind."""
    f()  # caches fill
    before = live()
    for _ in range(rounds):
        f()
    after = live()
    assert not WITH_POOL or after <= before, f"{after - before} blocks more after {rounds} rounds"


def test_a_tensor_is_one_object_while_anyone_holds_it():
    x = ut.ones(2, requires_grad=True)
    y = x * x
    assert y.grad_fn._saved_self is x and y.grad_fn.next_functions[0][0].variable is x
    v = x.view(2, 1)
    assert v._base is x
    y.sum().backward()
    assert x.grad is x.grad


def test_attributes_and_weak_references_survive_in_cpp():
    x = ut.ones(2, requires_grad=True)
    x.note = "kept"
    ref = weakref.ref(x)
    y = x * x
    del x
    gc.collect()
    assert ref() is not None and ref().note == "kept" and y.grad_fn._saved_self is ref()
    del y
    gc.collect()
    assert ref() is None


def test_a_weak_reference_brings_back_a_whole_tensor():
    x = ut.ones(2, requires_grad=True)
    ref = weakref.ref(x)
    y = x * x
    del x
    back = ref()
    assert back.shape == (2,) and (back * 2).tolist() == [2, 2] and y.grad_fn._saved_self is back
    del y
    gc.collect()
    assert back.tolist() == [1, 1] and ref() is back
    del back
    assert ref() is None


def test_attributes_of_a_gradient_survive():
    x = ut.ones(2, requires_grad=True)
    x.grad = ut.ones(2)
    x.grad.note = "kept"
    gc.collect()
    assert x.grad.note == "kept"


def test_resurrection_again_and_again():
    x = ut.ones(2, requires_grad=True)
    x.count = 0
    y = x * x
    del x
    for i in range(100):
        again = y.grad_fn._saved_self
        assert again.count == i
        again.count += 1
        del again
    gc.collect()
    assert y.grad_fn._saved_self.count == 100


def test_cycles_through_attributes_are_collected():
    x = ut.ones(2)
    x.me = x
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None
    x = ut.ones(2)
    vars(x)["me"] = x
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("leaf", [True, False])
def test_cycles_through_hooks_are_collected(leaf):
    def make():
        x = ut.ones(2, requires_grad=True)
        t = x if leaf else x * 2
        t.register_hook(lambda grad: t)
        return weakref.ref(t)

    ref = make()
    gc.collect()
    assert ref() is None


def quiet_backward(y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(create_graph=True)


def test_cycles_through_gradients_with_history_are_collected():
    def ring():
        x = ut.ones(2, requires_grad=True)
        quiet_backward((x * x * x).sum())
        assert x.grad.grad_fn is not None
        return weakref.ref(x)

    ref = ring()
    gc.collect()
    assert ref() is None
    leaves_nothing(ring)


def test_rings_of_several_leaves_are_collected():
    def ring():
        x, y = ut.ones(2, requires_grad=True), ut.ones(2, requires_grad=True)
        z = x * y
        z.retain_grad()
        quiet_backward((z * z).sum())
        return weakref.ref(x), weakref.ref(y)

    leaves_nothing(ring)
    refs = ring()
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_rings_in_use_are_left_alone():
    x = ut.ones(2, requires_grad=True)
    quiet_backward((x * x * x).sum())
    gc.collect()
    assert x.grad.tolist() == [3, 3]
    grad = x.grad
    del x
    gc.collect()
    leaf = grad.grad_fn
    assert leaf is not None
    second = ut.autograd.grad(grad.sum(), _leaf_of(grad))
    assert second[0].tolist() == [6, 6]


def _leaf_of(t):
    stack = [t.grad_fn]
    while stack:
        node = stack.pop()
        if hasattr(node, "variable"):
            return node.variable
        stack.extend(n for n, _ in node.next_functions if n is not None)
    raise AssertionError("no leaf")


def test_a_ring_held_by_a_node_is_left_alone():
    x = ut.ones(2, requires_grad=True)
    quiet_backward((x * x * x).sum())
    node = x.grad.grad_fn
    del x
    gc.collect()
    assert node.next_functions
    del node


def test_ordinary_work_leaks_nothing():
    def step():
        x = ut.ones(4, requires_grad=True)
        y = ((x * 2).exp() * x).sum()
        y.backward()
        x.grad = None

    leaves_nothing(step)


def test_failed_passes_leak_nothing():
    def step():
        x = ut.ones(4, requires_grad=True)
        y = (x * 2).exp()
        y.register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            y.sum().backward()

    leaves_nothing(step)


def test_numpy_exchange_leaks_nothing():
    np = pytest.importorskip("numpy")

    def step():
        t = ut.from_numpy(np.ones(3))
        a = t.numpy()
        ut.from_dlpack(np.from_dlpack(ut.ones(3)))
        del t, a

    leaves_nothing(step)


def test_forward_mode_leaks_nothing():
    fw = ut.autograd.forward_ad

    def step():
        with fw.dual_level():
            x = fw.make_dual(ut.ones(3), ut.ones(3))
            y = (x * x).exp()
            assert fw.unpack_dual(y).tangent is not None
        assert fw.unpack_dual(y).tangent is None

    leaves_nothing(step)


def test_threads_share_and_drop_tensors():
    x = ut.ones(8, requires_grad=True)
    x.note = 1

    def work():
        for _ in range(200):
            (x * x).sum().backward(inputs=[x])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.note == 1


@pytest.mark.parametrize(
    "program",
    [
        "x = ut.ones(2, requires_grad=True); y = (x * x).exp()",
        "x = ut.ones(2, requires_grad=True); x.me = x; y = x * x; y.register_hook(lambda g: x)",
        "import builtins; builtins.kept = ut.ones(2, requires_grad=True).exp()",
        "import atexit; t = ut.ones(2); atexit.register(lambda: t.tolist())",
        "import sys; sys.modules['kept'] = ut.ones(2, requires_grad=True) * 2; del sys.modules['undertow']",
        "import numpy as np; t = ut.from_numpy(np.ones(3)); a = ut.ones(3).numpy(); t.arr = a",
        "import warnings; warnings.simplefilter('ignore'); x = ut.ones(2, requires_grad=True); (x*x).sum().backward(create_graph=True)",
        "class S(ut.Tensor):\n    def __del__(self): pass\nx = ut.ones(2).as_subclass(S); y = x * x; x.other = y",
        "fw = ut.autograd.forward_ad; fw.enter_dual_level(); d = fw.make_dual(ut.ones(1), ut.ones(1))",
    ],
)
def test_the_interpreter_exits_cleanly_with_live_tensors(program):
    code = "import undertow as ut\n" + program
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_the_weight_gradient_of_a_linear_layer_is_not_copied():
    w, x = ut.zeros(256, 256, requires_grad=True), ut.ones(4, 256)
    loss = ut.nn.functional.linear(x, w).sum()
    before = ut._C._memory_stats()["in_use"]
    ut._C._reset_peak_memory_stats()
    loss.backward()
    assert ut._C._memory_stats()["peak_in_use"] - before < 1.5 * 4 * w.numel()
    assert not w.grad._is_view() and w.grad.is_contiguous() and w.grad[0, 0] == 4


def test_a_gradient_whose_memory_someone_else_holds_is_copied():
    kept = []
    w, x = ut.zeros(3, 2, requires_grad=True), ut.ones(4, 2)
    turned = w.t()
    turned.register_hook(kept.append)
    (x @ turned).sum().backward()
    kept[0].fill_(7)
    assert w.grad.tolist() == [[4.0, 4.0]] * 3
