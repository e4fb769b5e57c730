"""Saved tensors: their names, versions, pack and unpack hooks, and when they are freed."""

from __future__ import annotations

import gc
import weakref

import pytest

import undertow as ut
from undertow import autograd
from undertow.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks


def leaf(*values: float) -> ut.Tensor:
    return ut.tensor(values, requires_grad=True)


def test_saved_operands_are_the_operands():
    x, y = leaf(2.0), leaf(3.0)
    node = (x * y).grad_fn
    assert node._saved_self is x
    assert node._saved_other is y


def test_only_what_a_derivative_needs_is_saved():
    x, y = leaf(2.0), ut.tensor([3.0])
    node = (x * y).grad_fn
    assert node._saved_self is None
    assert node._saved_other is not None


def test_a_saved_result_has_the_history_of_the_result():
    y = leaf(2.0).exp()
    saved = y.grad_fn._saved_result
    assert saved.grad_fn is y.grad_fn
    assert saved.data_ptr() == y.data_ptr()


def test_a_saved_result_does_not_keep_the_graph_alive():
    class Marker:
        pass

    y = leaf(2.0).exp()
    y.grad_fn.metadata["marker"] = marker = Marker()
    gone = weakref.ref(marker)
    del y, marker
    assert gone() is None


def test_an_unknown_saved_name_is_an_attribute_error():
    node = (leaf(2.0) * leaf(3.0)).grad_fn
    with pytest.raises(AttributeError):
        node._saved_nothing  # noqa: B018
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"} <= set(dir(node))


def test_a_saved_number_is_a_number():
    assert ut.add(leaf(2.0), leaf(3.0), alpha=4).grad_fn._saved_alpha == 4


def test_saved_sizes_are_a_tuple():
    assert tuple(ut.ones(2, 3, requires_grad=True).sum().grad_fn._saved_self_sym_sizes) == (2, 3)


# Versions.


def test_writing_to_a_saved_tensor_is_detected():
    x = leaf(2.0)
    y = x * 1
    z = y * y
    y.add_(1)
    clause = (r"^one of the variables needed for gradient computation has been modified by an inplace operation: "
              r"\[\w+\.FloatTensor \[1\]\], which is output 0 of Add(?:Backward0)?, is at version 1; expected version 0 instead")
    with pytest.raises(RuntimeError, match=clause):
        z.sum().backward()


def test_writing_to_a_saved_result_is_detected():
    x = leaf(2.0)
    y = x.exp()
    y.mul_(2)
    clause = r"modified by an inplace operation: \[.*\], which is output 0 of Exp(?:Backward0)?, is at version 1; expected version 0 instead"
    with pytest.raises(RuntimeError, match=clause):
        y.sum().backward()


def test_writing_to_a_tensor_that_was_not_saved_is_fine():
    x = leaf(2.0)
    y = x * 1
    z = y + y
    y.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_writing_through_a_view_is_detected():
    x = leaf(2.0, 3.0)
    y = x * 1
    z = y * y
    y.view(2, 1)[0].mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_writing_through_detach_is_detected():
    x = leaf(2.0)
    y = x * 1
    z = y * y
    y.detach().mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_writing_through_data_is_not_detected():
    x = leaf(2.0)
    y = x * 1
    z = y * y
    y.data.mul_(3)
    z.sum().backward()
    assert x.grad.tolist() == [12.0]


def test_writing_in_no_grad_is_detected():
    x = leaf(2.0)
    y = x * x
    with ut.no_grad():
        x.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_the_hint_names_anomaly_detection():
    x = leaf(2.0)
    y = x * x
    with ut.no_grad():
        x.mul_(3)
    with pytest.raises(RuntimeError, match=r"Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
                                           r"\w+\.autograd\.set_detect_anomaly\(True"):
        y.sum().backward()


def test_version_counters():
    x = ut.ones(2)
    assert x._version == 0
    x.add_(1)
    x.mul_(2)
    assert x._version == 2
    view = x.view(2, 1)
    view.add_(1)
    assert x._version == view._version == 3
    assert x.detach()._version == 3
    assert x.data._version == 0
    assert x.clone()._version == 0
    x[0] = 5.0
    assert x._version == 4
    x.zero_()
    assert x._version == 5


# Hooks.


def test_pack_and_unpack_run_for_each_saved_tensor():
    packed, unpacked = [], []

    def pack(t):
        packed.append(t)
        return len(packed) - 1

    def unpack(i):
        unpacked.append(i)
        return packed[i]

    x, y = leaf(2.0), leaf(3.0)
    with saved_tensors_hooks(pack, unpack):
        z = x * y
    assert sorted(t.tolist() for t in packed) == [[2.0], [3.0]]
    assert unpacked == []
    z.sum().backward()
    assert sorted(unpacked) == [0, 1]
    assert (x.grad.tolist(), y.grad.tolist()) == ([3.0], [2.0])


def test_what_unpack_returns_is_used():
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t, lambda t: t * 10):
        z = x * x
    z.sum().backward()
    assert x.grad.tolist() == [40.0]


def test_the_innermost_hooks_win():
    x = leaf(2.0)
    seen = []
    with saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        with saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t):
            a = x.exp()
        b = x.exp()
    c = x.exp()
    assert seen == ["inner", "outer"]
    del a, b, c


def test_an_unpacked_leaf_can_be_differentiated_again():
    x = leaf(3.0)
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x * x
    (g,) = autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [6.0]
    assert autograd.grad(g.sum(), x)[0].tolist() == [2.0]


def test_an_unpacked_result_can_be_differentiated_again():
    x = leaf(0.0)
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x.exp()
    (g,) = autograd.grad(y.sum(), x, create_graph=True)
    assert autograd.grad(g.sum(), x)[0].tolist() == [1.0]


