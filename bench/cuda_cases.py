"""What is timed on a GPU: the rows of the main table and a sweep of operators. A case is made by a function of the library `L`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import cuda_models as models

LARGE = 100_000_000  # floats


@dataclass
class Case:
    name: str
    make: Callable[[Any], Callable[[], Any]]  # called with the library; returns what is timed
    group: str = "main"
    target: float | None = None  # seconds at most
    limit: str = ""  # what limits the time, as text
    bound: float | None = None  # that bound in seconds
    per: int = 1  # the time is divided by it
    peak: bool = False  # also report the peak memory of one call


def tensor(L: Any, *shape: int, dtype: str = "float32", grad: bool = False) -> Any:
    x = L.randn(*shape, device="cuda").to(getattr(L, dtype))
    return x.requires_grad_() if grad else x


def small_product(L: Any, grad: bool) -> Callable[[], Any]:
    a, b = tensor(L, 8, grad=grad), tensor(L, 8, grad=grad)
    return lambda: a * b


CHAIN = 100


def chain(L: Any) -> Callable[[], Any]:
    x, c = tensor(L, 8, grad=True), tensor(L, 8)

    def run() -> None:
        y = x
        for _ in range(CHAIN):
            y = y * c
        y.backward(c)

    return run


def large(name: str) -> Callable[[Any], Callable[[], Any]]:
    def make(L: Any) -> Callable[[], Any]:
        x, y = L.rand(LARGE, device="cuda"), L.rand(LARGE, device="cuda")
        out = L.empty(LARGE, device="cuda")
        return {
            "copy": lambda: out.copy_(x), "add": lambda: L.add(x, y, out=out), "exp": lambda: L.exp(x, out=out),
            "gelu": lambda: L.nn.functional.gelu(x),
            "mul scalar": lambda: L.mul(x, 2.0, out=out), "where": lambda: L.where(x > 0.5, x, y), "sum": x.sum, "mean": x.mean, "max": x.max,
            "norm": x.norm, "sum rows": x.view(10_000, 10_000).sum, "argmax": x.argmax,
            "sum dim 0": lambda: x.view(10_000, 10_000).sum(0), "sum dim 1": lambda: x.view(10_000, 10_000).sum(1),
            "cumsum": lambda: x.cumsum(0), "to bfloat16": lambda: x.to(L.bfloat16),
        }[name]  # fmt: skip

    return make


def product(L: Any, n: int) -> Callable[[], Any]:
    a, b = (tensor(L, n, n, dtype="bfloat16") for _ in range(2))
    return lambda: a @ b


BYTES = {"copy": 8, "add": 12, "exp": 8, "gelu": 8, "mul scalar": 8, "where": 18, "cumsum": 8, "to bfloat16": 6}  # per element; else 4


def main_cases() -> Iterator[Case]:
    launch = 4.2e-6
    yield Case("small a*b", lambda L: small_product(L, False), target=5.0e-6, limit="1 launch", bound=launch)
    yield Case("small a*b, recorded", lambda L: small_product(L, True), target=5.5e-6, limit="1 launch", bound=launch)
    yield Case("chain forward and backward, per op", chain, target=9e-6, limit="2 launches", bound=2 * launch, per=CHAIN)
    yield Case("MLP 4x512, Adam", models.mlp, target=0.45e-3)
    yield Case("MLP 4x512, Adam (fused)", lambda L: models.mlp(L, True), target=0.45e-3)
    yield Case("GPT-2 124M bf16, 1 x 128", lambda L: models.gpt2(L, 1, 128), target=5.5e-3, peak=True)
    yield Case("GPT-2 124M bf16, 1 x 128, captured", lambda L: models.captured(L, models.gpt2(L, 1, 128, capturable=True)), target=2e-3)
    # 6 operations per parameter and token, and attention: 12 layers, forward and backward, half of the square.
    work = 6 * 124e6 * 8192 + 12 * 3.5 * 2 * 8 * 1024 * 1024 * 768
    rate, limit = 790e12, "operations / 790 TFLOP/s"
    yield Case("GPT-2 124M bf16, 8 x 1024", lambda L: models.gpt2(L, 8, 1024), target=20e-3, limit=limit, bound=work / rate, peak=True)
    yield Case("ResNet-50 bf16 channels last, batch 64", models.resnet50, limit=limit, bound=64 * 3 * 8.2e9 / rate, peak=True)
    for name in (*BYTES, "sum", "mean", "max", "norm", "sum dim 0", "sum dim 1", "argmax"):
        moved = BYTES.get(name, 4) * LARGE
        yield Case(f"100M floats: {name}", large(name), group="large", limit="bytes / 4.23 TB/s", bound=moved / 4.23e12, target=moved / 4.23e12 / 0.9)
    for n in (1024, 4096, 8192):
        yield Case(f"bf16 product of {n}", lambda L, n=n: product(L, n), group="large", limit=limit, bound=2 * n**3 / rate)


# ---- the sweep ----


def passes(f: Callable[[Any], Callable[..., Any]], *inputs: Callable[[Any], Any], backward: bool) -> Callable[[Any], Callable[[], Any]]:
    """f(L)(inputs), and its backward pass too."""

    def make(L: Any) -> Callable[[], Any]:
        function, values = f(L), [i(L) for i in inputs]
        if not backward:
            def forward() -> Any:
                with L.no_grad():
                    return function(*values)

            return forward
        wanted = [v.requires_grad_() for v in values if v.is_floating_point()]
        grad = L.ones_like(function(*values))
        return lambda: L.autograd.grad(function(*values), wanted, grad)

    return make


def both(group: str, name: str, f: Callable[[Any], Callable[..., Any]], *inputs: Callable[[Any], Any]) -> Iterator[Case]:
    for backward in (False, True):
        yield Case(f"{group} {name}{' and back' if backward else ''}", passes(f, *inputs, backward=backward), group="sweep")


def of(*shape: int, dtype: str = "float32") -> Callable[[Any], Any]:
    return lambda L: tensor(L, *shape, dtype=dtype)


def whole(high: int, *shape: int) -> Callable[[Any], Any]:
    return lambda L: L.randint(0, high, shape, device="cuda")


ROWS = ((64, 128), (4096, 768), (8192, 1024), (1024, 50257), (65536, 256), (32, 131072))
HALVES = ("float32", "bfloat16")


def rows_sweep() -> Iterator[Case]:
    for dtype in HALVES:
        for n, m in ROWS:
            at = f"{n}x{m} {dtype}"
            yield from both("softmax", at, lambda L: lambda x: x.softmax(-1), of(n, m, dtype=dtype))
            yield from both("log_softmax", at, lambda L: lambda x: x.log_softmax(-1), of(n, m, dtype=dtype))
            yield from both("layer_norm", at, lambda L, m=m: lambda x, w, b: L.nn.functional.layer_norm(x, (m,), w, b),
                            of(n, m, dtype=dtype), of(m, dtype=dtype), of(m, dtype=dtype))  # fmt: skip
            yield from both("cross_entropy", at, lambda L: L.nn.functional.cross_entropy, of(n, m, dtype=dtype), whole(m, n))
        for n, m in ROWS[:3]:
            yield from both("rms_norm", f"{n}x{m} {dtype}", lambda L, m=m: lambda x, w: L.nn.functional.rms_norm(x, (m,), w),
                            of(n, m, dtype=dtype), of(m, dtype=dtype))  # fmt: skip
            yield from both("gelu", f"{n}x{m} {dtype}", lambda L: L.nn.functional.gelu, of(n, m, dtype=dtype))
            yield from both("mean of rows", f"{n}x{m} {dtype}", lambda L: lambda x: x.mean(-1), of(n, m, dtype=dtype))


def index_sweep() -> Iterator[Case]:
    for dtype in HALVES:
        for words, width, count in ((1000, 64, 4096), (50257, 768, 8192), (50257, 768, 256), (1_000_000, 128, 65536)):
            at = f"{words}x{width}, {count} {dtype}"
            table = of(words, width, dtype=dtype)
            yield from both("embedding", at, lambda L: lambda w, i: L.nn.functional.embedding(i, w), table, whole(words, count))
            yield from both("index", at, lambda L: lambda w, i: w[i], of(words, width, dtype=dtype), whole(words, count))
            yield from both("index_select", at, lambda L: lambda w, i: w.index_select(0, i), of(words, width, dtype=dtype), whole(words, count))
        for n, m in ((64, 1024), (4096, 768), (1024, 4096)):
            yield from both("gather", f"{n}x{m} {dtype}", lambda L: lambda x, i: x.gather(1, i), of(n, m, dtype=dtype), whole(m, n, m))
        for shape in ((1000,), (1_000_000,), (10_000_000,), (4096, 1024), (64, 65536), (16384, 64)):
            name = f"{'x'.join(map(str, shape))} {dtype}"
            yield Case(f"sort {name}", passes(lambda L: lambda x: x.sort(-1), of(*shape, dtype=dtype), backward=False), group="sweep")
            if len(shape) == 2:
                yield Case(f"topk {name}", passes(lambda L: lambda x: x.topk(10, -1), of(*shape, dtype=dtype), backward=False), group="sweep")
                yield Case(f"argmax {name}", passes(lambda L: lambda x: x.argmax(-1), of(*shape, dtype=dtype), backward=False), group="sweep")
    for shape in ((1_000_000,), (4096, 1024)):
        name = f"{'x'.join(map(str, shape))} int64"
        yield Case(f"sort {name}", passes(lambda L: lambda x: x.sort(-1), whole(1 << 40, *shape), backward=False), group="sweep")


def layer_sweep() -> Iterator[Case]:
    for dtype in HALVES:
        for n, c, size, out, kernel, stride in ((32, 64, 56, 64, 3, 1), (32, 64, 56, 256, 1, 1), (32, 128, 28, 128, 3, 1), (32, 256, 14, 256, 3, 1),
                                                (32, 512, 7, 512, 3, 1), (32, 3, 224, 64, 7, 2), (8, 32, 32, 64, 5, 1)):  # fmt: skip
            at = f"{n}x{c}x{size}x{size} to {out}, {kernel}x{kernel}/{stride} {dtype}"
            yield from both("conv2d", at, lambda L, s=stride, k=kernel: lambda x, w: L.nn.functional.conv2d(x, w, None, s, k // 2),
                            of(n, c, size, size, dtype=dtype), of(out, c, kernel, kernel, dtype=dtype))  # fmt: skip
        for n, c, size in ((32, 64, 56), (32, 256, 14)):
            at = f"{n}x{c}x{size}x{size} {dtype}"
            yield from both("batch_norm", at, lambda L: lambda x, w, b: L.nn.functional.batch_norm(x, None, None, w, b, True),
                            of(n, c, size, size, dtype=dtype), of(c, dtype=dtype), of(c, dtype=dtype))  # fmt: skip
            yield from both("max_pool2d", at, lambda L: lambda x: L.nn.functional.max_pool2d(x, 2), of(n, c, size, size, dtype=dtype))
    for batch, heads, length, width in ((8, 12, 1024, 64), (1, 12, 128, 64), (4, 16, 2048, 128), (16, 12, 512, 64), (1, 32, 4096, 128)):
        for causal in (False, True):
            at = f"{batch}x{heads}x{length}x{width}{' causal' if causal else ''} bfloat16"
            parts = [of(batch, heads, length, width, dtype="bfloat16")] * 3
            attend = lambda L, c=causal: lambda *qkv: L.nn.functional.scaled_dot_product_attention(*qkv, is_causal=c)  # noqa: E731
            yield from both("attention", at, attend, *parts)


def all_cases() -> list[Case]:
    return [*main_cases(), *rows_sweep(), *index_sweep(), *layer_sweep()]
