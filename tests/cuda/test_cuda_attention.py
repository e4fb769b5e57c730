"""Scaled dot-product attention on a GPU agrees with the CPU's."""
from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers, same_on_both
from undertow.cuda._library import functions

pytestmark = pytest.mark.cuda
F = ut.nn.functional
TOLERANCES = {ut.float32: 1e-5, ut.float64: 1e-10, ut.float16: 4e-3, ut.bfloat16: 3e-2}
# Batch, query heads, key heads, queries, keys, width. Kernels on tensor cores take half dtypes with widths of a multiple of 8 up to 128,
# cuDNN up to 256.
SHAPES = [(2, 3, 3, 9, 7, 5), (1, 2, 2, 20, 17, 32), (1, 2, 1, 70, 90, 64), (2, 2, 1, 130, 70, 40), (1, 1, 1, 140, 70, 128), (1, 1, 1, 5, 6, 160)]
WAYS = ["library", "own kernels"]


@pytest.fixture
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """With cuDNN where it is installed and can do it, or without it."""
    switch = functions().set_switch
    assert switch("attention.library", request.param == "library")
    yield
    switch("attention.library", True)


def both_ways(dtypes: list[ut.dtype]) -> pytest.MarkDecorator:
    """(dtype, way): cuDNN takes half dtypes only."""
    cases = [(t, way) for t in dtypes for way in WAYS if way == "own kernels" or t in (ut.float16, ut.bfloat16)]
    return pytest.mark.parametrize(("dtype", "way"), cases, indirect=["way"])


@both_ways([*TOLERANCES])
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["all keys", "causal", "mask"])
def test_attention_and_its_gradients(dtype: ut.dtype, shape: tuple[int, ...], kind: str) -> None:
    batch, heads, key_heads, queries, keys, width = shape
    q = numbers(batch, heads, queries, width, dtype=dtype, grad=True)
    k, v = (numbers(batch, key_heads, keys, width, dtype=dtype, grad=True, seed=i) for i in (1, 2))
    mask = None
    if kind == "mask":
        mask = numbers(batch, 1, queries, keys, dtype=dtype, seed=3)
        mask[:, :, :, 0] = float("-inf")
        mask[0, 0, 1] = float("-inf")  # a row without any key
    def attention(a: ut.Tensor, b: ut.Tensor, c: ut.Tensor, m: ut.Tensor | None) -> ut.Tensor:
        return F.scaled_dot_product_attention(a, b, c, attn_mask=m, is_causal=kind == "causal", enable_gqa=heads != key_heads)
    same_on_both(attention, q, k, v, mask, tol=TOLERANCES[dtype])


@both_ways([ut.float32, ut.bfloat16])
@pytest.mark.usefixtures("way")
def test_heads_of_one_projection_are_read_in_place(dtype: ut.dtype) -> None:
    def attention(x: ut.Tensor) -> ut.Tensor:
        q, k, v = (t.view(2, 40, 3, 16).transpose(1, 2) for t in x.split(48, dim=2))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 40, 48)
    same_on_both(attention, numbers(2, 40, 144, dtype=dtype, grad=True), tol=TOLERANCES[dtype])


def test_a_scale_of_its_own() -> None:
    q, k, v = (numbers(1, 2, 6, 8, grad=True, seed=i) for i in range(3))
    for scale in (2.0, 0.0, -1.0):
        attention = functools.partial(F.scaled_dot_product_attention, scale=scale)
        same_on_both(attention, q, k, v, tol=1e-4)
        same_on_both(attention, *(t.detach().half() for t in (q, k, v)), tol=4e-3)


@both_ways([ut.float16, ut.bfloat16])
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(2, 1, 1, 128, 128, 64), (1, 1, 1, 64, 256, 128), (1, 2, 1, 128, 128, 32)])
def test_tiles_without_a_rest(dtype: ut.dtype, causal: bool, shape: tuple[int, ...]) -> None:
    batch, heads, key_heads, queries, keys, width = shape
    q = numbers(batch, heads, queries, width, dtype=dtype, grad=True)
    k, v = (numbers(batch, key_heads, keys, width, dtype=dtype, grad=True, seed=i) for i in (1, 2))
    def attention(a: ut.Tensor, b: ut.Tensor, c: ut.Tensor) -> ut.Tensor:
        return F.scaled_dot_product_attention(a, b, c, is_causal=causal, scale=0.2, enable_gqa=heads != key_heads)
    same_on_both(attention, q, k, v, tol=TOLERANCES[dtype])


@both_ways([ut.bfloat16])
@pytest.mark.usefixtures("way")
def test_gradient_that_is_one_number_repeated(dtype: ut.dtype) -> None:
    q, k, v = (numbers(2, 1, 70, 32, dtype=dtype, grad=True, seed=i) for i in range(3))
    def gradients(device: str) -> list[ut.Tensor]:
        inputs = [t.detach().to(device).requires_grad_() for t in (q, k, v)]
        out = F.scaled_dot_product_attention(*inputs)
        return list(ut.autograd.grad(out, inputs, ut.ones(1, dtype=dtype, device=device).expand(out.shape)))
    for got, expected in zip(gradients("cuda"), gradients("cpu")):
        close(got, expected, TOLERANCES[dtype])


@both_ways([ut.bfloat16])
@pytest.mark.usefixtures("way")
def test_deterministic_gradients_have_the_same_bits(dtype: ut.dtype) -> None:
    switch = functions().set_switch
    q, k, v = (numbers(1, 2, 256, 32, dtype=dtype, seed=i).to("cuda").requires_grad_() for i in range(3))
    def gradients() -> list[ut.Tensor]:
        return list(ut.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=True).sum(), (q, k, v)))
    assert switch("cudnn.deterministic", True)
    try:
        first = gradients()
        for _ in range(2):
            assert all(ut.equal(a, b) for a, b in zip(first, gradients()))
    finally:
        switch("cudnn.deterministic", False)
