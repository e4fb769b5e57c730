"""Properties of what an operator computes: values, dtypes, layouts, out=, threads and errors."""

from __future__ import annotations

import warnings

import cases
import numpy as np
import pytest
import table
from apply import (
    ERRORS,
    TOLERANCE,
    accepted,
    attempt,
    call,
    cases_of,
    drawn,
    is_real_only,
    outputs_of,
    reference_of,
    results_of,
    same,
    undifferentiable,
)
from numeric import flatten
from samples import DTYPES, INEXACT, Array, Case, Fixed, tensors_of, to_numpy, to_tensor
from table import computes_in, find

import undertow as ut


def axes(dim, array):
    """Dims in NumPy's form: a tuple, and None for all; a scalar has none, where torch allows 0 and -1."""
    if isinstance(array, np.ndarray) and array.ndim == 0:
        return None
    return (tuple(dim) or None) if isinstance(dim, list) else dim


def widened(args, made_from, floats: bool):
    """The dtype of the reference: NumPy's half precision and its functions of small integers are too inaccurate.

    Indices and other tensors of a fixed dtype stay as they are."""
    def one(a, spec):
        if isinstance(a, (list, tuple)):
            return type(a)(one(x, y) for x, y in zip(a, spec, strict=True))
        if not isinstance(a, np.ndarray) or isinstance(spec, Fixed):
            return a
        if a.dtype == np.float16:
            return a.astype("float32")
        return a.astype("float64") if floats and a.dtype.kind in "iub" else a

    return [one(a, spec) for a, spec in zip(args, made_from, strict=True)]


def check_values(key: str, e) -> None:
    """Values, shapes and, for pointwise entries, dtypes against the NumPy reference, in every supported dtype."""
    function, ran = find(e), 0
    for number, c in enumerate(cases_of(key, e)):
        reference = reference_of(e, c)
        if reference is None:
            continue
        for dtype in DTYPES:
            if dtype.startswith("complex") and is_real_only(e, c):
                continue
            if e.is_pointwise and not computes_in(e, dtype):
                continue
            args, kwargs = drawn(key, c, dtype, number)
            if dtype in c.raises_for:
                with pytest.raises(ERRORS):
                    call(function, args, kwargs, dtype)
                continue
            if e.is_pointwise:
                result = call(function, args, kwargs, dtype)
            elif (result := attempt(function, args, kwargs, dtype)) is None:
                continue
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wide = widened(args, c.args, any(t.dtype.is_floating_point for t in results_of(result)))
                wanted = reference(*wide, **{k: axes(v, wide[0]) if k == "dim" else v for k, v in kwargs.items() if k != "dtype"})
            wanted = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
            got = results_of(result)
            assert len(got) == len(wanted), f"{dtype}: {len(got)} results, the reference has {len(wanted)}"
            for g, w in zip(got, wanted, strict=True):
                if w is None:
                    continue  # not unique
                w = np.asarray(w, dtype=bool if g.dtype == ut.bool else None)
                assert tuple(g.shape) == w.shape, f"case {number} {dtype}: shape {tuple(g.shape)}, the reference has {w.shape}"
                result_dtype = str(g.dtype).rpartition(".")[2]
                loose = dtype if dtype in TOLERANCE else result_dtype
                if result_dtype in ("float32", "complex64") and loose not in ("float16", "bfloat16"):
                    loose = "float32"
                same(to_numpy(g).astype("complex128"), w.astype("complex128"), loose, f"case {number} {dtype}")
            ran += 1
    assert ran, "no case could be compared with the reference"


def check_dtypes(key: str, e) -> None:
    """The dtypes that dtypes.txt lists work, and the others raise; a pointwise entry supports the dtypes of its table."""
    c = cases_of(key, e)[0]
    assert key in table.dtypes_listed(), "rewrite dtypes.txt: python tests/ops/table.py dtypes"
    works, letters = 0, dict(zip(DTYPES, table.dtypes_listed()[key], strict=True))
    for dtype in DTYPES:
        args, kwargs = drawn(key, c, dtype)
        if dtype in c.raises_for:
            continue  # check_values tests it
        if dtype == "bool" and e.is_pointwise and any(a.type == "Scalar" for a in e.args):
            continue  # a number promotes a bool to an integer, and the table's classes refer to the promoted dtype
        result = attempt(find(e), args, kwargs, dtype)
        if result is None:
            assert letters[dtype] == ".", f"{dtype} is in dtypes.txt but raises"
            assert not (e.is_pointwise and computes_in(e, dtype)), f"{dtype} is in the table but raises"
            continue
        works += 1
        assert letters[dtype] != ".", f"{dtype} works, but dtypes.txt does not list it"
        assert not e.is_pointwise or computes_in(e, dtype), f"{dtype} is not in the table but gave {result}"
        if not e.is_pointwise:
            continue
        got = str(result.dtype).rpartition(".")[2]
        promote = e.spec.get("promote", "arith")
        if promote == "bool":
            assert got == "bool", dtype
        elif promote == "arith" and not any(a.type == "Scalar" for a in e.args):
            assert got == dtype, f"{dtype} gave {got}"
        elif promote == "float":
            assert got == (dtype if dtype in INEXACT else "float32"), f"{dtype} gave {got}"
    assert works, "no dtype works"


