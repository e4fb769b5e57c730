"""`gradcheck` and `gradgradcheck`: compare the gradients of a function with finite differences. The checks are in _gradcheck/."""

from __future__ import annotations

import undertow as ut
from undertow.autograd._backward import grad as _grad
from undertow.autograd._gradcheck.numerical import as_tuple, differentiable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """Raised by gradcheck and gradgradcheck when a gradient is wrong."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` at `inputs` with central differences of step size `eps`.

    Return True if they agree within `rtol` and `atol`; otherwise raise a GradcheckError with both Jacobians, or return False if
    `raise_exception` is False. Use float64: float32 is not precise enough for finite differences. Inputs may be sparse, outputs may not:
    use `to_dense`. With `masked=True` the gradients of elements that a sparse input does not specify are not checked.

    >>> import undertow as ut
    >>> x = ut.tensor([0.5, 2.0], dtype=ut.float64, requires_grad=True)
    >>> ut.autograd.gradcheck(lambda x: x * x.exp(), x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    options = {"eps": eps, "atol": atol, "rtol": rtol, "nondet_tol": nondet_tol, "check_undefined_grad": check_undefined_grad,
               "check_grad_dtypes": check_grad_dtypes, "check_batched_grad": check_batched_grad,
               "check_batched_forward_grad": check_batched_forward_grad,
               "check_forward_ad": check_forward_ad,
               "check_backward_ad": check_backward_ad, "fast_mode": fast_mode, "masked": masked}
    from undertow.autograd._gradcheck.checks import Check

    try:
        return Check(func, inputs, options).run()
    except GradcheckError:
        if raise_exception:
            raise
        return False


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the second derivatives of `func`, with respect to its inputs and `grad_outputs`, with central differences.

    >>> import undertow as ut
    >>> x = ut.tensor([0.5, 2.0], dtype=ut.float64, requires_grad=True)
    >>> ut.autograd.gradgradcheck(lambda x: x * x.exp(), x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        from undertow.testing import make_tensor

        cotangents = tuple(
            make_tensor(tuple(o.shape), dtype=o.dtype, low=-1, high=1, requires_grad=True, noncontiguous=gen_non_contig_grad_outputs)
            for o in differentiable(func(*given))
        )
    else:
        cotangents = as_tuple(grad_outputs)
    count = len(cotangents)
    wanted = [i for i, x in enumerate(given) if isinstance(x, ut.Tensor) and x.requires_grad]
    wanted_cotangents = {i for i, v in enumerate(cotangents) if v.requires_grad}

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        # The caller may have detached tensors that require grad.
        x = tuple(a.requires_grad_() if i in wanted else a for i, a in enumerate(args[: len(args) - count]))
        v = tuple(a.requires_grad_() if i in wanted_cotangents else a for i, a in enumerate(args[len(args) - count :]))
        grads = _grad(differentiable(func(*x)), [x[i] for i in wanted], v, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradient, given + cotangents, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked,
    )
