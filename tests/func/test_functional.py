"""autograd.functional: products, Jacobians and Hessians, create_graph, strict. Also runs on torch."""

from __future__ import annotations

import pytest

import undertow as ut
import undertow.autograd.functional as AF

D = ut.float64


def close(a, b) -> bool:
    return a.shape == b.shape and bool(ut.isclose(a, b, rtol=1e-9, atol=1e-11).all())


def x3():
    return ut.tensor([0.3, -0.7, 1.1], dtype=D)


def cubes(x):
    return (x**3).sum()


def test_vjp_multiplies_from_the_left():
    out, g = AF.vjp(lambda a, b: a * b, (x3(), x3() + 1), x3())
    assert close(out, x3() * (x3() + 1)) and close(g[0], x3() * (x3() + 1)) and close(g[1], x3() ** 2)


def test_jvp_multiplies_from_the_right():
    out, t = AF.jvp(lambda a: (a**2, a.sum()), x3(), x3())
    assert close(out[0], x3() ** 2) and close(t[0], 2 * x3() ** 2) and close(t[1], x3().sum())


def test_products_with_the_hessian():
    for product in (AF.vhp, AF.hvp):
        out, h = product(cubes, x3(), x3())
        assert close(out, cubes(x3())) and close(h, 6 * x3() ** 2)


def test_a_vector_may_be_left_out_where_there_is_one_element():
    assert close(AF.vjp(cubes, x3())[1], 3 * x3() ** 2)
    assert close(AF.jvp(lambda a: a**2, x3()[:1])[1], 2 * x3()[:1])
    assert close(AF.vhp(cubes, x3()[:1])[1], 6 * x3()[:1])


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobians_are_nested_by_outputs_and_then_by_inputs(options):
    got = AF.jacobian(lambda a, b: (a * b, a.sum()), (x3(), x3() + 1), **options)
    assert close(got[0][0], ut.diag(x3() + 1)) and close(got[0][1], ut.diag(x3()))
    assert close(got[1][0], ut.ones(3, dtype=D)) and close(got[1][1], ut.zeros(3, dtype=D))


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}])
def test_hessians_are_nested_by_inputs_twice(options):
    got = AF.hessian(lambda a, b: (a * a * b).sum(), (x3(), x3() + 1), **options)
    assert close(got[0][0], ut.diag(2 * (x3() + 1))) and close(got[0][1], ut.diag(2 * x3()))
    assert close(got[1][0], ut.diag(2 * x3())) and close(got[1][1], ut.zeros(3, 3, dtype=D))
    assert close(AF.hessian(cubes, x3(), **options), ut.diag(6 * x3()))


def test_outputs_of_several_dtypes_are_vectorized():
    a, b = AF.jacobian(lambda x: (x.sum(), x.float()), x3(), vectorize=True)
    assert close(a, ut.ones(3, dtype=D)) and close(b.to(D), ut.eye(3, dtype=D))


def test_an_independent_output_counts_as_zero():
    one = lambda x: ut.ones(3, dtype=D)  # noqa: E731
    assert close(AF.vjp(one, x3(), x3())[1], ut.zeros(3, dtype=D))
    assert close(AF.jvp(one, x3(), x3())[1], ut.zeros(3, dtype=D))
    for vectorize in (False, True):
        assert close(AF.jacobian(one, x3(), vectorize=vectorize), ut.zeros(3, 3, dtype=D))
    assert close(AF.hessian(lambda x: x.sum(), x3()), ut.zeros(3, 3, dtype=D))
    assert close(AF.hvp(lambda x: x.sum(), x3(), x3())[1], ut.zeros(3, dtype=D))


def test_results_have_no_graph_unless_create_graph_is_set():
    x = x3().requires_grad_()
    for f in (AF.vjp, AF.jvp, AF.vhp, AF.hvp):
        out = f(cubes, x, ut.ones((), dtype=D) if f is AF.vjp else x3())
        assert not out[0].requires_grad and not out[1].requires_grad
        out = f(cubes, x, ut.ones((), dtype=D) if f is AF.vjp else x3(), create_graph=True)
        assert out[0].requires_grad and out[1].requires_grad
    for vectorize in (False, True):
        assert not AF.jacobian(cubes, x, vectorize=vectorize).requires_grad
        again = AF.jacobian(cubes, x, vectorize=vectorize, create_graph=True)
        assert close(ut.autograd.grad(again.sum(), x)[0], 6 * x.detach())
        again = AF.hessian(cubes, x, vectorize=vectorize, create_graph=True)
        assert close(ut.autograd.grad(again.sum(), x)[0], ut.full((3,), 6.0, dtype=D))


