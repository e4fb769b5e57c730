"""Expressions for hostile arguments, by the kind of argument, for tools.fuzz.api."""

from __future__ import annotations

import random

INTS = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "-1",
    "-2",
    "7",
    "64",
    "255",
    "2**31-1",
    "2**31",
    "-2**31",
    "2**32",
    "2**40",
    "2**62",
    "2**63-1",
    "-2**63",
    "-2**63+1",
    "2**63",
    "2**64",
    "10**30",
    "True",
]
SMALL_INTS = ["0", "1", "2", "3", "4", "-1", "-2", "-3", "5", "6"]
FLOATS = ["0.0", "1.0", "-1.5", "0.5", "2.0", "1e-320", "1e300", "-1e300", "float('inf')", "-float('inf')", "float('nan')", "3", "2**70"]
STRINGS = [
    "''",
    "'mean'",
    "'sum'",
    "'none'",
    "'cpu'",
    "'meta'",
    "'bogus'",
    "'\\ud800'",
    "'\\0'",
    "'ij,jk->ik'",
    "'linear'",
    "'nearest'",
    "'reflect'",
    "'amax'",
    "'ij'",
]
STRINGS += ["'fro'", "'nuc'", "'floor'", "'trunc'", "'tanh'", "'left'", "'reduced'", "'U'*10000", "'same'", "'constant'"]
DTYPES = [
    "ut.float32",
    "ut.float64",
    "ut.float16",
    "ut.bfloat16",
    "ut.int64",
    "ut.int32",
    "ut.int8",
    "ut.uint8",
    "ut.bool",
    "ut.complex64",
    "ut.complex128",
]
SHAPES = [
    "()",
    "(0,)",
    "(1,)",
    "(3,)",
    "(6,)",
    "(2, 3)",
    "(3, 3)",
    "(3, 2)",
    "(0, 3)",
    "(3, 0)",
    "(2, 3, 3)",
    "(1, 2, 4, 4)",
    "(2, 2, 3, 3, 3)",
    "(1,) * 8",
    "(1,) * 64",
    "(100,)",
    "(17, 5)",
]
OTHERS = [
    "None",
    "...",
    "object()",
    "slice(None)",
    "slice(2**62, -2**63, 2**62)",
    "lambda *a, **k: a[0]",
    "dict()",
    "{1: 2}",
    "set()",
    "b'bytes'",
    "bytearray(b'1234')",
    "memoryview(b'12')",
    "int",
    "ut.Tensor",
    "1j",
    "complex('nan')",
    "range(3)",
    "range(2**40)",
    "(i for i in range(3))",
    "Raises()",
    "Overrides()",
    "ut.Generator()",
    "ut.contiguous_format",
    "ut.channels_last",
    "ut.preserve_format",
    "ut.strided",
    "ut.device('meta')",
    "ut.Size([2, 3])",
    "ut.UntypedStorage(8)",
    "array([1, 2])",
    "Subclass(ut.ones(2))",
]
SEQUENCES = [
    "[]",
    "()",
    "[1]",
    "[0, 1]",
    "(2, 3)",
    "[2**62, 2**62]",
    "[2**63 - 1]",
    "[-1, 2]",
    "[0] * 100",
    "[1.5]",
    "['a']",
    "[None]",
    "[[1, 2], [3]]",
    "[[1, 2], [3, 4]]",
    "loop()",
    "shrinking()",
    "Shorter()",
    "Longer()",
    "[1, 2, 3, 4, 5, 6, 7]",
    "[True, False]",
    "[2**63]",
    "(2**31, 2**31)",
    "[0, 0]",
    "[-2**63, 1]",
    "range(4)",
    "[object()]",
    "['\\ud800']",
]

