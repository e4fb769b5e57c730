"""Every operator of our tables compared with torch, on the sample inputs of torch's own operator database.

Values, gradients, second gradients and tangents for the same random directions, and the inputs for which torch raises.
Quick: a few samples per operator in float64. The slow form uses all samples, and float32, complex128, bfloat16 and int64.
"""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")
pytest.importorskip("expecttest", reason="torch's operator database needs expecttest, which is not installed")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ops"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import carry
from carry import Untranslatable, difference, tensors_in, to_ut
from table import entries

import undertow as ut

pytestmark = [pytest.mark.filterwarnings("ignore")]

# Results that are random or not unique.
NO_SINGLE_ANSWER = {
    "bernoulli", "normal", "multinomial", "cauchy", "exponential", "geometric", "log_normal", "uniform", "rand", "randn", "randint",
    "rand_like", "randn_like", "randint_like", "randperm", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided",
    *(f"nn.functional.{name}" for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout",
                                           "rrelu", "gumbel_softmax")),  # under one seed in tests/nn/test_dropout.py
    "linalg.eig", "linalg.eigh", "linalg.eigvals",
    "linalg.svd", "svd", "qr", "linalg.qr", "geqrf", "ormqr", "linalg.householder_product", "linalg.lstsq",
}
# Where torch's database calls an operator through a wrapper, ours needs the same one.
WRAPPED = {
    "where": lambda f: lambda self, condition, other: f(condition, self, other),
    "nn.functional.embedding": lambda f: lambda weight, indices, **k: f(indices, weight, **k),
    "nn.functional.embedding_bag": lambda f: lambda weight, indices, **k: f(indices, weight, **k),
    # torch's wrappers of these set a seed
    **dict.fromkeys(("nn.functional.scaled_dot_product_attention", "nn.functional.multi_head_attention_forward",
                     "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d"),
                    lambda f: lambda *a, **k: (ut.manual_seed(42), f(*a, **k))[1]),
    "polygamma": lambda f: lambda x, n, **k: f(n, x, **k),
    "special.polygamma": lambda f: lambda x, n, **k: f(n, x, **k),
    "linalg.pinv.singular": lambda f: lambda a, b: f(a @ b.mT),
    "einsum": lambda f: lambda tensors, equation: f(equation, tensors),
}
@dataclass(frozen=True)
class Excuse:
    """A correct difference from torch: how its description begins, with or without the dtype, and the reason.

    A difference of values is excused up to `within`, in units of the largest element; or, with `exact`, where ours is what
    torch computes in float64, rounded. Other differences are excused only where `begins` spells them out, after a colon.
    """

    begins: str
    why: str
    within: float = 0.0
    exact: bool = False
    on_some_processors: bool = False  # torch's kernels differ between processors, so a run may not need the excuse


def in_bfloat16(why: str, *what: str, within: float = 0.0, on_some_processors: bool = False) -> tuple[Excuse, ...]:
    return tuple(Excuse(f"bfloat16 {w}", why, within, not within, on_some_processors) for w in what or ("result 0",))