def test_jacobians_nest():
    got = AF.jacobian(lambda a: AF.jacobian(lambda b: b**3, a, create_graph=True).sum(), x3())
    assert close(got, 6 * x3())


ONE = lambda a: ut.ones(3, dtype=D)  # noqa: E731
ERROR_CASES = {
    "inputs in a list": (lambda x: AF.vjp(lambda a: a, [x]), TypeError, "The inputs given to vjp must be either a Tensor or a tuple of Tensors"),
    "an output that is no tensor": (lambda x: AF.vjp(lambda a: 1, x, x), TypeError, "The outputs of the user-provided function given to vjp must be either a Tensor"),
    "an output in a tuple that is no tensor": (lambda x: AF.jacobian(lambda a: (a, 1), x), TypeError, "but the value at index 1 has type <class 'int'>"),
    "no vector": (lambda x: AF.vjp(lambda a: a, x), RuntimeError, "The vector v can only be None if the user-provided function returns a single Tensor with a single element"),
    "no vector for jvp": (lambda x: AF.jvp(lambda a: a, x), RuntimeError, "The vector v can only be None if the input to the user-provided function is a single Tensor"),
    "a vector of another shape": (lambda x: AF.vjp(lambda a: a, x, x[:2]), RuntimeError, "v has invalid size: should be"),
    "too many vectors": (lambda x: AF.vjp(lambda a: a, x, (x, x)), RuntimeError, "The given v should contain a single Tensor"),
    "too few vectors": (lambda x: AF.jvp(lambda a, b: a, (x, x), x), RuntimeError, "v is a tuple of invalid length: should be 2 but got 1"),
    "hessian of many": (lambda x: AF.hessian(lambda a: a, x), RuntimeError, "The Tensor returned by the function given to hessian should contain a single element"),
    "hessian of a tuple": (lambda x: AF.hessian(lambda a: (a.sum(), a.sum()), x), RuntimeError, "The function given to hessian should return a single Tensor"),
    "vhp of many": (lambda x: AF.vhp(lambda a: a, x, x), RuntimeError, "The Tensor returned by the function given to vhp should contain a single element"),
    "strict: an output of its own": (lambda x: AF.vjp(ONE, x, x, strict=True), RuntimeError, "Output 0 of the user-provided function does not require gradients"),
    "strict jacobian: an output of its own": (lambda x: AF.jacobian(ONE, x, strict=True), RuntimeError, "Output 0 of the user-provided function does not require gradients"),
    "strict: an input without part": (lambda x: AF.vjp(lambda a, b: a * 1, (x, x), x, strict=True), RuntimeError, "The output of the user-provided function is independent of input 1"),
    "strict jacobian: an input without part": (lambda x: AF.jacobian(lambda a, b: a * 2, (x, x), strict=True), RuntimeError, "Output 0 of the user-provided function is independent of input 1"),
    "strict: a constant jacobian": (lambda x: AF.jacobian(lambda a: a * 2, x, strict=True, create_graph=True), RuntimeError, "The jacobian of the user-provided function is independent of input 0"),
    "strict: a constant gradient": (lambda x: AF.hessian(lambda a: a.sum(), x, strict=True), RuntimeError, "While computing the hessian, found that the jacobian of the user-provided function"),
    "strict hvp: a constant gradient": (lambda x: AF.hvp(lambda a: a.sum(), x, x, strict=True), RuntimeError, "While computing the hessian, found that the jacobian"),
    "strict with vectorize": (lambda x: AF.jacobian(lambda a: a, x, strict=True, vectorize=True), RuntimeError, "not supported together"),
    "forward mode without vectorize": (lambda x: AF.jacobian(lambda a: a, x, strategy="forward-mode"), NotImplementedError, "Computing Jacobian using forward-AD"),
    "forward mode with create_graph": (lambda x: AF.jacobian(lambda a: a, x, strategy="forward-mode", vectorize=True, create_graph=True), NotImplementedError, "are not supported together"),
    "an unknown strategy": (lambda x: AF.jacobian(lambda a: a, x, strategy="backward"), AssertionError, 'Expected strategy to be either "forward-mode" or "reverse-mode"'),
}


@pytest.mark.parametrize("name", ERROR_CASES)
def test_functional_raises(name):
    f, kind, text = ERROR_CASES[name]
    with pytest.raises(kind) as error:
        f(x3())
    assert text in str(error.value)
