"""Operators without a derivative say so when it is asked for, with torch's class and sentence."""

from __future__ import annotations

import pytest

BACKWARD = {
    "igamma": lambda lib, x: lib.igamma(x, lib.ones(2)),
    "igammac": lambda lib, x: lib.igammac(x, lib.ones(2)),
    "zeta": lambda lib, x: lib.special.zeta(x + 2, lib.ones(2)),
    "bessel_j0": lambda lib, x: lib.special.bessel_j0(x),
    "airy_ai": lambda lib, x: lib.special.airy_ai(x),
    "laguerre": lambda lib, x: lib.special.laguerre_polynomial_l(x, 2),
    "chebyshev": lambda lib, x: lib.special.chebyshev_polynomial_t(x, 2),
    "modified_bessel_i0": lambda lib, x: lib.special.modified_bessel_i0(x),
    "histc": lambda lib, x: x.histc(3),
    "unique": lambda lib, x: lib.unique(x),
    "unique of a dimension": lambda lib, x: lib.unique(x[None], dim=0),
    "unique with all": lambda lib, x: lib.unique(x, return_inverse=True, return_counts=True)[0],
    "unique unsorted": lambda lib, x: lib.unique(x, sorted=False),
    "unique_consecutive": lambda lib, x: lib.unique_consecutive(x),
    "unique_consecutive of a dimension": lambda lib, x: lib.unique_consecutive(x[None], dim=0),
    "method unique": lambda lib, x: x.unique(),
    "_unique2": lambda lib, x: lib._unique2(x)[0],
    "nextafter": lambda lib, x: lib.nextafter(x, lib.ones(2)),
    "geqrf": lambda lib, x: lib.geqrf(x[None])[0],
    "ldl_factor": lambda lib, x: lib.linalg.ldl_factor(lib.outer(x, x) + lib.eye(2))[0],
    "ormqr": lambda lib, x: lib.ormqr(lib.outer(x, x) + lib.eye(2), x, lib.eye(2)),
    "lstsq": lambda lib, x: lib.linalg.lstsq(lib.outer(x, x) + lib.eye(2), lib.eye(2))[0],
    "frexp": lambda lib, x: lib.frexp(x)[0],
    "heaviside": lambda lib, x: lib.heaviside(x, lib.ones(2)),
    "floor_divide": lambda lib, x: lib.floor_divide(x, 2.0),
    "bucketize": lambda lib, x: lib.bucketize(x, lib.ones(2)),
    "isin": lambda lib, x: lib.isin(x, x),
    "multinomial": lambda lib, x: x.exp().multinomial(1),
    "median": lambda lib, x: lib.median(x),
    "mode": lambda lib, x: lib.mode(x)[0],
    "logical_and": lambda lib, x: lib.logical_and(x, x),
    "poisson": lambda lib, x: lib.poisson(x.abs()),
    "bernoulli": lambda lib, x: lib.bernoulli(x.sigmoid()),
    "scaled_modified_bessel_k0": lambda lib, x: lib.special.scaled_modified_bessel_k0(x + 1),
    "_standard_gamma": lambda lib, x: lib._standard_gamma(x + 1),
    "hermite": lambda lib, x: lib.special.hermite_polynomial_h(x, 3),
    "quantile": lambda lib, x: lib.quantile(x, 0.4),
    "householder": lambda lib, x: lib.linalg.householder_product(lib.outer(x, x), x[:1]),
    "segment_reduce": lambda lib, x: lib.segment_reduce(x, "sum", lengths=lib.tensor([1, 1])),
    "renorm": lambda lib, x: lib.renorm(x[None], 2, 0, 1.0),
}


@pytest.mark.parametrize("op", BACKWARD)
def test_a_backward_pass_through_it(same_as_torch, op):
    def scenario(lib):
        x = lib.tensor([0.25, 0.75], requires_grad=True)
        y = BACKWARD[op](lib, x)
        facts = [y.requires_grad, y.is_leaf]
        if not y.requires_grad:
            return facts
        name = y.grad_fn.name()
        try:
            y.sum().backward()
        except RuntimeError as error:
            return [*facts, name, type(error).__name__, str(error).split(",")[0]]
        return facts

    same_as_torch(scenario)


FORWARD_TOO = {"ormqr", "segment_reduce"}  # derivatives that torch lacks in forward mode


@pytest.mark.parametrize("op", sorted(set(BACKWARD) - FORWARD_TOO))
def test_a_tangent_through_it(same_as_torch, op):
    def scenario(lib):
        F = lib.autograd.forward_ad
        with F.dual_level():
            x = F.make_dual(lib.tensor([0.25, 0.75]), lib.ones(2))
            try:
                y = BACKWARD[op](lib, x)
            except RuntimeError as error:
                return [type(error).__name__, str(error).replace("with _", "with ")[:60]]
            return F.unpack_dual(y).tangent is None

    same_as_torch(scenario)


@pytest.mark.parametrize("function", ["unique", "unique_consecutive"])
def test_what_unique_returns_besides_values_does_not_require_grad(same_as_torch, function):
    def scenario(lib):
        x = lib.tensor([1.0, 1.0, 2.0], requires_grad=True)
        got = getattr(lib, function)(x, return_inverse=True, return_counts=True)
        by_dim = getattr(lib, function)(x[:, None], return_inverse=True, return_counts=True, dim=0)
        with lib.no_grad():
            free = getattr(lib, function)(x)
        return [[t.requires_grad for t in got], [t.requires_grad for t in by_dim], got[0].grad_fn.name(), by_dim[0].grad_fn.name(), free.requires_grad]

    same_as_torch(scenario)


CASTS = {
    "to": lambda lib, x: x.to(lib.cfloat).sum().abs(),
    "copy_": lambda lib, x: lib.zeros(2, dtype=lib.cfloat).copy_(x).sum().abs(),
    "mul": lambda lib, x: (x * lib.ones(2, dtype=lib.cfloat)).sum().abs(),
    "complex": lambda lib, x: lib.complex(x, x).sum().abs(),
    "type": lambda lib, x: x.type(lib.complex64).sum().abs(),
    "cat": lambda lib, x: lib.cat([x, lib.ones(2, dtype=lib.cfloat)]).sum().abs(),
    "index_put": lambda lib, x: lib.zeros(2, dtype=lib.cfloat).index_put((lib.tensor([0, 1]),), x.to(lib.cfloat)).sum().abs(),
    "double": lambda lib, x: x.to(lib.complex128).sum().abs(),
    "half": lambda lib, x: x.to(lib.float16).to(lib.cfloat).sum().abs(),
    "pow": lambda lib, x: (x ** (1 + 1j)).sum().abs(),
    "setitem": lambda lib, x: written(lib, x).sum().abs(),
}


def written(lib, x):
    y = lib.zeros(2, dtype=lib.cfloat)
    y[:] = x
    return y


@pytest.mark.parametrize("cast", CASTS)
def test_the_backward_pass_of_a_real_value_made_complex_is_silent(same_as_torch, cast):
    def scenario(lib):
        x = lib.ones(2, requires_grad=True)
        CASTS[cast](lib, x).backward()
        return x.grad

    same_as_torch(scenario)