_FLOAT32_WEIGHTS = "weights of float32 beside 64 bits: float32's rounding"
_PLACES = "torch's rounding of bfloat16 places"
# Samples that cannot agree, by operator. See docs/why.md.
DIFFERS: dict[str, tuple[Excuse, ...]] = {
    "as_strided_scatter": (Excuse("gradient 0", "torch gives back the gradient of the part that was overwritten", 10.0),),
    "triangular_solve": (Excuse("tangent 0", "torch's tangent moves with the triangle that is never read", 10.0),),
    "cholesky_inverse": (Excuse("tangent 0", "torch's tangent is not what finite differences give, even for a triangular factor", 10.0),),
    "cov": tuple(Excuse(what, _FLOAT32_WEIGHTS, 1e-4) for what in ("float64 tangent 0", "complex128 tangent 0", "complex128 second gradient 1")),
    "frexp": (Excuse("bfloat16 tangent 0: dtype", "torch's tangent is float32"),),
    "renorm": (Excuse("bfloat16 tangent 0: dtype", "torch's tangent is float32"),),
    "scatter_reduce": in_bfloat16("of prod: large terms that cancel, in bfloat16", "second gradient", within=1.0),
    "matrix_exp": (Excuse("float32 result 0", "torch's float32 has errors of 3e-4", exact=True, on_some_processors=True), *in_bfloat16("torch's is NaN")),
    "nn.functional.bilinear": in_bfloat16("both round a product of two factors to bfloat16, of different ones", within=0.01, on_some_processors=True),
    "div": in_bfloat16("torch rounds the quotient to bfloat16 before it truncates"),
    "histc": in_bfloat16("torch places elements by bfloat16 arithmetic"),
    "nn.functional.binary_cross_entropy_with_logits": in_bfloat16("torch rounds to bfloat16 after each step"),
    **{f"nn.functional.conv_transpose{n}d": in_bfloat16("torch adds overlapping blocks in bfloat16") for n in (2, 3)},
    "native_group_norm": (Excuse("result 1: requires_grad", "the statistics have no derivative here, as those of the other normalizations"),),
    "istft": (Excuse("gradient 1: only one of the two is None", "the database's window is a view that torch takes no gradient of, carried over as a leaf"),),
    "nn.functional.interpolate": in_bfloat16("torch rounds to bfloat16 between the axes"),
    **dict.fromkeys(("nn.functional.grid_sample", "grid_sampler_2d", "grid_sampler_3d"),
                    in_bfloat16(_PLACES, "gradient", "second gradient", within=0.1, on_some_processors=True)),
}
# torch's order of equal elements is arbitrary unless a stable one is requested; ours is always stable.
ORACLE = {
    "sort": lambda x, dim=-1, descending=False, stable=True: torch.sort(x, dim=dim, descending=descending, stable=True),
    "argsort": lambda x, dim=-1, descending=False, stable=True: torch.argsort(x, dim=dim, descending=descending, stable=True),
    "msort": lambda x: torch.sort(x, dim=0, stable=True).values,
}
# Functions of the package that are not entries of the tables.
MADE_IN_PYTHON = (
    "corrcoef", "cov", "gradient", "grid_sampler_2d", "grid_sampler_3d", "histogram", "histogramdd", "istft", "stft", "unique", "unique_consecutive",
    *(f"fft.{name}" for name in ut.fft.__all__), *(f"signal.windows.{name}" for name in ut.signal.windows.__all__),
)
DTYPES = {"float64": 1e-7, "complex128": 1e-7, "float32": 2e-4, "bfloat16": 2e-2, "int64": 0.0}


def operators() -> list[str]:
    """Dotted names of every operator that is visible in Python."""
    names = {}
    for e in entries().values():
        if not e.variants & {"function", "method"}:
            continue
        for module, name in e.python_names:
            if module in ("_nn", "_special") or (name.startswith("_") and not name.endswith("__")):
                continue  # internal; nn.functional has functions around them
            names[".".join(filter(None, [module, name.removeprefix("linalg_") if module == "linalg" else name]))] = None
    functional = [f"nn.functional.{name}" for name, f in vars(ut.nn.functional).items() if callable(f) and not name.startswith("_")]
    return list(names | dict.fromkeys(functional) | dict.fromkeys(MADE_IN_PYTHON))


@cache
def database() -> dict[str, list]:
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    found: dict[str, list] = {}
    for op in op_db:
        if op.variant_test_name != "partial_views":
            found.setdefault(op.name, []).append(op)
    return found


def ours(name: str):
    f = carry.find(name)
    return WRAPPED[name](f) if f is not None and name in WRAPPED else f


def infos(name: str) -> list:
    if name in NO_SINGLE_ANSWER:
        pytest.skip("no single right answer")
    found = database().get(name)
    if not found:
        pytest.skip("torch's database has no samples of it")
    return found


