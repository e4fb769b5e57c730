"""Matrix products: every pair of ranks, layouts, scale factors, in-place and out=, graphs and errors."""

import numpy as np
import pytest

import undertow as ut

PAIRS = [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((5, 2, 3), (3, 4)), ((3,), (5, 3, 4)), ((2, 3), (5, 3, 4)),
         ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((6, 5, 2, 3), (3,)), ((0, 2, 3), (3, 4)), ((5, 2, 0), (0, 4))]


def random(shape, dtype="float64"):
    rng = np.random.default_rng(len(shape))
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.startswith("complex") else 0)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("recorded", [False, True])
def test_matmul_of_every_pair_of_ranks(pair, dtype, recorded):
    a, b = (random(s, dtype) for s in pair)
    x, y = ut.from_numpy(a).requires_grad_(recorded), ut.from_numpy(b).requires_grad_(recorded)
    got = x @ y
    assert np.allclose(got.detach().numpy(), a @ b, rtol=1e-4 if dtype == "float32" else 1e-10)
    assert got.is_contiguous()
    if recorded:
        got.backward(ut.ones_like(got))
        assert x.grad.shape == x.shape and y.grad.shape == y.shape


@pytest.mark.parametrize(
    ("pair", "name"),
    [(((3,), (3,)), "DotBackward0"), (((3,), (3, 4)), "SqueezeBackward4"), (((2, 3), (3,)), "MvBackward0"), (((2, 3), (3, 4)), "MmBackward0"),
     (((5, 2, 3), (3, 4)), "UnsafeViewBackward0"), (((2, 3), (5, 3, 4)), "CloneBackward0")],
)
def test_nodes_have_torchs_names(pair, name):
    x, y = (ut.from_numpy(random(s)).requires_grad_() for s in pair)
    assert (x @ y).grad_fn.name() == name


def test_transposed_and_expanded_operands():
    a, b = random((4, 3)), random((5, 4))
    assert np.allclose((ut.from_numpy(a).t() @ ut.from_numpy(b).t()).numpy(), a.T @ b.T)
    batch = ut.from_numpy(a).expand(6, 4, 3)
    other = random((6, 3, 2))
    assert np.allclose((batch @ ut.from_numpy(other)).numpy(), a @ other)
    z = random((3, 3), "complex128")
    assert np.allclose((ut.from_numpy(z).conj() @ ut.from_numpy(z)).numpy(), z.conj() @ z)


def test_with_beta_zero_self_is_not_read():
    nan = ut.full((2, 2), float("nan"))
    ones = ut.ones(2, 2)
    assert ut.addmm(nan, ones, ones, beta=0).tolist() == [[2, 2], [2, 2]]
    assert ut.addmv(nan[0], ones, ones[0], beta=0).tolist() == [2, 2]
    assert ut.addr(nan, ones[0], ones[0], beta=0).tolist() == [[1, 1], [1, 1]]
    assert ut.baddbmm(nan, ones.unsqueeze(0), ones.unsqueeze(0), beta=0).tolist() == [[[2, 2], [2, 2]]]


def test_scale_factors_and_in_place():
    a, b, c = random((2, 3)), random((3, 4)), random((2, 4))
    want = 2 * c + 3 * (a @ b)
    x, y, z = ut.from_numpy(a), ut.from_numpy(b), ut.from_numpy(c)
    assert np.allclose(ut.addmm(z, x, y, beta=2, alpha=3).numpy(), want)
    assert np.allclose(z.clone().addmm_(x, y, beta=2, alpha=3).numpy(), want)
    square = ut.from_numpy(random((3, 3)))
    before = square.numpy().copy()
    assert np.allclose(square.addmm_(square, square).numpy(), before + before @ before)


def test_integers_wrap_and_halves_sum_in_float():
    x = ut.full((2, 2), 100, dtype=ut.int8)
    assert (x @ x).tolist() == [[32, 32], [32, 32]]  # 20000 modulo 256
    assert ut.full((3, 3), 2**62).trace().item() == -(2**62)
    h = ut.ones(1, 4096, dtype=ut.float16)
    assert (h @ h.t()).item() == 4096


def test_out_keeps_its_dtype_or_raises():
    a = ut.ones(2, 2)
    out = ut.empty(0)
    assert ut.mm(a, a, out=out) is out and out.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double instead"):
        ut.mm(a, a, out=ut.empty(2, 2, dtype=ut.float64))