def relaid(a: np.ndarray, how: str) -> ut.Tensor:
    """A tensor with the values of `a` and another memory layout."""
    if how == "transposed":
        t = to_tensor(np.ascontiguousarray(a.T))
        return t.as_strided(a.shape, t.stride()[::-1], t.storage_offset())
    if how == "strided":
        spread = np.zeros([2 * s + 1 for s in a.shape], a.dtype)
        spread[tuple(slice(1, None, 2) for _ in a.shape)] = a
        t = to_tensor(spread)
        for d, s in enumerate(a.shape):
            t = t.as_strided(*moved(t, d, s))
        return t
    raise ValueError(how)


def moved(t: ut.Tensor, d: int, size: int):
    """Geometry of every second element of dimension d, from the second on."""
    shape, stride = list(t.shape), list(t.stride())
    offset = t.storage_offset() + stride[d]
    shape[d], stride[d] = size, 2 * stride[d]
    return shape, stride, offset


def check_layouts(key: str, e) -> None:
    """Transposed, strided and offset tensors give the same as contiguous ones."""
    ran = 0
    for number, c in enumerate(cases_of(key, e)):
        found = accepted(key, e, c, number)
        if found is None or e.name in cases.LAYOUT_MATTERS:
            continue
        dtype, args, kwargs, plain = found
        for how in ("transposed", "strided"):
            full = [relaid(a, how) if isinstance(a, np.ndarray) and a.ndim else
                    [relaid(b, how) if isinstance(b, np.ndarray) and b.ndim else tensors_of(b, dtype) for b in a]
                    if isinstance(a, (list, tuple)) and any(isinstance(b, np.ndarray) for b in a) else tensors_of(a, dtype) for a in args]
            again = find(e)(*full, **{k: tensors_of(v, dtype) for k, v in kwargs.items()})
            for x, y in zip(outputs_of(plain), outputs_of(again), strict=True):
                same(y, x, "float64", f"case {number} {how}")
            ran += 1
    assert ran or e.name in cases.LAYOUT_MATTERS


def check_expanded(key: str, e) -> None:
    """Tensors with stride zero give the same as their copies."""
    ran = 0
    for number, c in enumerate(cases_of(key, e)):
        found = accepted(key, e, c, number)
        if found is None or e.name in cases.LAYOUT_MATTERS:
            continue
        dtype, args, kwargs, _ = found
        places = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.ndim and a.size and isinstance(c.args[i], Array)]
        if not places:
            continue
        args = list(args)
        for i in places:
            args[i] = np.broadcast_to(args[i][:1], args[i].shape).copy()
        full = [to_tensor(a[:1]).expand(a.shape) if i in places else tensors_of(a, dtype) for i, a in enumerate(args)]
        try:
            plain = attempt(find(e), args, kwargs, dtype)
        except ut.linalg.LinAlgError:
            continue  # equal rows: a singular matrix
        if plain is None:
            continue
        again = find(e)(*full, **{k: tensors_of(v, dtype) for k, v in kwargs.items()})
        for x, y in zip(outputs_of(plain), outputs_of(again), strict=True):
            same(y, x, "float64", f"case {number} expanded")
        ran += 1
    assert ran or e.name in cases.LAYOUT_MATTERS


