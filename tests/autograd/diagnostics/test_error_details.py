"""What our own errors add to torch's: which call freed a graph, which operation changed a saved tensor; and the memory that packed tensors hold."""

import pytest

import undertow as ut


def test_a_second_backward_names_the_node_the_call_that_freed_it_and_the_path_to_it():
    x = ut.ones(3, requires_grad=True)
    z = (x.exp() * x).sum()
    z.backward()
    freed_at = f"{__file__}:{__import__('inspect').currentframe().f_lineno - 1}"
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time") as caught:
        z.backward()
    text = str(caught.value)
    assert "The freed node is MulBackward0" in text and freed_at in text and "SumBackward0 -> MulBackward0" in text


def test_a_changed_saved_tensor_names_the_operation_that_changed_it():
    x = ut.ones(3, requires_grad=True)
    y = x.exp()
    z = y.sin()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="saved by SinBackward0, last changed by mul_"):
        z.sum().backward()


def test_a_changed_saved_tensor_names_the_lines_when_they_are_recorded():
    x = ut.ones(3, requires_grad=True)
    with ut.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="Error detected in SinBackward0"):
        y = x.exp()
        z = y.sin()
        y.mul_(2)
        with pytest.raises(RuntimeError, match=r"SinBackward0, recorded at .*test_error_details.py:\d+, last changed by mul_ at .*test_error_details.py:\d+"):
            z.sum().backward()


def test_packing_hooks_release_the_original_memory():
    x = ut.rand(100_000, requires_grad=True)
    with ut.autograd.graph.saved_tensors_hooks(lambda t: t.shape, ut.ones):
        before = ut._C._memory_stats()["in_use"]
        y = x.sin().sin().sin()
        assert ut._C._memory_stats()["in_use"] - before < 2 * x.untyped_storage().nbytes()
    y.sum().backward()
