"""What is timed: statements as text, one per library, and the target ratio to PyTorch.

PyTorch and Undertow run the same statements, on the module `L`; NumPy has its own statement, or none.
"""

from __future__ import annotations

from dataclasses import dataclass

OURS, TORCH, NUMPY = "undertow", "torch", "numpy"


@dataclass(frozen=True)
class Case:
    """One figure: seconds of `stmt`, divided by `per`."""

    name: str
    setup: str
    stmt: str
    target: float | None = None  # minimum of PyTorch's time over ours
    per: int = 1
    numpy_setup: str | None = None
    numpy_stmt: str | None = None
    fresh: bool = False  # the statement consumes what the setup made: one execution per setup
    threads: int = 1
    sparing: bool = False  # one short measurement instead of many, in CPU time if on one thread: for thousands of cases


EIGHT = "a = L.rand(8); b = L.rand(8); x = L.rand(8).requires_grad_(); w = L.rand(8).requires_grad_()\n"
MATRIX = "x = L.rand(8, 8).requires_grad_(); w = L.rand(8, 8).requires_grad_()\n"
NP_EIGHT = "r = np.random.default_rng(0); a = r.random(8, dtype=np.float32); b = r.random(8, dtype=np.float32)\n"
NP_MATRIX = NP_EIGHT + "a = r.random((8, 8), dtype=np.float32); b = r.random((8, 8), dtype=np.float32)\n"

FUNCTION = """
class Square(L.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x
g = L.rand(8)
"""
CHAIN = """
x = L.ones(8).requires_grad_(); w = L.ones(8); g = L.ones(8)
def chain(n):
    y = x
    for _ in range(n):
        y = y * w
    return y
"""
JOIN = """
leaves = [L.ones(8).requires_grad_() for _ in range({n})]; g = L.ones(8)
def join():
    y = leaves[0]
    for i, leaf in enumerate(leaves):
        y = y * leaf if i & 1 else y + leaf
    return y
"""
LARGE = """
x = L.rand({n}).requires_grad_(); w = L.rand({n}).requires_grad_(); b = L.rand({n}).requires_grad_(); g = L.rand({n})
def f():
    return (x * w + b).tanh()
"""
NP_LARGE = "r = np.random.default_rng(0); x, w, b = (r.random({n}, dtype=np.float32) for _ in range(3))\n"
CLEAR = "x.grad = w.grad = b.grad = None\n"


def small() -> list[Case]:
    """Single operations on eight floats: nothing but overhead."""
    return [
        Case("a*b, no grad", EIGHT, "a * b", 25, numpy_setup=NP_EIGHT, numpy_stmt="a * b"),
        Case("x*w, recorded", EIGHT, "x * w", 25),
        Case("2*x, recorded", EIGHT, "2 * x", 15, numpy_setup=NP_EIGHT, numpy_stmt="2 * a"),
        Case("x.exp(), recorded", EIGHT, "x.exp()", 15, numpy_setup=NP_EIGHT, numpy_stmt="np.exp(a)"),
        Case("x.sum(), recorded", EIGHT, "x.sum()", 15, numpy_setup=NP_EIGHT, numpy_stmt="a.sum()"),
        Case("x[0], recorded", EIGHT, "x[0]", 15, numpy_setup=NP_EIGHT, numpy_stmt="a[0]"),
        Case("x.view(2,4), recorded", EIGHT, "x.view(2, 4)", 15, numpy_setup=NP_EIGHT, numpy_stmt="a.reshape(2, 4)"),
        Case("x@w 8x8, recorded", MATRIX, "x @ w", 15, numpy_setup=NP_MATRIX, numpy_stmt="a @ b"),
    ]


def functions() -> list[Case]:
    """A custom Function that saves one tensor of eight floats."""
    return [
        Case("Function.apply", EIGHT + FUNCTION, "Square.apply(x)", 3),
        Case("Function.apply and backward", EIGHT + FUNCTION, "Square.apply(x).backward(g)", 3),
    ]


def graphs(n: int = 2000, targets: bool = True) -> list[Case]:
    """Chains and joins of n recorded operations."""
    forward, backward, free, joined = (25, 30, 8, 15) if targets else (None,) * 4
    return [
        # Kept in y, so that freeing it is not measured.
        Case(f"chain of {n:,}: forward per op", CHAIN, f"y = chain({n})", forward, per=n, fresh=True),
        Case(f"chain of {n:,}: backward per node", CHAIN + f"y = chain({n})", "y.backward(g)", backward, per=n, fresh=True),
        Case(f"chain of {n:,}: freeing per node", CHAIN + f"y = chain({n})", "y = None", free, per=n, fresh=True),
        Case(f"{n:,} leaves joined, forward and backward", JOIN.format(n=n), "join().backward(g)", joined, per=n),
    ]


def large() -> list[Case]:
    """(x*w + b).tanh() over many floats, two threads."""
    out = []
    for n, name, target in ((1_000_000, "1M", 1.0), (10_000_000, "10M", 1.5)):
        setup = LARGE.format(n=n)
        out.append(Case(f"pointwise over {name}: forward", setup, "f()", target, threads=2,
                        numpy_setup=NP_LARGE.format(n=n), numpy_stmt="np.tanh(x * w + b)"))
        out.append(Case(f"pointwise over {name}: backward", setup + CLEAR + "y = f()", "y.backward(g)", target, fresh=True, threads=2))
    return out


def all_cases() -> list[Case]:
    return small() + functions() + graphs() + large()


def growth_cases(n: int) -> list[Case]:
    return graphs(n, targets=False)