def samples_of(op, dtype, requires_grad: bool, limit: int | None) -> list:
    """All samples of an entry of the database, or about `limit` of them; the same in every run, whatever ran before."""
    torch.manual_seed(0)
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=requires_grad))
    return samples[:: max(1, len(samples) // limit)][:limit] if limit else samples


def random_like(tensors: list, seed: int) -> list:
    rng, made = np.random.default_rng(seed), []
    for t in tensors:
        a = rng.standard_normal(tuple(t.shape))
        if t.dtype.is_complex:
            a = a + 1j * rng.standard_normal(tuple(t.shape))
        made.append(torch.tensor(a, dtype=t.dtype))
    return made


def in_float64(x):
    if isinstance(x, torch.Tensor):
        return x.detach().double() if x.is_floating_point() else x
    if isinstance(x, (list, tuple)):
        return type(x)(in_float64(v) for v in x)
    return {k: in_float64(v) for k, v in x.items()} if isinstance(x, dict) else x


class Sample:
    """One sample of the database in both libraries."""

    def __init__(self, op, function, sample, tolerance: float, seed: int) -> None:
        self.op, self.function, self.tolerance, self.seed = op, function, tolerance, seed
        self.oracle = ORACLE.get(op.name, op.op)
        self.theirs = (sample.input, list(sample.args), dict(sample.kwargs))
        self.here = tuple(to_ut(part) for part in self.theirs)

    def run(self) -> str | None:
        """The first difference."""
        want = self.oracle(self.theirs[0], *self.theirs[1], **self.theirs[2])
        got = self.function(self.here[0], *self.here[1], **self.here[2])
        wants, gots = tensors_in(want, torch.Tensor) or [want], tensors_in(got, ut.Tensor) or [got]
        if len(wants) != len(gots):
            return f"{len(wants)} results, here {len(gots)}"
        for k, (a, b) in enumerate(zip(wants, gots, strict=True)):
            if d := difference(a, b, f"result {k}", self.tolerance):
                return d
        for k, (a, b) in enumerate(zip(wants, gots, strict=True)):
            if isinstance(a, torch.Tensor) and a.requires_grad != b.requires_grad:
                return f"result {k}: requires_grad, torch {a.requires_grad}, here {b.requires_grad}"
        return self.derivatives(wants, gots) if self.op.supports_autograd else None

    def beside_float64(self) -> str | None:
        """The first difference from what torch computes in float64, rounded to the dtype of our result."""
        x, args, kwargs = in_float64(self.theirs)
        wants = tensors_in(self.oracle(x, *args, **kwargs), torch.Tensor)
        gots = tensors_in(self.function(self.here[0], *self.here[1], **self.here[2]), ut.Tensor)
        for k, (a, b) in enumerate(zip(wants, gots, strict=True)):
            if d := difference(a.to(getattr(torch, carry.short(b.dtype))), b, f"result {k} beside float64", self.tolerance):
                return d
        return None

    def derivatives(self, wants, gots) -> str | None:
        wants = [o for o in wants if isinstance(o, torch.Tensor) and o.requires_grad]
        gots = [o for o in gots if isinstance(o, ut.Tensor) and o.requires_grad]
        x = [t for t in tensors_in(self.theirs, torch.Tensor) if t.requires_grad]
        y = [t for t in tensors_in(self.here, ut.Tensor) if t.requires_grad]
        if not wants or not x or len(x) != len(y):
            return None
        again = self.op.supports_gradgrad
        v = [c.requires_grad_() for c in random_like(wants, self.seed)]
        w = [to_ut(c) for c in v]
        try:
            g = torch.autograd.grad(wants, x, v, create_graph=again, allow_unused=True)
        except NotImplementedError:
            return None
        h = ut.autograd.grad(gots, y, w, create_graph=again, allow_unused=True)
        for k, (a, b) in enumerate(zip(g, h, strict=True)):
            if d := difference(a, b, f"gradient {k}", self.tolerance * 10):
                return d
        return (self.second(g, h, x + v, y + w) if again else None) or self.tangents(x)

    def second(self, g, h, x, y) -> str | None:
        keep = [k for k, t in enumerate(g) if t is not None and t.requires_grad]
        if not keep:
            return None
        v = random_like([g[k] for k in keep], self.seed + 1)
        try:
            want = torch.autograd.grad([g[k] for k in keep], x, v, allow_unused=True)
        except RuntimeError:
            return None
        got = ut.autograd.grad([h[k] for k in keep], y, [to_ut(c) for c in v], allow_unused=True)
        for k, (a, b) in enumerate(zip(want, got, strict=True)):
            if d := difference(a, b, f"second gradient {k}", self.tolerance * 100):
                return d
        return None

    def tangents(self, x) -> str | None:
        forward = getattr(ut.autograd, "forward_ad", None)
        if forward is None or not self.op.supports_forward_ad:
            return None
        directions = random_like(x, self.seed + 2)
        try:
            want = self.pushed(torch, self.oracle, self.theirs, directions)
        except (NotImplementedError, RuntimeError):
            return None
        got = self.pushed(ut, self.function, self.here, [to_ut(d) for d in directions])
        for k, (a, b) in enumerate(zip(want, got, strict=True)):
            if d := difference(a, b, f"tangent {k}", self.tolerance * 10):
                return d
        return None

    @staticmethod
    def pushed(library, function, sample, directions) -> list:
        fw, left = library.autograd.forward_ad, iter(directions)

        def dual(x):
            if isinstance(x, library.Tensor):
                return fw.make_dual(x.detach(), next(left)) if x.requires_grad else x
            if isinstance(x, (list, tuple)):
                made = [dual(v) for v in x]
                return made if isinstance(x, list) else tuple(made)
            return {k: dual(v) for k, v in x.items()} if isinstance(x, dict) else x

        with fw.dual_level():
            first, args, kwargs = dual(sample)
            outputs = tensors_in(function(first, *args, **kwargs), library.Tensor)
            found = [fw.unpack_dual(o).tangent for o in outputs]
            return [None if t is None else t.clone() for t in found]


SIZES = re.compile(r"differs by up to (\S+) of (\S+) ")


def excuse_of(name: str, text: str, pair: Sample) -> Excuse | None:
    """The excuse that a difference has, if it is one of values within its bound, or another that the excuse spells out."""
    for e in DIFFERS.get(name, ()):
        if not text.startswith(e.begins) and not text.partition(" ")[2].startswith(e.begins):
            continue
        sizes = SIZES.search(text)
        if e.exact:
            assert pair.beside_float64() is None, f"{name}: {text}; {pair.beside_float64()}"
            return e
        if sizes and float(sizes[1]) <= e.within * max(1.0, float(sizes[2])):
            return e
        if not sizes and ":" in e.begins:
            return e
    return None


def compare(name: str, dtypes: list[str], limit: int | None) -> set[Excuse]:
    """Compares samples; returns the excuses that were needed."""
    function, ran, used = ours(name), 0, set()
    assert function is not None, f"undertow has no {name}"
    for op in infos(name):
        wrap = WRAPPED.get(f"{name}.{op.variant_test_name}")
        for dtype_name in dtypes:
            dtype = getattr(torch, dtype_name)
            if dtype not in op.dtypes:
                continue
            needs = op.supports_autograd and dtype_name != "int64"
            for k, sample in enumerate(samples_of(op, dtype, needs, limit)):
                try:
                    pair = Sample(op, wrap(function) if wrap else function, sample, DTYPES[dtype_name], 1000 + k)
                except Untranslatable:
                    continue
                d = pair.run()
                if d and (excuse := excuse_of(name, f"{dtype_name} {d}", pair)):
                    used.add(excuse)
                    ran += ":" in excuse.begins or excuse.begins.startswith(("gradient", "tangent"))  # the values agree
                    continue
                label = f"{op.name}{'.' + op.variant_test_name if op.variant_test_name else ''} {dtype_name} sample {k}"
                assert d is None, f"{label}: {d}\n{sample}"
                ran += 1
    if not ran and not used:
        pytest.skip("no sample can be carried over")
    assert ran, "every sample is excused"
    return used


@pytest.mark.parametrize("name", operators())
def test_agrees_with_torch(name: str):
    """In float64, on a few samples."""
    dtypes = ["float64"]
    if not any(torch.float64 in op.dtypes for op in infos(name)):
        dtypes = ["int64"]
    compare(name, dtypes, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", operators())
def test_agrees_with_torch_on_every_sample(name: str):
    used = compare(name, list(DTYPES), None)
    assert not {e for e in DIFFERS.get(name, ()) if not e.on_some_processors} - used, "an excuse that no sample needs"


@pytest.mark.parametrize("name", operators())
def test_raises_where_torch_raises(name: str):
    function, ran = ours(name), 0
    assert function is not None, f"undertow has no {name}"
    for op in infos(name):
        if op.error_inputs_func is None:
            continue
        for error in op.error_inputs("cpu"):
            sample = error.sample_input
            try:
                x, args, kwargs = to_ut(sample.input), to_ut(list(sample.args)), to_ut(dict(sample.kwargs))
            except (Untranslatable, RuntimeError, AttributeError, ValueError):
                continue
            try:
                op.op(sample.input, *sample.args, **sample.kwargs)
                continue
            except Exception as e:  # noqa: BLE001 - whatever torch raises is the answer
                kind, text = type(e), str(e)
            if "unsupported operation" in text:
                continue  # overlapping memory, which the conversion does not keep
            with pytest.raises((RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)) as caught:
                function(x, *args, **kwargs)
                pytest.fail(f"accepted, but torch raises {kind.__name__}: {text[:200]}\n{sample}")
            loose = {RuntimeError, ValueError, NotImplementedError}
            accident = kind is AttributeError or "Could this error message be improved?" in text  # torch's own checks came too late
            same = accident or issubclass(caught.type, kind) or {kind, caught.type} <= loose
            assert same, f"raised {caught.type.__name__}: {caught.value}; torch {kind.__name__}: {text[:200]}"
            ran += 1
    if not ran:
        pytest.skip("torch's database has no error inputs")
