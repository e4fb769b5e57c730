"""Custom Functions under vmap and the other transforms. Also runs on torch."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.autograd import Function
from undertow.func import grad, jacfwd, jacrev, jvp, vmap

D = ut.float64


class Product(Function):
    """x * y * k, with a generated rule."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y, k):
        return x * y * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.k = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * ctx.k, g * x * ctx.k, None

    @staticmethod
    def jvp(ctx, x_t, y_t, _):
        x, y = ctx.saved_tensors
        return (x_t * y + x * y_t) * ctx.k


class Twice(Function):
    """(2 x, x summed), with a custom rule."""

    seen: list = []

    @staticmethod
    def forward(x):
        return x * 2, x.sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h.unsqueeze(-1)

    @staticmethod
    def vmap(info, in_dims, x):
        Twice.seen.append((info.batch_size, info.randomness))
        return Twice.apply(x.movedim(in_dims[0], 0)), (0, 0)


def rows():
    return ut.tensor([[0.3, -0.7], [1.1, 0.4], [0.2, 0.9]], dtype=D)


def close(a, b) -> bool:
    return a.shape == b.shape and bool(ut.isclose(a, b).all())


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)])
def test_a_generated_rule_computes_every_sample(in_dims):
    x, y = (rows() if d == 0 else rows()[0] for d in in_dims)
    got = vmap(lambda a, b: Product.apply(a, b, 2.0), in_dims=in_dims)(x, y)
    assert close(got, x * y * 2)


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)])
def test_gradients_reach_shared_and_batched_inputs(in_dims):
    x, y = ((rows() if d == 0 else rows()[0]).clone().requires_grad_() for d in in_dims)
    out = vmap(lambda a, b: Product.apply(a, b, 2.0), in_dims=in_dims)(x, y)
    got = ut.autograd.grad((out * rows()).sum(), (x, y))
    wanted = ut.autograd.grad((x * y * 2 * rows()).sum(), (x, y))
    assert all(close(a, b) for a, b in zip(got, wanted, strict=True))


def test_transforms_nest_around_it():
    f = lambda a, b: Product.apply(a, b, 2.0).sum()  # noqa: E731
    x, y = rows(), rows()[0]
    assert close(vmap(grad(f), (0, None))(x, y), (2 * y).expand(3, 2))
    assert close(vmap(grad(f, argnums=1), (0, None))(x, y), 2 * x)
    g = lambda a: Product.apply(a, a, 1.0)  # noqa: E731
    assert close(jacrev(g)(y), ut.diag(2 * y)) and close(jacfwd(g)(y), ut.diag(2 * y))
    assert close(jvp(g, (y,), (y,))[1], 2 * y * y)
    assert close(vmap(jacrev(g))(x), ut.stack([ut.diag(2 * r) for r in x]))
    assert close(grad(lambda a: grad(lambda b: Product.apply(b, b, 1.0).sum())(a).sum())(y), ut.full((2,), 2.0, dtype=D))


def test_two_maps_around_it():
    got = vmap(vmap(lambda a, b: Product.apply(a, b, 3.0), (None, 0)), (0, None))(rows()[:, 0], rows()[:, 1])
    assert close(got, rows()[:, :1] * rows()[:, 1] * 3)


def test_a_custom_rule_is_called_with_the_batch():
    Twice.seen.clear()
    x = rows().requires_grad_()
    twice, total = vmap(Twice.apply, randomness="same")(x)
    assert close(twice, rows() * 2) and close(total, rows().sum(1)) and Twice.seen == [(3, "same")]
    (g,) = ut.autograd.grad(twice.sum() + total.sum(), x)
    assert close(g, ut.full((3, 2), 3.0, dtype=D))


def test_a_function_without_a_rule_raises_and_is_named():
    class Bare(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises(RuntimeError, match="You tried to vmap over Bare, but it does not have vmap support"):
        vmap(Bare.apply)(rows())

    class Both(Bare):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    with pytest.raises(RuntimeError, match="it has both generate_vmap_rule=True and an overridden vmap staticmethod"):
        vmap(Both.apply)(rows())

    class Half(Bare):
        @staticmethod
        def vmap(info, in_dims, x):
            return x

    with pytest.raises(RuntimeError, match="to have two returns, an output and out_dims"):
        vmap(Half.apply)(rows())

    class Wrong(Bare):
        @staticmethod
        def vmap(info, in_dims, x):
            return x, (0, 0)

    with pytest.raises(RuntimeError, match=r"returned an incompatible \(output, out_dims\) tuple"):
        vmap(Wrong.apply)(rows())


def test_a_batch_of_gradients_passes_through_its_backward():
    x = rows()[0].clone().requires_grad_()
    (jacobian,) = ut.autograd.grad(Product.apply(x, x, 1.0), x, ut.eye(2, dtype=D), is_grads_batched=True)
    assert close(jacobian, ut.diag(2 * x.detach()))


class Nested(Function):
    """Gets its tensors in containers, and returns one result for all samples."""

    @staticmethod
    def forward(rows, more, scale):
        return rows[0] * more["b"] * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, rows, more, scale):
        assert in_dims == ((0, None), {"b": None}, None)
        return (rows[0] * more["b"] * scale).sum(0), None


def test_tensors_in_containers_reach_the_functions_own_rule():
    escaped = []

    def f(x):
        escaped.append(Nested.apply((x, 2), {"b": ut.full((3,), 2.0)}, 0.5))
        return x

    ut.vmap(f)(ut.arange(6.0).reshape(2, 3))
    assert escaped[0].tolist() == [3.0, 5.0, 7.0]  # a plain tensor, also after the vmap has ended


def test_tensors_in_containers_reach_a_generated_rule():
    class Generated(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(pair, x):
            return pair[0] * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0][0])

        @staticmethod
        def backward(ctx, g):
            return None, g * ctx.saved_tensors[0]

    a, x = ut.arange(6.0).reshape(2, 3), ut.ones(3, requires_grad=True)
    y = ut.vmap(lambda row: Generated.apply([row], x))(a)
    assert ut.equal(y, a)
    y.sum().backward()
    assert ut.equal(x.grad, a.sum(0))


def test_a_function_called_in_a_backward_pass_under_vmap_keeps_results_for_all_samples():
    """A Gramian, accumulated while vmap maps over the gradients of the outputs."""
    gramians = []

    class Watched(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.detach()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            gramians.append(Gram.apply((g,)))
            return g

    class Gram(Function):
        @staticmethod
        def forward(rows):
            return rows[0].unsqueeze(0) @ rows[0].unsqueeze(1)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, rows):
            return rows[0] @ rows[0].t(), None

    x = ut.rand(3, requires_grad=True)
    y = Watched.apply(x * 2).sin()
    rows = ut.vmap(lambda v: ut.autograd.grad(y, x, v, retain_graph=True)[0])(ut.eye(3))
    assert ut.allclose(gramians[0] * 4, rows @ rows.t())
