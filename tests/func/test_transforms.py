"""grad, vjp, jvp and their nesting: their results, what they leave unchanged, and their errors. Also runs on torch."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

D = ut.float64


def close(a, b) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool(ut.isclose(a, b, rtol=1e-9, atol=1e-11).all())


def x3():
    return ut.tensor([0.3, -0.7, 1.1], dtype=D)


def test_grad_is_the_derivative_of_a_scalar_function():
    assert close(grad(lambda x: (x**3).sum())(x3()), 3 * x3() ** 2)


def test_grad_nests_in_itself():
    f = ut.sin
    for derivative in (ut.cos, lambda x: -ut.sin(x), lambda x: -ut.cos(x)):
        f = grad(f)
        assert close(f(ut.tensor(0.4, dtype=D)), derivative(ut.tensor(0.4, dtype=D)))


def test_argnums_chooses_the_arguments():
    f = lambda a, b: (a * a * b).sum()
    a, b = x3(), x3() + 1
    assert close(grad(f, argnums=1)(a, b), a * a) and close(grad(f, argnums=-1)(a, b), a * a)
    ga, gb = grad(f, argnums=(0, 1))(a, b)
    assert close(ga, 2 * a * b) and close(gb, a * a)


def test_gradients_are_nested_like_the_arguments():
    got = grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x3(), "b": [x3() + 1]})
    assert close(got["a"], x3() + 1) and close(got["b"][0], x3())


def test_an_unused_argument_has_a_zero_gradient():
    assert close(grad(lambda a, b: a.sum(), argnums=1)(x3(), x3()), ut.zeros(3, dtype=D))
    assert close(grad(lambda a: ut.ones((), dtype=D))(x3()), ut.zeros(3, dtype=D))


def test_keyword_arguments_are_passed_on():
    assert close(grad(lambda a, scale: a.sum() * scale)(x3(), scale=3.0), ut.full((3,), 3.0, dtype=D))


def test_aux_is_returned_with_the_gradient():
    g, aux = grad(lambda a: (a.sum(), {"twice": a * 2}), has_aux=True)(x3())
    assert close(g, ut.ones(3, dtype=D)) and close(aux["twice"], x3() * 2) and not aux["twice"].requires_grad
    g, (value, aux) = grad_and_value(lambda a: (a.sum(), a), has_aux=True)(x3())
    assert close(value, x3().sum()) and close(aux, x3())


def test_a_complex_argument_has_a_complex_gradient():
    z = ut.tensor([1 + 2j, 3 - 1j])
    assert bool((grad(lambda a: (a * a.conj()).real.sum())(z) == 2 * z).all())


def test_nothing_outside_of_a_transform_requires_grad_because_of_it():
    x = x3()
    g, value = grad_and_value(lambda a: (a * a).sum())(x)
    out, pull = vjp(ut.sin, x)
    assert not any(t.requires_grad for t in (x, g, value, out, *pull(x)))
    assert x.grad is None


def test_a_transform_is_differentiable_with_respect_to_outer_tensors():
    x, w = x3().requires_grad_(), (x3() + 1).requires_grad_()
    g = grad(lambda a: (a * a * w).sum())(x)
    gx, gw = ut.autograd.grad(g.sum(), (x, w))
    assert close(gx, 2 * w.detach()) and close(gw, 2 * x.detach())


def test_only_what_depends_on_an_outer_tensor_keeps_its_history():
    w = x3().requires_grad_()
    _, (own, outer, mixed) = grad(lambda a: ((a * w).sum(), (a * 2, w * 2, a * w)), has_aux=True)(x3())
    assert [t.requires_grad for t in (own, outer, mixed)] == [False, True, True]


def test_no_grad_outside_cuts_the_result_but_not_the_derivative():
    x = x3().requires_grad_()
    with ut.no_grad():
        g = grad(lambda a: (a * a).sum())(x)
    assert close(g, 2 * x.detach()) and not g.requires_grad


def test_no_grad_inside_makes_a_constant():
    def f(a):
        with ut.no_grad():
            c = a * a
        return (a - c).sum()

    assert close(grad(f)(x3()), ut.ones(3, dtype=D))


def test_autograd_grad_works_inside():
    f = lambda a: ut.autograd.grad((a**3).sum(), a, create_graph=True)[0].sum()
    assert close(grad(f)(x3()), 6 * x3())


def test_inside_a_transform_the_input_requires_grad():
    seen = []
    grad(lambda a: seen.append((a.requires_grad, a.is_leaf)) or a.sum())(x3())
    vmap(grad(lambda a: seen.append(a.requires_grad) or a.sin()))(x3())
    assert seen == [(True, True), True]


# ---- vjp, jvp, linearize ----


def test_a_vjp_function_can_be_called_several_times():
    out, pull = vjp(lambda a, b: (a * b, a.sum()), x3(), x3() + 1)
    assert close(out[0], x3() * (x3() + 1)) and close(out[1], x3().sum())
    for v in (ut.ones(3, dtype=D), x3()):
        ga, gb = pull((v, ut.tensor(2.0, dtype=D)))
        assert close(ga, v * (x3() + 1) + 2) and close(gb, v * x3())


def test_vjp_has_aux():
    out, pull, aux = vjp(lambda a: (a.sin(), a * 2), x3(), has_aux=True)
    assert close(aux, x3() * 2) and close(pull(ut.ones(3, dtype=D))[0], x3().cos())


def test_jvp_pushes_tangents_forward():
    out, moved = jvp(lambda a, b: a * b, (x3(), x3() + 1), (ut.ones(3, dtype=D), x3()))
    assert close(out, x3() * (x3() + 1)) and close(moved, x3() + 1 + x3() * x3())


def test_jvp_of_a_constant_is_zero_and_strict_raises():
    assert close(jvp(lambda a: ut.ones(3, dtype=D), (x3(),), (x3(),))[1], ut.zeros(3, dtype=D))
    with pytest.raises(RuntimeError, match="The output of f is independent of the inputs"):
        jvp(lambda a: ut.ones(3, dtype=D), (x3(),), (x3(),), strict=True)


def test_jvp_nests_in_itself():
    one = ut.ones(3, dtype=D)
    first = lambda f: lambda a: jvp(f, (a,), (one,))[1]
    assert close(first(first(ut.sin))(x3()), -x3().sin())
    assert close(first(first(first(ut.sin)))(x3()), -x3().cos())


def test_linearize_pushes_tangents_without_running_the_function_again():
    runs = []
    out, push = linearize(lambda a, b: runs.append(1) or a.sin() * b, x3(), x3() + 1)
    before = len(runs)
    assert close(out, x3().sin() * (x3() + 1))
    for t in (ut.ones(3, dtype=D), x3()):
        assert close(push(t, t), x3().cos() * (x3() + 1) * t + x3().sin() * t)
    assert len(runs) == before


# ---- Jacobians ----

FUNCTIONS = {
    "elementwise": lambda x: x.sin() * x,
    "mixing": lambda x: x * x.sum(),
    "matrix": lambda x: ut.outer(x, x).exp(),
    "scalar": lambda x: (x**3).sum(),
    "softmax": lambda x: x.softmax(0).log(),
    "indexing": lambda x: x[ut.tensor([0, 0, 2])] * x,
    "views": lambda x: ut.cat([x.flip(0), x[1:]]).unsqueeze(1).expand(5, 2) * x[0],
    "writes": lambda x: _written(x),
    "saved results": lambda x: x.tanh().sigmoid().exp(),
    "products": lambda x: (ut.outer(x, x) @ x).cumsum(0),
    "norm": lambda x: x / x.norm(),
}


def _written(x):
    y = x * 1
    y[1:].mul_(x[:2])
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_methods_give_the_same_jacobian(name):
    f, x = FUNCTIONS[name], x3()
    wanted = ut.autograd.functional.jacobian(f, x)
    assert close(jacrev(f)(x), wanted)
    assert close(jacfwd(f)(x), wanted)
    assert close(jacrev(f, chunk_size=2)(x), wanted)
    assert close(jacrev(f, chunk_size=2, _preallocate_and_copy=True)(x), wanted)
    assert close(ut.autograd.functional.jacobian(f, x, vectorize=True), wanted)
    assert close(ut.autograd.functional.jacobian(f, x, vectorize=True, strategy="forward-mode"), wanted)
    columns = [jvp(f, (x,), (e,))[1] for e in ut.eye(3, dtype=D)]
    assert close(ut.stack(columns, -1), wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_methods_give_the_same_hessian(name):
    f = lambda x: FUNCTIONS[name](x).sum()
    x = x3()
    wanted = ut.autograd.functional.hessian(f, x)
    for way in (hessian(f), jacrev(jacrev(f)), jacfwd(jacfwd(f)), jacrev(jacfwd(f)), jacfwd(grad(f)), jacrev(grad(f))):
        assert close(way(x), wanted)
    assert close(ut.autograd.functional.hessian(f, x, vectorize=True), wanted)


def test_a_jacobian_nests_as_output_and_then_as_arguments():
    f = lambda a, b: {"product": a * b, "sum": a.sum()}
    for transform in (jacrev, jacfwd):
        got = transform(f, argnums=(0, 1))(x3(), x3() + 1)
        assert close(got["product"][0], ut.diag(x3() + 1)) and close(got["product"][1], ut.diag(x3()))
        assert close(got["sum"][0], ut.ones(3, dtype=D)) and close(got["sum"][1], ut.zeros(3, dtype=D))


def test_jacobians_have_aux():
    for transform in (jacrev, jacfwd):
        got, aux = transform(lambda a: (a.sin(), a * 2), has_aux=True)(x3())
        assert close(got, ut.diag(x3().cos())) and close(aux, x3() * 2)


def test_a_jacobian_of_matrices_has_the_outputs_dimensions_first():
    x = ut.arange(6, dtype=D).reshape(2, 3)
    f = lambda a: a @ a.T
    assert jacrev(f)(x).shape == (2, 2, 2, 3)
    assert close(jacrev(f)(x), jacfwd(f)(x))


def test_jacfwd_accepts_the_randomness_of_vmap():
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        jacfwd(lambda a: a * ut.rand(3))(x3())
    got = jacfwd(lambda a: a * ut.rand(3), randomness="same")(x3())
    assert bool((got - ut.diag(got.diagonal()) == 0).all())


# ---- under vmap ----


def test_every_sample_has_its_own_gradient():
    x = ut.arange(6, dtype=D).reshape(3, 2)
    f = lambda a: (a**3).sum()
    assert close(vmap(grad(f))(x), 3 * x**2)


def test_gradients_by_a_shared_argument_are_still_each_samples_own():
    w, x = x3(), ut.arange(6, dtype=D).reshape(2, 3)
    f = lambda w, a: (w @ a).sin()
    got = vmap(grad(f), in_dims=(None, 0))(w, x)
    assert close(got, ut.stack([grad(f)(w, a) for a in x]))


def test_a_transform_inside_of_a_map_sees_the_maps_tensors():
    x = ut.arange(6, dtype=D).reshape(2, 3)
    got = vmap(lambda a: grad(lambda b: (a * b).sum() ** 2)(x3()))(x)
    wanted = ut.stack([grad(lambda b, a=a: (a * b).sum() ** 2)(x3()) for a in x])
    assert close(got, wanted)


@pytest.mark.parametrize("transform", [jacrev, jacfwd, hessian, lambda f: jacfwd(jacfwd(f)), lambda f: jacrev(jacrev(f))])
def test_jacobians_under_vmap_are_those_of_each_sample(transform):
    x = ut.arange(6, dtype=D).reshape(2, 3) * 0.3
    f = transform(lambda a: (a.sin() * a.sum()).exp().sum() if transform is not jacrev else a.sin() * a.sum())
    assert close(vmap(f)(x), ut.stack([f(a) for a in x]))


def test_maps_inside_of_transforms_are_differentiated():
    x = ut.arange(6, dtype=D).reshape(2, 3)
    f = lambda a: vmap(lambda r: r.sin().sum())(a).prod()
    wanted = grad(lambda a: a.sin().sum(1).prod())(x)
    assert close(grad(f)(x), wanted)
    assert close(jvp(f, (x,), (x,))[1], (wanted * x).sum())


def test_two_maps_around_a_gradient():
    x, y = x3(), ut.arange(2, dtype=D)
    f = lambda a, b: (a * b).sin()
    got = vmap(vmap(grad(f), (None, 0)), (0, None))(x, y)
    assert close(got, y * (x.unsqueeze(1) * y).cos())


def test_vmap_over_vjp_and_jvp():
    x = ut.arange(6, dtype=D).reshape(2, 3)
    got = vmap(lambda a, v: vjp(ut.sin, a)[1](v)[0])(x, x)
    assert close(got, x.cos() * x)
    got = vmap(lambda a, t: jvp(ut.sin, (a,), (t,))[1])(x, x)
    assert close(got, x.cos() * x)
    got = vmap(lambda t: jvp(lambda a: a * x, (x3(),), (t,))[1])(x)
    assert close(got, ut.stack([t * x for t in x]))


def test_a_tangent_may_be_each_samples_own_where_the_primal_is_shared_with_a_batched_tensor():
    x, t = ut.arange(6, dtype=D).reshape(2, 3), ut.ones(2, 3, dtype=D) * 2
    got = vmap(lambda a, u: jvp(lambda b: b * b * a, (x3(),), (u,))[1])(x, t)
    assert close(got, 2 * x3() * t * x)


def test_per_sample_gradients_of_a_network():
    ut.manual_seed(0)
    params = {"w1": ut.randn(4, 3, dtype=D), "b1": ut.randn(4, dtype=D), "w2": ut.randn(2, 4, dtype=D)}
    data, target = ut.randn(5, 3, dtype=D), ut.tensor([0, 1, 1, 0, 1])

    def loss(p, x, y):
        hidden = ut.nn.functional.linear(x, p["w1"], p["b1"]).tanh()
        return ut.nn.functional.cross_entropy(ut.nn.functional.linear(hidden, p["w2"]), y)

    got = vmap(grad(loss), in_dims=(None, 0, 0))(params, data, target)
    for name in params:
        rows = [grad(loss)(params, data[i], target[i])[name] for i in range(5)]
        assert close(got[name], ut.stack(rows))


# ---- errors ----

ERROR_CASES = {
    "an output with dimensions": (lambda x: grad(lambda a: a)(x), RuntimeError, "Expected f(*args) to return a scalar Tensor, got tensor with 1 dims"),
    "an output that is no tensor": (lambda x: grad(lambda a: 1.0)(x), RuntimeError, "Expected f(*args) to return a Tensor, got <class 'float'>"),
    "aux that is missing": (lambda x: grad(lambda a: a.sum(), has_aux=True)(x), RuntimeError, "output of function f should be a tuple: (output, aux) if has_aux is True"),
    "aux that is no tensor": (lambda x: grad(lambda a: (a.sum(), 1), has_aux=True)(x), RuntimeError, "Expected tensors, got unsupported type <class 'int'>"),
    "an argument that is not there": (lambda x: grad(lambda a: a.sum(), argnums=1)(x), RuntimeError, "Got argnum=1, but only 1 positional inputs"),
    "an argument twice": (lambda x: grad(lambda a, b: a.sum(), argnums=(0, -2))(x, x), RuntimeError, "argnums elements must be unique"),
    "no argument": (lambda x: grad(lambda a: a.sum(), argnums=())(x), RuntimeError, "argnums must be non-empty"),
    "argnums of a wrong type": (lambda x: grad(lambda a: a.sum(), argnums="0")(x), RuntimeError, "argnums must be int or Tuple[int, ...]"),
    "an argnum of a wrong type": (lambda x: grad(lambda a: a.sum(), argnums=(0.0,))(x), RuntimeError, "argnum must be int, got"),
    "a number as argument": (lambda x: grad(lambda a: x.sum() * a)(2.0), ValueError, "Thing passed to transform API must be Tensor, got <class 'float'>"),
    "integers": (lambda x: grad(lambda a: (a * 1.0).sum())(ut.tensor([1, 2])), RuntimeError, "only Tensors of floating point dtype can require gradients"),
    "a complex output": (lambda x: grad(lambda a: a.sum() * 1j)(x), RuntimeError, "grad can be implicitly created only for real scalar outputs but got"),
    "a write to the input": (lambda x: grad(lambda a: a.mul_(2).sum())(x), RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"),
    "requires_grad_ inside": (lambda x: grad(lambda a: a.clone().requires_grad_().sum())(x), RuntimeError, "You are attempting to call Tensor.requires_grad_()"),
    "backward inside": (lambda x: grad(lambda a: a.sum().backward())(x), RuntimeError, "backward() called inside a functorch transform"),
    "cotangents of another nesting": (lambda x: vjp(lambda a: (a, a), x)[1](x), RuntimeError, "Expected pytree structure of cotangents to be the same as pytree structure of outputs"),
    "cotangents of another shape": (lambda x: vjp(ut.sin, x)[1](ut.ones(2, dtype=D)), RuntimeError, "Mismatch in shape: grad_output[0] has a shape of"),
    "vjp of a number": (lambda x: vjp(lambda a: (a, 1), x), RuntimeError, "expected f(*primals) to return only tensors, got unsupported type <class 'int'>"),
    "primals that are no tuple": (lambda x: jvp(ut.sin, x, (x,)), RuntimeError, "Expected primals to be a tuple"),
    "no primals": (lambda x: jvp(lambda: x, (), ()), RuntimeError, "Expected primals to contain at least one Tensor"),
    "tangents of another nesting": (lambda x: jvp(ut.sin, (x,), (x, x)), RuntimeError, "Expected primals and tangents to have the same python structure"),
    "tangents of another shape": (lambda x: jvp(ut.sin, (x,), (x[:2],)), RuntimeError, "a forward gradient that has a different size than that of the original Tensor"),
    "integer primals": (lambda x: jvp(lambda a: a * 2, (ut.tensor([1]),), (ut.tensor([1]),)), ValueError, "Expected primal to be floating point or complex"),
    "chunks of nothing": (lambda x: jacrev(ut.sin, chunk_size=0)(x), ValueError, "`chunk_size` should be greater than 0"),
    "jacrev of a number": (lambda x: jacrev(lambda a: 1)(x), RuntimeError, "to return only tensors, got unsupported type <class 'int'>"),
    "tangents of linearize of another shape": (lambda x: linearize(ut.sin, x)[1](x[:2]), RuntimeError, "doesn't match the shape"),
    "tangents of linearize of another nesting": (lambda x: linearize(ut.sin, x)[1](x, x), RuntimeError, "to have the same argspec as the primals"),
}


@pytest.mark.parametrize("name", ERROR_CASES)
def test_transforms_raise(name):
    f, kind, text = ERROR_CASES[name]
    with pytest.raises(kind) as error:
        f(x3())
    assert text in str(error.value)


def test_a_function_that_returns_its_argument_has_the_identity_for_jacobian():
    x = ut.tensor([1.0, 2.0])
    for jacobian in (ut.func.jacrev, ut.func.jacfwd):
        assert jacobian(lambda t: t)(x).tolist() == [[1.0, 0.0], [0.0, 1.0]]
        assert jacobian(lambda t: (t, t * 2), has_aux=True)(x)[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert ut.func.vjp(lambda t: (t, t * 2), x)[1]((x, x))[0].tolist() == [3.0, 6.0]
    assert ut.func.grad(lambda t: t)(ut.tensor(3.0)).item() == 1.0
    assert ut.func.grad(ut.func.grad(lambda t: t))(ut.tensor(3.0)).item() == 0.0
    assert ut.vmap(ut.func.grad(lambda t: t))(x).tolist() == [1.0, 1.0]


def test_derivatives_of_scalar_functions_of_scalars_are_scalars():
    x, functional = ut.tensor(3.0), ut.autograd.functional
    cube = lambda t: t**3
    firsts = [jacrev(cube)(x), jacfwd(cube)(x), functional.jacobian(cube, x), functional.jacobian(cube, x, vectorize=True)]
    firsts.append(functional.jacobian(cube, x, vectorize=True, strategy="forward-mode"))
    seconds = [hessian(cube)(x), functional.hessian(cube, x), functional.hessian(cube, x, vectorize=True)]
    seconds.append(functional.hessian(cube, x, vectorize=True, outer_jacobian_strategy="forward-mode"))
    assert [(t.dim(), t.item()) for t in firsts] == [(0, 27.0)] * 5
    assert [(t.dim(), t.item()) for t in seconds] == [(0, 18.0)] * 4


@pytest.mark.parametrize("transform", [jacrev, jacfwd, lambda f: lambda x: vjp(f, x), lambda f: lambda x: jvp(f, (x,), (x,))])
@pytest.mark.parametrize("output", [(), [], None])
def test_a_function_without_output_is_refused(transform, output):
    with pytest.raises(RuntimeError, match="Expected f to be a function that has non-empty output"):
        transform(lambda x: output)(ut.ones(2))


@pytest.mark.parametrize("transform", ["grad", "jacrev", "jacfwd", "hessian"])
def test_inference_tensors_can_be_differentiated_outside_inference_mode(transform):
    with ut.inference_mode():
        x = ut.tensor([0.5, -1.0])
    result = getattr(ut.func, transform)(lambda t: t.sin().sum())(x)
    assert ut.equal(result, getattr(ut.func, transform)(lambda t: t.sin().sum())(x.clone()))
    assert x.is_inference()


def test_the_tangent_of_a_gradient_has_a_derivative_by_the_direction():
    x = ut.tensor([0.5, -1.0], dtype=ut.float64)
    v = ut.tensor([2.0, 3.0], dtype=ut.float64, requires_grad=True)
    for f in (lambda t: (t.exp() * t).sum(), lambda t: t.prod() * t.sum()):
        product = jvp(grad(f), (x,), (v,))[1]
        (found,) = ut.autograd.grad(product, v, ut.tensor([1.0, -1.0], dtype=ut.float64))
        ut.testing.assert_close(found, hessian(f)(x) @ ut.tensor([1.0, -1.0], dtype=ut.float64))
        assert not jvp(grad(f), (x,), (v.detach(),))[1].requires_grad


def test_stack_module_state_takes_modules_only():
    with pytest.raises((TypeError, AttributeError), match="Expected modules, got int|has no attribute 'training'"):
        ut.func.stack_module_state(range(2**40))
