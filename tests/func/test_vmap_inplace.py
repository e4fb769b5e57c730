"""In-place writes under vmap: to samples, through views of them, and writes that raise. Also runs on torch."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import vmap


def test_a_write_to_a_sample_is_a_write_to_the_input():
    x = ut.zeros(3, 2)
    vmap(lambda a, b: a.add_(b))(x, ut.tensor([1.0, 2.0, 3.0]))
    assert x.tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_a_write_through_a_view_reaches_the_input():
    x = ut.ones(2, 3)
    vmap(lambda a: a[1:].mul_(5))(x)
    assert x.tolist() == [[1.0, 5.0, 5.0]] * 2


@pytest.mark.parametrize("dim", [0, 1])
def test_assignment_to_an_item_writes_each_samples_own(dim):
    x = ut.zeros(2, 2)

    def f(a, v):
        a[0] = v
        return a

    got = vmap(f, in_dims=(dim, 0))(x, ut.tensor([1.0, 2.0]))
    assert got.tolist() == [[1.0, 0.0], [2.0, 0.0]]


def test_a_view_in_place_changes_the_samples_shape():
    got = vmap(lambda a: a.clone().transpose_(0, 1).unsqueeze_(0))(ut.ones(2, 3, 4))
    assert got.shape == (2, 1, 4, 3)


def test_unbatched_tensors_may_be_written_with_unbatched_values():
    x = ut.zeros(2)
    vmap(lambda a: x.add_(1) + a)(ut.ones(3, 2))
    assert x.tolist() == [1.0, 1.0]


WRITES = {
    "mul_": lambda a, b: a.mul_(b),
    "copy_": lambda a, b: a.copy_(b),
    "masked_fill_": lambda a, b: a.masked_fill_(b > 0, 1.0),
    "index_put_": lambda a, b: a.index_put_((ut.tensor([0]),), b[:1]),
    "fill_": lambda a, b: a.fill_(b.sum()),
}


@pytest.mark.parametrize("name", WRITES)
def test_samples_cannot_be_written_to_one_place(name):
    with pytest.raises(RuntimeError, match="is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`"):
        vmap(WRITES[name], in_dims=(None, 0))(ut.zeros(2), ut.ones(3, 2))


def test_an_inner_map_cannot_write_to_an_outer_ones_sample():
    with pytest.raises(RuntimeError, match="is not possible because there exists a Tensor `other`"):
        vmap(lambda a, b: vmap(lambda c: a.mul_(c))(b))(ut.ones(3), ut.ones(3, 2))


def test_gradients_follow_writes_through_views():
    x = ut.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)

    def f(a):
        b = a * 1
        b[0].mul_(a[1])
        return b.sum()

    vmap(f)(x).sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [4.0, 4.0]]


def test_a_batch_of_gradients_passes_through_writes():
    x = ut.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y[1:].mul_(x[:2])
    (rows,) = ut.autograd.grad(y, x, ut.eye(3), is_grads_batched=True)
    assert rows.tolist() == [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