def check_out(key: str, e) -> None:
    """out= is filled, resized when empty, returned, and raises in a narrower kind of dtype."""
    function, ran = find(e), 0
    for number, c in enumerate(cases_of(key, e)):
        found = accepted(key, e, c, number)
        if found is None or not isinstance(found[3], ut.Tensor):
            continue
        dtype, args, kwargs, result = found
        full, rest = tensors_of(tuple(args), dtype), {k: tensors_of(v, dtype) for k, v in kwargs.items()}
        for shape in ((0,), tuple(result.shape)):
            out = ut.empty(shape, dtype=result.dtype)
            before = out._version
            assert function(*full, **rest, out=out) is out
            assert out._version > before, "out= does not count as a write"
            assert out.shape == result.shape
            same(to_numpy(out), to_numpy(result), "float64", f"case {number}: out= differs")
        if result.dtype.is_floating_point and number == 0 and not e.spec.get("factory") and not e.spec.get("out_result"):
            with pytest.raises(RuntimeError, match="can't be cast|dtype|out tensor|Expected|scalar.type|non-boolean outputs"):
                function(*full, **rest, out=ut.empty(tuple(result.shape), dtype=ut.int64))
        ran += 1
    assert ran, "no case has a tensor to write"


def check_errors(key: str, e) -> None:
    """Bad arguments raise an ordinary exception with a message; they never crash and are never accepted."""
    function = find(e)
    found = accepted(key, e, cases_of(key, e)[0])
    assert found, "the first case works in no dtype"
    dtype, args, kwargs, _ = found
    full, rest = list(tensors_of(tuple(args), dtype)), {k: tensors_of(v, dtype) for k, v in kwargs.items()}

    def raises(*a, **k):
        try:
            result = function(*a, **k)
        except ERRORS as error:
            assert str(error), "raised without a message"
        else:
            assert result is NotImplemented, "accepted"  # which makes Python try the other operand

    if any(a.default is None for a in e.args):
        raises()
    raises(*full, **rest, no_such_argument=1)
    for i, a in enumerate(full):
        if isinstance(a, ut.Tensor):
            raises(*full[:i], "text", *full[i + 1 :], **rest)
            raises(*full[:i], object(), *full[i + 1 :], **rest)
    if e.is_pointwise and len([a for a in full if isinstance(a, ut.Tensor)]) > 1:
        raises(*[ut.ones(2 + i) if isinstance(a, ut.Tensor) else a for i, a in enumerate(full)], **rest)
    names = [a.name for a in e.args]
    if "dim" in names and e.args[names.index("dim")].type == "int" and isinstance(full[0], ut.Tensor):
        at = names.index("dim")
        far = full[0].dim() + 5
        if at < len(full):
            raises(*full[:at], far, *full[at + 1 :], **rest)
            raises(*full[:at], -far, *full[at + 1 :], **rest)
        else:
            raises(*full, **{**rest, "dim": far})


def large(value, size: int = 300_000):
    """The case's arrays with a larger first dimension."""
    if isinstance(value, Array) and len(value.shape) >= 1:
        rest = int(np.prod(value.shape[1:])) or 1
        return Array((max(1, size // rest), *value.shape[1:]), value.low, value.high, value.away)
    return value


def check_threads(key: str, e) -> None:
    """One and two threads give bitwise equal results, for a large input and for its gradient."""
    c = next(c for c in cases_of(key, e) if any(isinstance(a, Array) and a.shape and 0 not in a.shape for a in c.args))
    firsts = {a.shape[0] for a in c.args if isinstance(a, Array) and a.shape}
    if len(firsts) > 1:
        pytest.skip("shapes do not grow together")
    grown = Case(tuple(large(a) for a in c.args), c.kwargs)
    dtype, args, kwargs, _ = accepted(key, e, grown, floating="float32")

    def run():
        full = list(tensors_of(tuple(args), dtype))
        without = undifferentiable(e)
        leaves = [t.requires_grad_() for t, a in zip(full, e.args, strict=False) if dtype == "float32" and isinstance(t, ut.Tensor) and a.name in e.grad and a.name not in without]
        outputs = flatten(find(e)(*full, **kwargs))
        found = [to_numpy(o) for o in outputs]
        smooth = [o for o in outputs if o.requires_grad]
        if smooth:
            weights = [ut.ones_like(o) * 0.37 for o in smooth]
            found += [to_numpy(g) for g in ut.autograd.grad(smooth, leaves, weights, allow_unused=True) if g is not None]
        return found

    before = ut.get_num_threads()
    try:
        ut.set_num_threads(1)
        one = run()
        ut.set_num_threads(2)
        two = run()
    finally:
        ut.set_num_threads(before)
    for x, y in zip(one, two, strict=True):
        assert x.tobytes() == y.tobytes()