def test_an_unpacked_intermediate_can_be_differentiated_again():
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x * x
        z = y * y
    (g,) = autograd.grad(z.sum(), x, create_graph=True)
    assert g.tolist() == [32.0]
    assert autograd.grad(g.sum(), x)[0].tolist() == [48.0]


def test_an_exception_in_pack_reaches_the_caller():
    x = leaf(2.0)
    with pytest.raises(ZeroDivisionError), saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
        x * x  # noqa: B018
    assert (x * x).grad_fn is not None


def test_an_exception_in_unpack_reaches_the_caller():
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t, lambda t: 1 / 0):
        y = x * x
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert x.grad is None


def test_unpack_must_return_a_tensor():
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x * x
    with pytest.raises(TypeError, match=r"^Output of saved tensor unpack_hook expected to be a Tensor but got result of type"):
        y.sum().backward()


def test_pack_must_not_write_to_the_tensor():
    x = leaf(2.0)
    y = x * 1
    with pytest.raises(RuntimeError, match=r"^A saved tensor pack hook is modifying its input in place"), \
            saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
        y * y  # noqa: B018


def test_pack_is_given_a_saved_input_itself():
    weight, seen = ut.nn.Parameter(ut.ones(2)), []
    middle = weight * 2
    with ut.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        out = weight * middle
        result = out.exp()
    assert sum(t is weight for t in seen) == 1  # a hook that moves activations away can leave parameters in place
    assert sum(t is middle for t in seen) == 1
    result.sum().backward()
    assert weight.grad.allclose(4 * result.detach())


def test_pack_runs_without_recording():
    x = leaf(2.0)
    seen = []
    with saved_tensors_hooks(lambda t: seen.append((t * 2).requires_grad) or t, lambda t: t):
        x * x  # noqa: B018
    assert seen == [False, False]


def test_hooks_can_be_disabled():
    x = leaf(2.0)
    with disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="^not here"), saved_tensors_hooks(lambda t: t, lambda t: t):
        pass
    with saved_tensors_hooks(lambda t: t, lambda t: t), pytest.raises(RuntimeError, match="^not here"), disable_saved_tensors_hooks("not here"):
        pass
    assert (x * x).grad_fn is not None


def test_hooks_apply_to_one_thread():
    import threading

    x = leaf(2.0)
    seen = []
    with saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        thread = threading.Thread(target=lambda: x * x)
        thread.start()
        thread.join()
    assert seen == []


def test_a_pair_of_hooks_on_one_saved_tensor():
    x = leaf(2.0)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 10, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [22.0]


def test_one_saved_tensor_accepts_one_pair_of_hooks():
    y = leaf(2.0) * leaf(3.0)
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match=r"^Calling register_hooks on a saved tensor whose hooks have already been set"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_no_hooks_on_none_or_freed():
    y = leaf(2.0) * ut.tensor([3.0])
    with pytest.raises(RuntimeError, match=r"^Calling register_hooks on a saved tensor with value None is forbidden"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    saved = y.grad_fn._raw_saved_other
    y.sum().backward()
    with pytest.raises(RuntimeError, match=r"^Calling register_hooks on a saved tensor after it has been freed"):
        saved.register_hooks(lambda t: t, lambda t: t)


def test_what_pack_returned_is_freed_with_the_graph():
    class Box:
        def __init__(self, t):
            self.t = t

    boxes = []

    def pack(t):
        box = Box(t.detach())
        boxes.append(weakref.ref(box))
        return box

    x = leaf(2.0)
    with saved_tensors_hooks(pack, lambda b: b.t):
        y = x.exp()
    assert boxes[0]() is not None
    y.sum().backward()
    gc.collect()
    assert boxes[0]() is None


def test_saving_on_the_cpu_gives_the_same_gradient():
    x = leaf(2.0)
    with ut.autograd.graph.save_on_cpu():
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [4.0]


def test_mutation_of_saved_tensors_can_be_allowed():
    x = leaf(2.0)
    with ut.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * y
        y.mul_(5)
        z.sum().backward()
    assert x.grad.tolist() == [4.0]


def test_the_version_stays_with_a_tensor_whose_data_is_replaced():
    x = ut.ones(2)
    x.add_(1)
    x.add_(1)
    x.data = ut.zeros(3)
    assert x._version == 2
    x.add_(1)
    assert x._version == 3 and x.tolist() == [1.0, 1.0, 1.0]
    fresh = ut.ones(2)
    fresh.data = x
    assert (fresh._version, x._version) == (0, 3)


def test_a_raw_saved_tensor_shows_what_is_stored():
    def unpack(packed):
        return packed[0]

    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: [t], unpack):
        hooked = (x * x).grad_fn._raw_saved_self
    assert hooked.data == [x]
    assert hooked.unpack_hook is unpack
    y = x.exp()
    z = y * 3.0 * y
    assert z.grad_fn._raw_saved_other.data is y
    assert z.grad_fn._raw_saved_other.unpack_hook is None
    assert y.grad_fn._raw_saved_result.data is not y  # an output is stored without its history
    assert y.grad_fn._raw_saved_result.data.grad_fn is None
    z.backward()
    with pytest.raises(RuntimeError, match="freed"):
        z.grad_fn._raw_saved_other.data  # noqa: B018


def test_hooks_of_a_raw_saved_tensor_must_be_two_functions():
    saved = (leaf(2.0) * leaf(3.0)).grad_fn._raw_saved_self
    for wrong in [(lambda t: t,), (1, 1), (lambda t: t, lambda t: t, None)]:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            saved.register_hooks(*wrong)


def test_saved_tensors_are_not_created_from_python():
    with pytest.raises(RuntimeError, match="forbidden"):
        type((leaf(2.0) * leaf(3.0)).grad_fn._raw_saved_self)()
