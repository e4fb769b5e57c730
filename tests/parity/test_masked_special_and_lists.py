"""Functions that few programs use, compared with torch: masked reductions, copies of views, lists of tensors, segments, special functions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import undertow as ut
from undertow.as_torch import shims

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")

RNG = np.random.default_rng(7)
X = RNG.normal(size=(3, 4, 5))
MASK = RNG.random((3, 4, 5)) > 0.4
MASK[1, 2] = False  # a row without an element


def both(f, *arrays, **kwargs):
    """The results of f(library, *tensors) here and in torch, as arrays."""
    results = []
    for library in (ut, torch):
        given = [library.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in arrays]
        found = f(library, *given, **kwargs)
        results.append([np.asarray(t) for t in (found if isinstance(found, (list, tuple)) else [found])])
    return results


def home(lib):
    """The module that has torch's rarest names for a library."""
    return shims if lib is ut else lib


def agree(f, *arrays, rtol=1e-6, atol=1e-8, **kwargs):
    ours, theirs = both(f, *arrays, **kwargs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


REDUCTIONS = ["sum", "prod", "amax", "amin", "mean", "var", "std", "logsumexp"]


@pytest.mark.parametrize("dim", [None, 0, (0, 2), (-1,)])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_masked_reductions_agree(name, keepdim, dim):
    agree(lambda lib, x, m: getattr(lib.masked, name)(x, dim, keepdim=keepdim, mask=m), X, MASK)
    agree(lambda lib, x: getattr(lib.masked, name)(x, dim, keepdim=keepdim), X)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean", "argmax", "argmin", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, np.bool_])
def test_masked_reductions_have_torchs_dtypes(name, dtype):
    if name == "mean" and dtype is not np.float32:
        for library in (ut, torch):
            with pytest.raises(ValueError, match="Could not infer output dtype"):
                library.masked.mean(library.from_numpy((X * 5).astype(dtype)))
        return
    if dtype is np.bool_ and name[0] in "ac":
        pytest.skip("torch has neither an order nor running sums of truth values here")
    x = (X * 5).astype(dtype)
    agree(lambda lib, x, m: getattr(lib.masked, name)(x, 1, mask=m), x, MASK)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_masked_normalisations_agree(name):
    agree(lambda lib, x, m: getattr(lib.masked, name)(x, -1, mask=m), X, MASK)


@pytest.mark.parametrize("order", [2.0, 1, 0, math.inf, -math.inf])
def test_masked_norms_agree(order):
    agree(lambda lib, x, m: lib.masked.norm(x, order, 1, mask=m), X, MASK)
    agree(lambda lib, x, m: lib.masked.normalize(x, order, 1, mask=m), X, MASK) if order != -math.inf else None


def test_masked_median_and_logaddexp_agree():
    agree(lambda lib, x, m: lib.masked.median(x, 1, mask=m), X, MASK)
    agree(lambda lib, x, m: lib.masked.logaddexp(x, x + 1, input_mask=m, other_mask=~m), X, MASK)


def test_bad_masks_raise_as_in_torch():
    for library in (ut, torch):
        x = library.ones(3)
        with pytest.raises(IndexError, match="higher than of the input"):
            library.masked.sum(x, mask=library.ones(2, 3) > 0)
        with pytest.raises(IndexError, match="Dimension out of range"):
            library.masked.sum(x, 3)
        with pytest.raises(RuntimeError, match="appears multiple times"):
            library.masked.sum(x, (0, 0))


COPIES = {
    "expand": ((3, 4, 5),), "permute": ((2, 0, 1),), "select": (1, 2), "squeeze": (), "unsqueeze": (1,), "transpose": (0, 1), "view": ((12, 5),),
    "as_strided": ((2, 2), (1, 3)), "unfold": (1, 2, 1), "slice": (1, 0, 3, 2), "alias": (), "detach": (),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_views_have_the_views_values(name):
    agree(lambda lib, x: getattr(home(lib), name + "_copy")(x, *COPIES[name]), X)
    agree(lambda lib, x: getattr(home(lib), name + "_copy")(x, *COPIES[name], out=lib.zeros(0, dtype=lib.float64)), X)


def test_copies_own_their_memory_and_carry_gradients():
    x = ut.ones(2, 3, requires_grad=True)
    copy = shims.permute_copy(x, (1, 0))
    assert not copy._is_view() and copy.is_contiguous()
    copy.sum().backward()
    assert x.grad.tolist() == [[1.0] * 3] * 2
    parts = [ut.zeros(3), ut.zeros(3)]
    with ut.no_grad():
        assert shims.unbind_copy(x, out=parts) is None
    assert parts[1].tolist() == [1.0] * 3


@pytest.mark.parametrize("name", ["abs", "sqrt", "exp", "neg", "reciprocal", "sign"])
def test_functions_of_lists_agree(name):
    agree(lambda lib, a, b: getattr(home(lib), f"_foreach_{name}")([a, b]), np.abs(X), np.abs(X[0]))
    agree(lambda lib, a, b: getattr(home(lib), f"_foreach_{name}_")([a, b]), np.abs(X), np.abs(X[0]))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max"])
def test_functions_of_two_lists_agree(name):
    a, b = np.abs(X) + 1, np.abs(X[0]) + 1
    for end in ("", "_"):
        agree(lambda lib, a, b, e=end: getattr(home(lib), f"_foreach_{name}{e}")([a, b], [a / 2, b / 2]), a, b)
        agree(lambda lib, a, b, e=end: getattr(home(lib), f"_foreach_{name}{e}")([a, b], 1.5), a, b)
        agree(lambda lib, a, b, e=end: getattr(home(lib), f"_foreach_{name}{e}")([a, b], [1.5, 2.0]), a, b)


def test_functions_of_three_lists_agree():
    a, b = X, X[0]
    for end in ("", "_"):
        agree(lambda lib, a, b, e=end: getattr(home(lib), f"_foreach_addcmul{e}")([a, b], [a, b], [a, b], value=0.5), a, b)
        agree(lambda lib, a, b, e=end: getattr(home(lib), f"_foreach_addcdiv{e}")([a, b], [a, b], [a + 9, b + 9], [0.5, 2.0]), a, b)
        agree(lambda lib, a, b, e=end: getattr(home(lib), f"_foreach_lerp{e}")([a, b], [a + 1, b + 2], 0.25), a, b)
    agree(lambda lib, a, b: home(lib)._foreach_norm([a, b], 1), a, b)


def test_functions_of_lists_raise_as_in_torch():
    for library in (ut, torch):
        x = [library.ones(2), library.ones(3)]
        for call, clause in (
            (lambda lib=library: home(lib)._foreach_abs([]), "at least one tensor"),
            (lambda lib=library, x=x: home(lib)._foreach_add(x, x[:1]), "same number of tensors, got 2 and 1"),
            (lambda lib=library, x=x: home(lib)._foreach_add(x, [1.0]), "same number of elements as scalar list"),
            (lambda lib=library, x=x: home(lib)._foreach_mul(x, lib.ones(2)), "scalar tensor expected to be 0 dim"),
        ):
            with pytest.raises(RuntimeError, match=clause):
                call()


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("initial", [None, 2.0])
def test_segments_agree(reduce, initial):
    lengths = np.array([[0, 1, 3], [2, 2, 0], [4, 0, 0]])
    offsets = np.concatenate([np.zeros((3, 1), dtype=np.int64), lengths.cumsum(1)], 1)
    agree(lambda lib, x, n: lib.segment_reduce(x, reduce, lengths=n, axis=1, initial=initial), X, lengths)
    agree(lambda lib, x, n: lib.segment_reduce(x, reduce, offsets=n, axis=1, initial=initial), X, offsets)


ONE = ["airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1"]
ONE += ["scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"]
POLYNOMIALS = ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
POLYNOMIALS += [f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"]
LINE = np.concatenate([np.linspace(-30, 30, 241), [0.0, -0.0, 1e-8, 2.0, math.inf, -math.inf, math.nan, 800.0, 103.9, 1e-300]])


@pytest.mark.parametrize("name", ONE)
def test_special_functions_agree(name):
    # torch's values are off by up to 1e-6 where Bessel functions oscillate, compared with SciPy.
    agree(lambda lib, x: getattr(lib.special, name)(x), LINE, rtol=1e-5, atol=2e-6)
    agree(lambda lib, x: getattr(lib.special, name)(x), np.arange(1, 9), rtol=1e-5, atol=2e-6)
    with pytest.raises(NotImplementedError, match=f"\"{name}_cpu\" not implemented for 'Half'"):
        getattr(ut.special, name)(ut.ones(2, dtype=ut.float16))


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_agree(name):
    x = np.linspace(-2, 2, 33)[:, None]
    n = np.array([-1.0, 0.0, 1.0, 2.0, 3.7, 7.0, 12.0])
    agree(lambda lib, x, n: getattr(lib.special, name)(x, n), x, n)
    agree(lambda lib, x: getattr(lib.special, name)(x, 4), x[:, 0])
    agree(lambda lib, n: getattr(lib.special, name)(2, n), np.arange(4))


def test_a_polynomial_of_huge_degree_terminates():
    assert math.isnan(ut.special.hermite_polynomial_h(ut.tensor(2.0), 10**15).item())


def test_special_functions_match_scipy_to_many_digits():
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.logspace(-8, 2.5, 400), np.linspace(0.1, 40, 400)])
    for name, expected in {
        "bessel_j0": special.j0, "bessel_j1": special.j1, "bessel_y0": special.y0, "bessel_y1": special.y1,
        "modified_bessel_k0": special.k0, "modified_bessel_k1": special.k1,
        "scaled_modified_bessel_k0": special.k0e, "scaled_modified_bessel_k1": special.k1e,
    }.items():  # fmt: skip
        np.testing.assert_allclose(getattr(ut.special, name)(ut.from_numpy(x)).numpy(), expected(x), rtol=1e-13, atol=1e-14, err_msg=name)
    line = np.linspace(-60, 100, 1601)
    np.testing.assert_allclose(ut.special.airy_ai(ut.from_numpy(line)).numpy(), special.airy(line)[0], rtol=1e-12, atol=1e-14)