# Source of sequences that change while they are read.
CHANGING_SEQUENCES = """
class Shrinks:  # an int that empties the list it is in
    def __init__(self, owner): self.owner = owner
    def __index__(self): self.owner.clear(); return 1
    __int__ = __index__
    def __float__(self): self.owner.clear(); return 1.0
def shrinking(n=6):
    items = []
    items.extend(Shrinks(items) for _ in range(n))
    return items
class Shorter:  # a sequence that is shorter whenever it is asked
    def __init__(self, n=8): self.n = n
    def __len__(self): self.n -= 1; return max(self.n, 0)
    def __getitem__(self, i):
        if i >= max(self.n - 3, 0): raise IndexError(i)
        return 1
class Longer(Shorter):
    def __len__(self): self.n += 1; return self.n
    def __getitem__(self, i):
        if i > 50: raise IndexError(i)
        return 1
"""

PRELUDE = CHANGING_SEQUENCES + """
import undertow as ut
import undertow.nn.functional as F
try:
    from numpy import array
except ImportError:
    def array(x): return x
class Raises:
    def __index__(self): raise ZeroDivisionError("from __index__")
    __float__ = __len__ = __iter__ = __int__ = __bool__ = __array__ = __index__
    def __getattr__(self, name): raise ZeroDivisionError(name)
class Overrides:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return NotImplemented
class Subclass(ut.Tensor): pass
def loop():
    items = [1]
    items.append(items)
    return items
"""


def tensor(rng: random.Random) -> str:
    """Return an expression for a tensor of any dtype and layout."""
    shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
    base = rng.choices(
        [f"ut.ones({shape}, dtype={dtype})", f"ut.rand({shape})", f"ut.rand({shape}, dtype=ut.float64)", f"ut.zeros({shape}, dtype={dtype})"],
        [4, 5, 2, 2],
    )[0]
    form = rng.random()
    if form < 0.5:
        return base
    if form < 0.6:
        return f"ut.randint(0, 4, {shape})"
    if form < 0.65:
        return f"ut.rand({shape}, requires_grad=True)"
    return rng.choice(
        [
            f"{base}.expand(3, *{shape})",
            f"{base}.transpose(0, -1)",
            f"{base}[..., ::2]",
            f"ut.rand({shape}, dtype=ut.complex64).conj()",
            f"ut.full({shape}, float('nan'))",
            f"ut.full({shape}, float('inf'))",
            f"ut.full({shape}, 2**62)",
            f"ut.full({shape}, -1)",
            f"ut.rand({shape}) > 0.5",
            f"ut.empty({shape}, device='meta')",
            f"ut.rand({shape})._neg_view()",
            "ut.tensor([0, 5, -7, 2**63 - 1])",
            "ut.rand(1, 2, 4, 4).to(memory_format=ut.channels_last)",
            "ut.rand(2, 3).t()",
            "ut.rand(3, 3).t()[1:]",
            "ut.tensor(3)",
            "ut.tensor(-2**63)",
            "ut.nn.Parameter(ut.rand(3))",
            "ut.rand(3, requires_grad=True).exp()",
            "ut.tensor([], dtype=ut.int64)",
            "ut.rand(1).expand(5)",
            "ut.ones(4).as_strided((3, 2), (1, 1))",
        ]
    )


def value(rng: random.Random, kind: str) -> str:
    """Return an expression for an argument: mostly of its kind, sometimes of any."""
    if rng.random() < 0.12:
        kind = rng.choice(["tensor", "int", "float", "str", "ints", "other", "dtype", "bool"])
    if kind == "tensor":
        return tensor(rng)
    if kind == "tensors":
        return "[" + ", ".join(tensor(rng) for _ in range(rng.randrange(4))) + "]" if rng.random() < 0.9 else rng.choice(SEQUENCES)
    if kind == "int":
        return rng.choice(SMALL_INTS if rng.random() < 0.6 else INTS)
    if kind == "float":
        return rng.choice(FLOATS)
    if kind == "bool":
        return rng.choice(["True", "False"])
    if kind == "str":
        return rng.choice(STRINGS)
    if kind == "dtype":
        return rng.choice(DTYPES)
    if kind == "ints":
        if rng.random() < 0.5:
            return "[" + ", ".join(rng.choice(SMALL_INTS if rng.random() < 0.8 else INTS) for _ in range(rng.randrange(5))) + "]"
        return rng.choice(SEQUENCES + INTS[:6])
    return rng.choice(OTHERS + SEQUENCES)
