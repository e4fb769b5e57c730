"""Indices, masks and values with meta tensors: what is allowed, and what raises because its shape depends on elements."""

from __future__ import annotations

import pytest

import undertow as ut


def on_meta(*shape: int) -> ut.Tensor:
    return ut.empty(*shape, device="meta")


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_index_tensors_may_be_on_the_cpu_or_on_meta(device: str):
    rows = ut.zeros(4, 1, dtype=ut.int64, device=device)
    columns = ut.zeros(6, dtype=ut.int64, device=device)
    x = on_meta(3, 5, 7)
    assert x[rows].shape == (4, 1, 5, 7)
    assert x[rows, columns].shape == (4, 6, 7)
    assert x[rows, :, columns].shape == (4, 6, 5)
    assert x[rows, :, columns].device.type == "meta"


def test_lists_slices_and_bools_index_a_meta_tensor():
    x = on_meta(3, 5)
    assert x[[0, 2, 1, 1]].shape == (4, 5)
    assert x[1:, ::2].shape == (2, 3)
    assert x[True].shape == (1, 3, 5)
    assert x[False].shape == (0, 3, 5)


def test_a_mask_on_the_cpu_gives_the_shape_and_one_on_meta_raises():
    x = on_meta(3, 5)
    assert x[ut.tensor([True, False, True])].shape == (2, 5)
    assert x[ut.ones(3, 5, dtype=ut.bool)].shape == (15,)
    with pytest.raises(NotImplementedError, match="nonzero"):
        x[ut.ones(3, dtype=ut.bool, device="meta")]
    with pytest.raises(NotImplementedError, match="masked_select"):
        x[ut.ones(3, 5, dtype=ut.bool, device="meta")]


def test_a_cpu_tensor_raises_for_indices_on_meta():
    for index in (ut.zeros(2, dtype=ut.int64, device="meta"), ut.ones(3, dtype=ut.bool, device="meta")):
        with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
            ut.ones(3)[index]
        with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
            ut.ones(3)[index] = 1.0


def test_assignments_to_a_meta_tensor_keep_its_geometry():
    x = on_meta(3, 5)
    x[0] = 1.0
    x[ut.tensor([0, 2])] = ut.tensor(2.0)
    x[ut.ones(3, 5, dtype=ut.bool, device="meta")] = 0.0
    x[ut.ones(3, dtype=ut.bool, device="meta")] = on_meta(2, 5)
    x[:, [0, 1]] = [[1.0, 2.0]]
    assert x.shape == (3, 5) and x.device.type == "meta"
    with pytest.raises(RuntimeError, match="same device"):
        x[ut.tensor([0, 2])] = ut.ones(2, 5)


def test_gradients_flow_through_meta_indexing():
    x = on_meta(3, 5).requires_grad_()
    y = x[ut.tensor([0, 0, 2, 1])]
    y.backward(ut.ones_like(y))
    assert x.grad.shape == (3, 5) and x.grad.device.type == "meta"


def test_a_known_number_of_results_needs_no_elements():
    labels = ut.empty(4, dtype=ut.int64, device="meta")
    assert ut.nn.functional.one_hot(labels, 7).shape == (4, 7)
    assert ut.repeat_interleave(labels, output_size=9).shape == (9,)
    assert on_meta(4, 2).repeat_interleave(labels, 0, output_size=9).shape == (9, 2)
    with pytest.raises(NotImplementedError, match="one_hot"):
        ut.nn.functional.one_hot(labels)
    assert [t.shape for t in on_meta(6, 2).tensor_split(ut.tensor([1, 4]))] == [(1, 2), (3, 2), (2, 2)]
