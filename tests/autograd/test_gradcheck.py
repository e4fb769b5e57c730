"""gradcheck and gradgradcheck: correct derivatives pass in every mode, wrong ones are reported. Also runs on torch."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.autograd import Function, gradcheck, gradgradcheck

D = ut.float64
ALL = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}


def x3(dtype=D):
    values = [0.3, -0.7, 1.1] if dtype == D else [0.3 + 1j, -0.7 + 0.2j, 1.1 - 0.4j]
    return ut.tensor(values, dtype=dtype, requires_grad=True)


class Scaled(Function):
    """2 x, with derivatives that can be made wrong."""

    backward_factor = 2.0
    jvp_factor = 2.0

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @classmethod
    def backward(cls, ctx, g):
        return g * Scaled.backward_factor

    @staticmethod
    def jvp(ctx, t):
        return t * Scaled.jvp_factor


@pytest.fixture
def factors(monkeypatch):
    def set_(backward=2.0, jvp=2.0):
        monkeypatch.setattr(Scaled, "backward_factor", backward)
        monkeypatch.setattr(Scaled, "jvp_factor", jvp)

    return set_


FUNCTIONS = {
    "elementwise": lambda x: x.sin() * x,
    "a matrix": lambda x: ut.outer(x, x).exp(),
    "several outputs": lambda x: (x * 2, x.sum(), x.prod()),
    "views and writes": lambda x: (x * 1).unsqueeze(0).mul_(x).squeeze(0),
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [D, ut.complex128])
def test_right_derivatives_pass_every_check(name, dtype, fast_mode):
    assert gradcheck(FUNCTIONS[name], x3(dtype), fast_mode=fast_mode, **ALL)
    assert gradgradcheck(FUNCTIONS[name], x3(dtype), fast_mode=fast_mode, check_batched_grad=True, check_fwd_over_rev=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_wrong_backward_is_shown_with_the_numerical_jacobian(factors, fast_mode):
    factors(backward=3.0)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0") as error:
        gradcheck(Scaled.apply, x3(), fast_mode=fast_mode)
    text = str(error.value)
    assert "numerical:" in text and "analytical:" in text
    if not fast_mode:
        assert "3." in text.partition("analytical:")[2] and "2.0000" in text.partition("analytical:")[0]


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_wrong_jvp_is_found_in_forward_mode_alone(factors, fast_mode):
    factors(jvp=3.0)
    assert gradcheck(Scaled.apply, x3(), fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
        gradcheck(Scaled.apply, x3(), fast_mode=fast_mode, check_forward_ad=True)


def test_without_raising_a_failure_is_false(factors):
    factors(backward=3.0)
    assert gradcheck(Scaled.apply, x3(), raise_exception=False) is False


def test_a_nondeterministic_backward_raises(monkeypatch):
    calls = []


    def moving(cls, ctx, g):
        calls.append(1)
        return g * (2.0 + 1e-9 * (len(calls) % 7))

    monkeypatch.setattr(Scaled, "backward", classmethod(moving))
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        gradcheck(Scaled.apply, x3())
    assert gradcheck(Scaled.apply, x3(), nondet_tol=1e-6)


def test_a_gradient_for_zero_cotangents_must_be_zero(monkeypatch):
    monkeypatch.setattr(Scaled, "backward", classmethod(lambda cls, ctx, g: g * 0 + 2.0))
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        gradcheck(Scaled.apply, x3()[:1].detach().requires_grad_())


def test_a_batch_of_cotangents_must_match_the_single_gradients(monkeypatch):
    def by_numbers(cls, ctx, g):
        return ut.tensor([2.0 * float(v) for v in g], dtype=D)

    monkeypatch.setattr(Scaled, "backward", classmethod(by_numbers))
    assert gradcheck(Scaled.apply, x3())
    with pytest.raises(RuntimeError, match="batched gradient"):
        gradcheck(Scaled.apply, x3(), check_batched_grad=True)


def test_a_function_without_derivative_must_be_flat():
    assert gradcheck(lambda x: x.detach() * 0 + 1, x3())
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, x3())


def test_inputs_must_require_grad_and_not_overlap():
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(ut.sin, ut.ones(2, dtype=D))
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        gradcheck(ut.sin, ut.ones(1, dtype=D).expand(3).requires_grad_())


def test_single_precision_warns():
    with pytest.warns(UserWarning, match="is not a double precision floating point or complex"):
        gradcheck(lambda x: x * 2, ut.ones(2, requires_grad=True), raise_exception=False)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
        ({"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True}, "check_batched_grad=True requires check_backward_ad"),
        ({"check_batched_forward_grad": True}, "check_batched_forward_grad=True requires check_forward_ad"),
    ],
)
def test_contradictory_switches_raise(options, text):
    with pytest.raises(AssertionError, match=text):
        gradcheck(ut.sin, x3(), **options)


def test_gradgradcheck_finds_a_first_derivative_that_forgets_its_input(factors):
    class Forgets(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.clone())
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    assert gradcheck(Forgets.apply, x3())
    with pytest.raises(RuntimeError, match="Jacobian mismatch|would be lost"):
        gradgradcheck(Forgets.apply, x3())


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_random_number_in_a_jvp_fails_the_batched_check(fast_mode):
    class Noisy(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 2 + ut.rand_like(t) * 0

    switches = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast_mode}
    assert gradcheck(Noisy.apply, (x3(),), **switches)
    with pytest.raises(RuntimeError, match="While computing batched gradients, got: vmap"):
        gradcheck(Noisy.apply, (x3(),), check_batched_forward_grad=True, **switches)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_outputs_that_change_their_shape_raise(fast_mode):
    x = ut.ones(1, dtype=D, requires_grad=True)
    with pytest.raises(AssertionError, match="Expected `func` to return outputs with the same shape when inputs are perturbed"):
        gradcheck(lambda x: ut.cat([x, x]) if ut.all(x >= 1) else x, (x,), fast_mode=fast_mode)


def test_a_hook_that_does_not_accept_undefined_gradients_warns_and_fails():
    def f(x):
        def hook(gradients):
            if gradients[0] is None:
                raise RuntimeError("a gradient is undefined")

        y = x.clone()
        y.grad_fn.register_prehook(hook)
        return y

    with pytest.warns(UserWarning, match="New undefined gradient support checking feature"), pytest.raises(RuntimeError, match="undefined output grads"):
        gradcheck(f, (x3(),))