def test_compositions_against_numpy():
    a, b = random((2, 3)), random((4, 5))
    x, y = ut.from_numpy(a), ut.from_numpy(b)
    assert np.allclose(ut.kron(x, y).numpy(), np.kron(a, b))
    assert np.allclose(ut.outer(x[0], y[0]).numpy(), np.outer(a[0], b[0]))
    p, q = random((2, 3, 4)), random((3, 4, 5))
    assert np.allclose(ut.tensordot(ut.from_numpy(p), ut.from_numpy(q)).numpy(), np.tensordot(p, q))
    chain = [random(s) for s in ((2, 9), (9, 3), (3, 8), (8, 2))]
    assert np.allclose(ut.linalg.multi_dot([ut.from_numpy(c) for c in chain]).numpy(), np.linalg.multi_dot(chain))
    m = random((3, 3))
    for n in (-2, -1, 0, 1, 2, 3, 6):
        assert np.allclose(ut.matrix_power(ut.from_numpy(m), n).numpy(), np.linalg.matrix_power(m, n))
    assert np.allclose(ut.linalg.cross(x, x + 1).numpy(), np.cross(a, a + 1))
    assert np.allclose(ut.trace(y).item(), np.trace(b))


def test_linear_keeps_the_weights_layout_in_its_gradient():
    weight = ut.rand(4, 3, requires_grad=True)
    ut.nn.functional.linear(ut.rand(5, 3), weight, ut.rand(4)).sum().backward()
    assert weight.grad.stride() == weight.stride()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda o: ut.mm(o(2, 3), o(2, 3)), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
        (lambda o: ut.mm(o(3), o(3, 2)), "self must be a matrix"),
        (lambda o: ut.mm(o(2, 3), o(3, 2).to(ut.float64)), "expected m1 and m2 to have the same dtype, but got: float != double"),
        (lambda o: ut.mv(o(2, 3), o(2)), r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)"),
        (lambda o: ut.dot(o(2), o(3)), "inconsistent tensor size"),
        (lambda o: ut.bmm(o(2, 3, 4), o(3, 4, 5)), "Expected size for first two dimensions of batch2 tensor"),
        (lambda o: ut.matmul(o(()), o(3)), "both arguments to matmul need to be at least 1D"),
        (lambda o: o(4).addmm_(o(2, 3), o(3, 4)), "Bad in-place call"),
        (lambda o: ut.linalg.inv(ut.ones(2, 2)), "the input matrix is singular"),
        (lambda o: ut.linalg.multi_dot([o(2, 3)]), "expected at least 2 tensors"),
    ],
)
def test_errors_match_torch(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(lambda *s: ut.ones(*s))


@pytest.mark.parametrize("shape", [(130,), (1, 130), (90, 1), (90, 130), (1,), ()])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_added_tensor_broadcasts_in_large_products_too(shape: tuple[int, ...], dtype: str):
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-4, 5, s).astype(dtype) for s in ((90, 70), (70, 130), shape))
    before = ut.get_num_threads()
    try:
        for threads in (1, 2):
            ut.set_num_threads(threads)
            for left, right in ((a, b), (np.asfortranarray(a), np.asfortranarray(b))):
                added = ut.tensor(c.T.copy()).t() if c.ndim == 2 else ut.tensor(c)
                x, y = (ut.from_numpy(m.T).t() if m.flags.f_contiguous else ut.from_numpy(m) for m in (left, right))
                np.testing.assert_array_equal(ut.addmm(added, x, y).numpy(), a @ b + c)
                np.testing.assert_array_equal(ut.addmm(added, x, y, beta=3, alpha=2).numpy(), 2 * (a @ b) + 3 * c)
                np.testing.assert_array_equal(ut.addmm(ut.full(shape, float("nan"), dtype=added.dtype), x, y, beta=0).numpy(), a @ b)
    finally:
        ut.set_num_threads(before)


@pytest.mark.parametrize("shape", [(700, 900, 600), (250, 1500, 400), (1500, 250, 400)], ids=str)
def test_smaller_tiles_for_more_threads_give_the_same_bits(shape):
    rng = np.random.default_rng(0)
    m, k, n = shape
    a, b = ut.from_numpy(rng.standard_normal((m, k)).astype("float32")), ut.from_numpy(rng.standard_normal((n, k)).astype("float32"))
    found, before = [], ut.get_num_threads()
    try:
        for threads in (1, 3, 40):
            ut.set_num_threads(threads)
            found.append((a @ b.t()).numpy().tobytes())
    finally:
        ut.set_num_threads(before)
    assert found[0] == found[1] == found[2]
