"""Factorizations compared with their definitions: sizes at the boundaries of blocks, rank-deficient matrices, clustered and graded values, threads."""

import numpy as np
import pytest

import undertow as ut

RNG = np.random.default_rng(11)
# Around the sizes where loops become blocked, blocks are partial, and problems are halved.
SIZES = [1, 2, 5, 9, 25, 29, 33, 58, 65, 98]
DTYPES = ["float32", "float64", "complex64", "complex128"]


def numbers(*shape, dtype="float64"):
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def orthogonal(m, k, dtype):
    return np.linalg.qr(numbers(m, k, dtype="complex128" if dtype.startswith("complex") else "float64"))[0]


def rectangles(m, n, dtype):
    """Matrices that are difficult for the singular value decomposition, by name."""
    k = min(m, n)
    q, p = orthogonal(m, k, dtype), orthogonal(n, k, dtype).conj().T
    clusters = np.repeat([1.0, 2.0, 1 + 1e-9], (k + 2) // 3)[:k]
    yield "random", numbers(m, n, dtype=dtype)
    yield "clustered", (q * clusters) @ p
    yield "graded", (q * 10.0 ** -np.linspace(0, 16, k)) @ p
    yield "half its rank", (q * (np.arange(k) < k // 2)) @ p
    yield "zero", np.zeros((m, n))
    yield "ones", np.ones((m, n))
    yield "identity", np.eye(m, n)
    yield "bidiagonal", np.eye(m, n) + np.eye(m, n, 1)
    yield "nilpotent", np.eye(m, n, 1)
    yield "huge", numbers(m, n, dtype=dtype) * 1e30
    yield "tiny", numbers(m, n, dtype=dtype) * 1e-30


def eps_of(dtype):
    return float(np.finfo(dtype).eps)


def small(error, bound, what):
    assert np.linalg.norm(error) <= bound, f"{what}: {np.linalg.norm(error)} > {bound}"


def wide(t):
    return t.numpy().astype("complex128")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_singular_vectors_are_orthonormal_and_reconstruct_the_matrix(n: int, dtype: str):
    shapes = {(n, n), (n + 3, n), (2 * n, n), (n, n + n // 2 + 1)}
    for m, n in shapes:
        bound = 12 * max(m, n, 4) * eps_of(dtype)
        for name, a in rectangles(m, n, dtype):
            a = a.astype(dtype)
            U, S, Vh = ut.linalg.svd(ut.from_numpy(a), full_matrices=False)
            size = float(S[0]) or 1.0
            k = min(m, n)
            small(wide(U).conj().T @ wide(U) - np.eye(k), bound, f"U of {name}, {m} by {n}")
            small(wide(Vh) @ wide(Vh).conj().T - np.eye(k), bound, f"V of {name}, {m} by {n}")
            small((wide(U) * S.numpy()) @ wide(Vh) / size - a.astype("complex128") / size, bound, f"{name}, {m} by {n}")
            assert bool((S >= 0).all()) and bool((S[1:] <= S[:-1]).all()), name
            small((ut.linalg.svdvals(ut.from_numpy(a)) - S).numpy() / size, bound, f"values of {name}, {m} by {n}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors_of_hermitian_matrices_are_orthonormal_and_reconstruct_them(n: int, dtype: str):
    bound = 12 * max(n, 4) * eps_of(dtype)
    cases = [(name, a + a.conj().T) for name, a in rectangles(n, n, dtype)]
    cases.append(("Wilkinson's", np.diag(np.abs(np.arange(n) - n // 2) * 1.0) + np.eye(n, n, 1) + np.eye(n, n, -1)))
    cases.append(("second differences", 2 * np.eye(n) - np.eye(n, n, 1) - np.eye(n, n, -1)))
    for name, a in cases:
        a = a.astype(dtype)
        values, vectors = ut.linalg.eigh(ut.from_numpy(a))
        size = float(values.abs().max()) or 1.0
        small(wide(vectors).conj().T @ wide(vectors) - np.eye(n), bound, f"vectors of {name}")
        small((wide(vectors) * values.numpy()) @ wide(vectors).conj().T / size - a.astype("complex128") / size, bound, name)
        assert bool((values[1:] >= values[:-1]).all()), name
        small((ut.linalg.eigvalsh(ut.from_numpy(a)) - values).numpy() / size, bound, f"values of {name}")
        upper = ut.linalg.eigvalsh(ut.from_numpy(np.triu(a)), UPLO="U")
        small((upper - values).numpy() / size, bound, f"values of {name} by its upper triangle")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_orthogonal_and_triangular_factors_reconstruct_the_matrix(n: int, dtype: str):
    shapes = {(n, n), (n + 7, n), (n, n + 7), (3 * n, n)}
    for m, n in shapes:
        bound = 12 * max(m, n, 4) * eps_of(dtype)
        for name, a in rectangles(m, n, dtype):
            a = a.astype(dtype)
            size = float(np.linalg.norm(a.astype("complex128"))) or 1.0
            for mode in ("reduced", "complete"):
                Q, R = ut.linalg.qr(ut.from_numpy(a), mode)
                small(wide(Q).conj().T @ wide(Q) - np.eye(Q.shape[1]), bound, f"Q of {name}")
                small((wide(Q) @ (wide(R) / size)) - a.astype("complex128") / size, bound, name)
                assert not np.tril(R.numpy(), -1).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_systems_inverses_and_factors(n: int, dtype: str):
    eps = 30 * max(n, 4) * eps_of(dtype)
    a = numbers(n, n, dtype=dtype) + 4 * float(np.sqrt(n)) * np.eye(n, dtype=dtype)
    b = numbers(n, 3, dtype=dtype)
    A, B = ut.from_numpy(a), ut.from_numpy(b)
    small(a @ ut.linalg.solve(A, B).numpy() - b, eps * 10, "solve")
    small(a @ ut.linalg.inv(A).numpy() - np.eye(n), eps * 10, "inv")
    P, L, U = (t.numpy() for t in ut.linalg.lu(A))
    small(P @ L @ U - a, eps * 10, "lu")
    assert np.abs(L).max() <= 1.5  # rows were exchanged for the largest pivot, by the sum of its parts
    for upper in (False, True):
        t = np.triu(a) if upper else np.tril(a)
        for other in (numbers(n, 40, dtype=dtype), numbers(40, n, dtype=dtype).T):
            x = ut.linalg.solve_triangular(ut.from_numpy(t), ut.from_numpy(other), upper=upper).numpy()
            small(t @ x - other, eps * 30, "triangular")
            x = ut.linalg.solve_triangular(ut.from_numpy(t), ut.from_numpy(other.T), upper=upper, left=False).numpy()
            small(x @ t - other.T, eps * 30, "triangular from the right")
    s = a @ a.conj().T + np.eye(n, dtype=dtype)
    S = ut.from_numpy(s)
    for upper in (False, True):
        f = ut.linalg.cholesky(S, upper=upper).numpy()
        small((f.conj().T @ f if upper else f @ f.conj().T) - s, eps * np.linalg.norm(s), "cholesky")
        assert not (np.tril(f, -1) if upper else np.triu(f, 1)).any()
    sign, size = ut.linalg.slogdet(A)
    exact = np.linalg.slogdet(a.astype("complex128"))
    np.testing.assert_allclose(size.numpy(), exact[1], rtol=1e-4 if eps_of(dtype) > 1e-10 else 1e-12, atol=1e-5 if eps_of(dtype) > 1e-10 else 1e-12)
    np.testing.assert_allclose(complex(sign.item()), complex(exact[0]), atol=1e-3)


@pytest.mark.parametrize("n", [3, 31, 33, 70])
def test_matrices_without_factors_raise_with_the_position(n: int):
    a = np.eye(n)
    a[n // 2, n // 2] = -1
    with pytest.raises(ut.linalg.LinAlgError, match=f"order {n // 2 + 1} is not positive-definite"):
        ut.linalg.cholesky(ut.from_numpy(a))
    a[n // 2, n // 2] = np.nan
    with pytest.raises(ut.linalg.LinAlgError, match="not positive-definite"):
        ut.linalg.cholesky(ut.from_numpy(a))
    for decompose in (ut.linalg.svd, ut.linalg.svdvals, ut.linalg.eigh, ut.linalg.eigvalsh):
        with pytest.raises(ut.linalg.LinAlgError, match="failed to converge"):
            decompose(ut.from_numpy(a))
    a[n // 2, n // 2] = 0
    for solve in (ut.linalg.inv, lambda t: ut.linalg.solve(t, t)):
        with pytest.raises(ut.linalg.LinAlgError, match="singular"):
            solve(ut.from_numpy(a))
    assert int(ut.linalg.lu_factor_ex(ut.from_numpy(a)).info) == n // 2 + 1
    assert ut.linalg.det(ut.from_numpy(a)).item() == 0


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(5, 5), (40, 7), (7, 40), (90, 90), (130, 70), (33, 65)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_least_squares_solutions_match_numpy(shape: tuple[int, int], driver: str, dtype: str):
    a, b = numbers(2, *shape, dtype=dtype), numbers(2, shape[0], 3, dtype=dtype)
    found = ut.linalg.lstsq(ut.from_numpy(a), ut.from_numpy(b), driver=driver)
    for i in range(2):
        exact, _, rank, _ = np.linalg.lstsq(a[i], b[i], rcond=None)
        np.testing.assert_allclose(found.solution[i].numpy(), exact, atol=1e-9)
        assert driver == "gels" or int(found.rank[i]) == rank


def test_least_squares_without_full_rank_finds_the_shortest():
    a = numbers(60, 30) @ np.diag(np.arange(30) < 20).astype("float64") @ numbers(30, 40)
    b = numbers(60, 2)
    for m in (a, a[:30].copy()):
        found = ut.linalg.lstsq(ut.from_numpy(m), ut.from_numpy(b[: len(m)].copy()))
        np.testing.assert_allclose(found.solution.numpy(), np.linalg.lstsq(m, b[: len(m)], rcond=1e-12)[0], atol=1e-8)
        assert int(found.rank) == 20


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("norm", [1e-3, 0.2, 0.9, 1.5, 3.0, 20.0])
def test_the_exponential_by_approximants_of_every_degree(norm: float, dtype: str):
    a = numbers(20, 20, dtype="complex128" if dtype == "complex128" else "float64")
    a = a * (norm / np.abs(a).sum(axis=0).max())
    values, vectors = np.linalg.eig(a)
    exact = (vectors * np.exp(values)) @ np.linalg.inv(vectors)
    ours = ut.linalg.matrix_exp(ut.from_numpy(a.astype(dtype))).numpy()
    np.testing.assert_allclose(ours, exact if dtype == "complex128" else exact.real, atol=np.abs(exact).max() * (2e-5 if dtype == "float32" else 1e-11))


@pytest.mark.parametrize("n", [70, 430])
def test_results_are_bitwise_equal_for_any_number_of_threads(n: int):
    a = ut.from_numpy(numbers(n, n, dtype="float32"))
    s = a @ a.mT + n * ut.eye(n)
    before = ut.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            ut.set_num_threads(threads)
            found = [*ut.linalg.svd(a), ut.linalg.svdvals(a), *ut.linalg.qr(a), *ut.linalg.eigh(s), ut.linalg.eigvalsh(s), ut.linalg.inv(a),
                     ut.linalg.cholesky(s), ut.linalg.solve(a, s), ut.linalg.lstsq(a, s).solution, ut.linalg.eigvals(a[:40, :40])]
            results.append([t.numpy().tobytes() for t in found])
    finally:
        ut.set_num_threads(before)
    assert results[0] == results[1]


@pytest.mark.parametrize("n", [1, 4, 16])
def test_a_batch_is_its_matrices(n: int):
    a = numbers(50, n, n, dtype="float32")
    s = ut.from_numpy(a @ a.transpose(0, 2, 1) + np.eye(n, dtype="float32"))
    A = ut.from_numpy(a)
    for f, t in ((ut.linalg.inv, s), (ut.linalg.cholesky, s), (ut.linalg.det, A), (lambda x: ut.linalg.eigh(x)[1], s), (lambda x: ut.linalg.svd(x)[0], A),
                 (lambda x: ut.linalg.qr(x)[0], A), (lambda x: ut.linalg.solve(x, x[..., :1]), s)):
        whole = f(t)
        for i in (0, 1, 25, 49):
            assert ut.equal(whole[i], f(t[i]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors_of_any_square_matrix_have_unit_norm_and_satisfy_their_equation(n: int, dtype: str):
    bound = 60 * max(n, 4) * eps_of(dtype)
    cases = [(name, a) for name, a in rectangles(n, n, dtype) if name != "nilpotent"]
    cases.append(("a shift", np.roll(np.eye(n), 1, axis=0)))
    cases.append(("triangular", np.triu(numbers(n, n, dtype=dtype)) + np.diag(np.arange(n))))
    for name, a in cases:
        a = a.astype(dtype)
        values, vectors = ut.linalg.eig(ut.from_numpy(a))
        size = np.linalg.norm(a.astype("complex128")) or 1.0
        small((a.astype("complex128") / size) @ wide(vectors) - wide(vectors) * (wide(values) / size), bound, name)
        np.testing.assert_allclose(np.linalg.norm(wide(vectors), axis=0), 1, atol=1e-5)
