"""Derivatives of derivatives: create_graph, higher orders, and gradients of gradients through accumulation."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import autograd


def test_the_nth_derivative_of_a_power():
    x = ut.tensor(2.0, dtype=ut.float64, requires_grad=True)
    y = x * x * x * x
    wanted = [32.0, 48.0, 48.0, 24.0]
    for value in wanted:
        (y,) = autograd.grad(y, x, create_graph=True)
        assert y.item() == value


def test_the_exponential_is_its_own_derivative_ten_times():
    x = ut.tensor(0.0, dtype=ut.float64, requires_grad=True)
    y = x.exp()
    for _ in range(10):
        (y,) = autograd.grad(y, x, create_graph=True)
        assert y.item() == 1.0


def test_create_graph_implies_retain_graph():
    x = ut.tensor(3.0, requires_grad=True)
    y = x * x
    autograd.grad(y, x, create_graph=True)
    assert autograd.grad(y, x)[0].item() == 6.0


def test_create_graph_with_retain_graph_false_frees_the_graph():
    x = ut.tensor(3.0, requires_grad=True)
    y = x.exp()
    (g,) = autograd.grad(y, x, create_graph=True, retain_graph=False)
    assert g.requires_grad
    with pytest.raises(RuntimeError, match="second time"):
        autograd.grad(y, x)


def test_without_create_graph_the_gradient_is_a_constant():
    x = ut.tensor(3.0, requires_grad=True)
    (g,) = autograd.grad(x * x, x)
    assert g.grad_fn is None
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        autograd.grad(g, x)


def test_a_gradient_that_does_not_depend_on_the_input_has_no_history():
    x = ut.tensor(3.0, requires_grad=True)
    (g,) = autograd.grad(x * 2, x, create_graph=True)
    assert not g.requires_grad


def test_the_gradient_with_respect_to_the_weights_of_the_outputs():
    x = ut.tensor([1.0, 2.0], requires_grad=True)
    v = ut.tensor([3.0, 4.0], requires_grad=True)
    (g,) = autograd.grad(x * x, x, v, create_graph=True)
    assert autograd.grad(g.sum(), v)[0].tolist() == [2.0, 4.0]


def test_mixed_second_derivatives_agree():
    x = ut.tensor(1.5, dtype=ut.float64, requires_grad=True)
    y = ut.tensor(0.5, dtype=ut.float64, requires_grad=True)
    z = (x * y).exp() * x
    gx, gy = autograd.grad(z, [x, y], create_graph=True)
    (xy,) = autograd.grad(gx, y, retain_graph=True)
    (yx,) = autograd.grad(gy, x)
    assert abs(xy.item() - yx.item()) < 1e-12


def test_a_hessian_vector_product():
    x = ut.tensor([1.0, 2.0, 3.0], dtype=ut.float64, requires_grad=True)
    (g,) = autograd.grad((x * x * x).sum(), x, create_graph=True)
    (hv,) = autograd.grad(g, x, ut.tensor([1.0, 10.0, 100.0], dtype=ut.float64))
    assert hv.tolist() == [6.0, 120.0, 1800.0]


def test_backward_with_create_graph_makes_grad_differentiable():
    x = ut.tensor(3.0, requires_grad=True)
    (x * x * x).backward(create_graph=True, inputs=x)
    first = x.grad
    x.grad = None
    first.backward()
    assert x.grad.item() == 18.0


def test_double_backward_through_an_in_place_operation():
    x = ut.tensor([2.0, 3.0], dtype=ut.float64, requires_grad=True)
    y = x * x
    y.mul_(x)
    (g,) = autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [12.0, 27.0]
    assert autograd.grad(g.sum(), x)[0].tolist() == [12.0, 18.0]


def test_double_backward_through_a_view_written_in_place():
    x = ut.tensor([2.0, 3.0], dtype=ut.float64, requires_grad=True)
    y = x * x
    y[0].mul_(x[1])
    (g,) = autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [12.0, 10.0]
    assert autograd.grad(g.sum(), x)[0].tolist() == [10.0, 6.0]


def test_double_backward_through_broadcasting():
    x = ut.tensor([1.0, 2.0, 3.0], dtype=ut.float64, requires_grad=True)
    s = ut.tensor(2.0, dtype=ut.float64, requires_grad=True)
    (gs,) = autograd.grad((x * x * s * s).sum(), s, create_graph=True)
    assert gs.shape == ()
    assert gs.item() == 56.0
    gx, gss = autograd.grad(gs, [x, s])
    assert gx.tolist() == [8.0, 16.0, 24.0]
    assert gss.item() == 28.0


def test_double_backward_of_a_complex_function():
    z = ut.tensor(1.0 + 2.0j, dtype=ut.complex128, requires_grad=True)
    one = ut.ones((), dtype=ut.complex128)
    (g,) = autograd.grad(z * z * z, z, one, create_graph=True)
    assert abs(g.item() - complex(3 * (1 + 2j) ** 2).conjugate()) < 1e-12
    (gg,) = autograd.grad(g, z, one)
    # The gradient is a function of conj(z), so this is the derivative by conj(z) and stays conjugated.
    assert abs(gg.item() - 6 * (1 - 2j)) < 1e-12


def test_a_gradient_penalty_trains():
    w = ut.tensor([1.0, -2.0], dtype=ut.float64, requires_grad=True)
    x = ut.tensor([0.5, 0.25], dtype=ut.float64, requires_grad=True)
    (g,) = autograd.grad((w * x * x).sum(), x, create_graph=True)
    (g * g).sum().backward()
    assert w.grad.tolist() == [2.0 * 1.0 * 4 * 0.25, 2.0 * -2.0 * 4 * 0.0625]


def test_second_order_graphs_are_freed_like_first_order_ones():
    x = ut.tensor(3.0, requires_grad=True)
    (g,) = autograd.grad(x * x * x, x, create_graph=True)
    g.backward()
    with pytest.raises(RuntimeError, match="second time"):
        g.backward()


def test_second_derivative_of_as_strided_takes_a_gradient_that_is_a_view():
    x = ut.arange(4.0, dtype=ut.float64).requires_grad_()
    v = ut.ones(2, 2, dtype=ut.float64).requires_grad_()
    (grad,) = ut.autograd.grad(x.as_strided((2, 2), (1, 1)), x, v, create_graph=True)
    rows = ut.arange(8.0, dtype=ut.float64).reshape(2, 4)
    (again,) = ut.autograd.grad(grad, v, rows[1])  # its memory begins inside that of rows
    assert again.tolist() == [[4.0, 5.0], [5.0, 6.0]]


def test_gradient_of_complex_silu_is_conjugated():
    x = ut.tensor([0.5 + 1.0j], dtype=ut.complex128, requires_grad=True)
    (grad,) = ut.autograd.grad(ut.nn.functional.silu(x), x, ut.ones(1, dtype=ut.complex128))
    s = x.detach().sigmoid()
    ut.testing.assert_close(grad, (s * (1 + x.detach() * (1 - s))).conj().resolve_conj())


@pytest.mark.filterwarnings("ignore:index_reduce.. is in beta")
@pytest.mark.parametrize(("name", "source"), [("scatter_reduce", "src"), ("index_reduce", "source")])
def test_a_product_over_several_zeros_has_no_second_derivative(name: str, source: str):
    """The first is right, zero; the second raises as in torch, because the formula would give a wrong zero."""
    x = ut.ones(1, dtype=ut.float64)
    for zeros, raises in ((1, False), (2, True)):
        s = ut.cat([ut.zeros(zeros), ut.full((1,), 3.0)]).to(ut.float64).requires_grad_()
        out = getattr(ut, name)(x, 0, ut.zeros(zeros + 1, dtype=ut.int64), s, "prod")
        (g,) = ut.autograd.grad(out.sum(), s, create_graph=True)
        assert g.tolist() == ([3, 0] if zeros == 1 else [0, 0, 0])
        if not raises:
            ut.autograd.grad(g.sum(), s)
            continue
        with pytest.raises(RuntimeError, match=rf"{name}\(\): Double backward is unsupported for {source} when >1 zeros in {source} are scattered"):
            ut.autograd.grad(g.sum(), s)


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
def test_an_infinite_gradient_of_a_full_reduction_stays_at_its_element(name: str):
    x = ut.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = getattr(x, name)()
    (g,) = autograd.grad(y, x, ut.tensor(float("inf")))
    at = x.detach() == y.detach()
    assert ut.equal(g, ut.where(at, ut.tensor(float("inf")), ut.tensor(0.0)))
