"""Cases for the entries of ops/random.toml."""

from __future__ import annotations

from samples import Array, case

A = Array((3, 4))
POSITIVE = Array((3, 4), 0.3, 2.0)

CASES = {
    "rand": [case([2, 3])],
    "randn": [case([2, 3])],
    "randint": [case(10, [2, 3])],
    "randint.low": [case(3, 10, [2, 3])],
    "randperm": [case(5)],
    "rand_like": [case(A)],
    "randn_like": [case(A)],
    "randint_like": [case(A, 10)],
    "randint_like.low": [case(A, 3, 10)],
    "bernoulli": [case(Array((3, 4), 0.0, 1.0))],
    "bernoulli.p": [case(A, 0.5)],
    "bernoulli.tensor": [case(A, Array((3, 4), 0.0, 1.0))],
    "multinomial": [case(POSITIVE, 2)],
    "poisson": [case(POSITIVE)],
    "binomial": [case(POSITIVE, Array((3, 4), 0.0, 1.0))],
    "cauchy": [case(A)],
    "exponential": [case(A)],
    "geometric": [case(A, 0.5)],
    "log_normal": [case(A)],
    "uniform": [case(A)],
    "normal": [case(A)],
    "normal.tensor_tensor": [case(A, POSITIVE)],
    "normal.tensor_number": [case(A, 1.0)],
    "normal.number_tensor": [case(0.0, POSITIVE)],
    "normal.size": [case(0.0, 1.0, [2, 3])],
    "random": [case(A)],
    "random.to": [case(A, 5)],
    "random.from": [case(A, 1, 5)],
    "native_dropout": [case(Array((3, 4)), 0.5, True)],
    "_standard_gamma": [case(POSITIVE)],
    "_standard_gamma_grad": [case(POSITIVE, POSITIVE, real_only=True)],
}
