"""The properties an entry must have, as functions check_<property>(key, entry), and which of them apply to it."""

from __future__ import annotations

import importlib.util
import inspect
import math
import warnings

import cases
import numpy as np
import pytest
from numeric import check_gradient, check_second, check_tangent, flatten
from samples import DTYPES, GENERATORS, INEXACT, REAL_ONLY, Array, Case, draw, seed_of, tensors_of, to_numpy, to_tensor
from table import computes_in, find, formula, plain_id

import undertow as ut

TOLERANCE = {"float16": (4e-3, 1e-3), "bfloat16": (2e-2, 1e-2), "float32": (2e-5, 1e-6), "complex64": (2e-5, 1e-5),
             "float64": (1e-10, 1e-12), "complex128": (1e-10, 1e-12)}
REFUSALS = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)
HAS_FORWARD_MODE = importlib.util.find_spec("undertow.autograd.forward_ad") is not None


def cases_of(key: str, e) -> list[Case]:
    """Hand-made cases if there are any, else those of the entry's `samples`."""
    by_hand = cases.CASES.get(key) or cases.CASES.get(plain_id(key))
    if by_hand is not None:
        return by_hand
    name = e.spec.get("samples", "none")
    if name == "none" or name not in GENERATORS:
        return []
    return GENERATORS[name](e)


def is_real_only(key: str, e, c: Case) -> bool:
    return c.real_only or (not (key in cases.CASES or plain_id(key) in cases.CASES) and e.spec.get("samples") in REAL_ONLY)


def drawn(key: str, c: Case, dtype: str, number: int = 0):
    rng = np.random.default_rng(seed_of(f"{key}{number}{dtype}"))
    return draw(c.args, rng, dtype), {k: draw(v, rng, dtype) for k, v in c.kwargs.items()}


def call(function, args, kwargs, dtype: str):
    return function(*tensors_of(tuple(args), dtype), **{k: tensors_of(v, dtype) for k, v in kwargs.items()})


def attempt(function, args, kwargs, dtype: str):
    """The result, or None where the dtype is refused in an orderly way."""
    try:
        return call(function, args, kwargs, dtype)
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def same(got, wanted, dtype: str, what: str) -> None:
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True, err_msg=what)


def outputs_of(result) -> list[np.ndarray]:
    return [to_numpy(t) for t in flatten(result)]


def float_arrays(args) -> list[tuple]:
    """Where the differentiable arrays are in a case's arguments: positions, with a second one inside lists."""
    found = []
    for i, a in enumerate(args):
        if isinstance(a, np.ndarray) and a.dtype.kind in "fc":
            found.append((i,))
        elif isinstance(a, (list, tuple)):
            found += [(i, j) for j, b in enumerate(a) if isinstance(b, np.ndarray) and b.dtype.kind in "fc"]
    return found


def as_function(function, args, kwargs, places):
    """The operator as a function of its floating tensors alone, with those tensors' arrays."""
    fixed = {k: tensors_of(v, "float64") for k, v in kwargs.items()}
    arrays = [args[p[0]] if len(p) == 1 else args[p[0]][p[1]] for p in places]

    def f(*tensors):
        full = list(tensors_of(tuple(args), "float64"))
        for p, t in zip(places, tensors, strict=True):
            if len(p) == 1:
                full[p[0]] = t
            else:
                inner = list(full[p[0]])
                inner[p[1]] = t
                full[p[0]] = inner
        return function(*full, **fixed)

    return f, arrays


# ---- the properties ----


def reference_of(e, c: Case):
    if c.reference is not None:
        return c.reference
    text = e.spec.get("reference")
    if not text:
        return None
    names = {"np": np, "math": math, "__builtins__": __builtins__}
    if "scipy" in text:
        try:
            import scipy
            import scipy.special
        except ImportError:
            return None  # NumPy lacks the special functions; without SciPy their derivatives alone are checked
        names["scipy"] = scipy
    return eval(text, names)  # noqa: S307 - from our own tables


def axes(dim, array):
    """Dims as NumPy says them: a tuple, and None for all; a scalar has none, where torch allows 0 and -1."""
    if isinstance(array, np.ndarray) and array.ndim == 0:
        return None
    return (tuple(dim) or None) if isinstance(dim, list) else dim


def widened(args, floats: bool):
    """What the reference computes with: NumPy's own half precision and its small integers' functions are too coarse."""
    def one(a):
        if isinstance(a, (list, tuple)):
            return type(a)(one(x) for x in a)
        if not isinstance(a, np.ndarray):
            return a
        if a.dtype == np.float16:
            return a.astype("float32")
        return a.astype("float64") if floats and a.dtype.kind in "iub" else a

    return [one(a) for a in args]


def check_values(key: str, e) -> None:
    """Values, shapes and, for pointwise entries, dtypes against the NumPy reference, in every dtype that is accepted."""
    function, ran = find(e), 0
    for number, c in enumerate(cases_of(key, e)):
        reference = reference_of(e, c)
        if reference is None:
            continue
        for dtype in DTYPES:
            if dtype.startswith("complex") and is_real_only(key, e, c):
                continue
            if e.is_pointwise and not computes_in(e, dtype):
                continue
            args, kwargs = drawn(key, c, dtype, number)
            if e.is_pointwise:
                result = call(function, args, kwargs, dtype)
            elif (result := attempt(function, args, kwargs, dtype)) is None:
                continue
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wide = widened(args, any(t.dtype.is_floating_point for t in flatten(result)))
                wanted = reference(*wide, **{k: axes(v, wide[0]) if k == "dim" else v for k, v in kwargs.items() if k != "dtype"})
            wanted = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
            got = flatten(result) if not isinstance(result, (bool, int, float, complex)) else [ut.tensor(result)]
            assert len(got) == len(wanted), f"{dtype}: {len(got)} results, the reference has {len(wanted)}"
            for g, w in zip(got, wanted, strict=True):
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
    """Every dtype either works or is refused in an orderly way; a pointwise entry does what its table says."""
    c = cases_of(key, e)[0]
    works = 0
    for dtype in DTYPES:
        args, kwargs = drawn(key, c, dtype)
        if dtype == "bool" and "#" in key:
            continue  # a number beside a bool makes it an integer: the table's classes are of the promoted dtype
        try:
            result = call(find(e), args, kwargs, dtype)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            assert str(error), f"{dtype}: refused without a word"
            assert not (e.is_pointwise and computes_in(e, dtype)), f"{dtype} is in the table but refused: {error}"
            continue
        works += 1
        assert not e.is_pointwise or computes_in(e, dtype), f"{dtype} is not in the table but gave {result}"
        if not e.is_pointwise:
            continue
        got = str(result.dtype).rpartition(".")[2]
        promote = e.spec.get("promote", "arith")
        if promote == "bool":
            assert got == "bool", dtype
        elif promote == "arith" and "result_dtype" not in e.spec and "#" not in key:
            assert got == dtype, f"{dtype} gave {got}"
        elif promote == "float":
            assert got == (dtype if dtype in INEXACT else "float32"), f"{dtype} gave {got}"
    assert works, "no dtype works"


def relaid(a: np.ndarray, how: str) -> ut.Tensor:
    """A tensor with the values of `a` and another place in memory."""
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
    """Transposed, strided and offset tensors give what contiguous ones give, forwards and backwards."""
    ran = 0
    for number, c in enumerate(cases_of(key, e)):
        args, kwargs = drawn(key, c, "float64", number)
        plain = attempt(find(e), args, kwargs, "float64")
        dtype = "float64"
        if plain is None:
            dtype = "int64"
            args, kwargs = drawn(key, c, dtype, number)
            plain = attempt(find(e), args, kwargs, dtype)
        if plain is None or e.name in cases.LAYOUT_MATTERS:
            continue
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
    """Tensors with stride zero give what their copies give."""
    ran = 0
    for number, c in enumerate(cases_of(key, e)):
        args, kwargs = drawn(key, c, "float64", number)
        places = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.ndim and a.size and a.dtype == np.float64]
        if not places or e.name in cases.LAYOUT_MATTERS:
            continue
        args, full = list(args), None
        for i in places:
            args[i] = np.broadcast_to(args[i][:1], args[i].shape).copy()
        full = [to_tensor(a[:1]).expand(a.shape) if i in places else tensors_of(a, "float64") for i, a in enumerate(args)]
        plain = attempt(find(e), args, kwargs, "float64")
        if plain is None:
            continue
        again = find(e)(*full, **{k: tensors_of(v, "float64") for k, v in kwargs.items()})
        for x, y in zip(outputs_of(plain), outputs_of(again), strict=True):
            same(y, x, "float64", f"case {number} expanded")
        ran += 1
    assert ran or e.name in cases.LAYOUT_MATTERS


def differentiable_cases(key: str, e, dtype: str):
    for number, c in enumerate(cases_of(key, e)):
        if not c.differentiable or (dtype.startswith("complex") and is_real_only(key, e, c)):
            continue
        args, kwargs = drawn(key, c, dtype, number)
        if attempt(find(e), args, kwargs, dtype) is None:
            continue
        places = float_arrays(args)
        if places:
            yield number, as_function(find(e), args, kwargs, places)


def derivative(check, key: str, e, limit: int) -> int:
    ran = 0
    for dtype in ("float64", "complex128"):
        found = list(differentiable_cases(key, e, dtype))[:limit]
        for number, (f, arrays) in found:
            if "complex128" not in {str(a.dtype) for a in arrays} and dtype == "complex128":
                continue
            rng = np.random.default_rng(seed_of(key) + number)
            try:
                ran += check(f, arrays, rng)
            except AssertionError as error:
                raise AssertionError(f"case {number}, {dtype}, shapes {[a.shape for a in arrays]}: {error}") from None
    return ran


def check_first_derivative(key: str, e) -> None:
    assert derivative(check_gradient, key, e, 12) or e.is_composite, "nothing was differentiated"


def check_second_derivative(key: str, e) -> None:
    derivative(check_second, key, e, 4)


def check_forward_mode(key: str, e) -> None:
    assert derivative(check_tangent, key, e, 6) or e.is_composite, "nothing was differentiated"


def check_inplace(key: str, e) -> None:
    """name_() gives what name() gives, returns its tensor, counts one version, and has the same gradient."""
    function, inplace, ran = find(e), find(e, "inplace"), 0
    for number, c in enumerate(cases_of(key, e)):
        for dtype in ("float64", "int64"):
            args, kwargs = drawn(key, c, dtype, number)
            result = attempt(function, args, kwargs, dtype)
            reshapes = e.spec.get("view") or e.is_composite  # x.t_() changes the tensor's own geometry
            if result is None:
                continue
            if e.spec.get("promote") == "bool":  # x.eq_(y) keeps the dtype of x
                result = result.to(getattr(ut, str(args[0].dtype)))
            if str(result.dtype).rpartition(".")[2] != str(args[0].dtype):
                continue
            if tuple(result.shape) != args[0].shape and not reshapes:
                continue
            full = tensors_of(tuple(args), dtype)
            rest = {k: tensors_of(v, dtype) for k, v in kwargs.items()}
            before = full[0]._version
            assert inplace(full[0], *full[1:], **rest) is full[0]
            assert full[0]._version == before + 1, f"the version went from {before} to {full[0]._version}"
            np.testing.assert_array_equal(to_numpy(full[0]), to_numpy(result))
            ran += 1
            if dtype == "float64" and c.differentiable and e.grad and args[0].size:
                gradient_inplace(e, function, inplace, args, rest, dtype)
    assert ran, "no case could be written in place"


def gradient_inplace(e, function, inplace, args, rest, dtype: str) -> None:
    def gradient(write: bool):
        full = list(tensors_of(tuple(args), dtype))
        leaves = [t.requires_grad_() for t in full if isinstance(t, ut.Tensor) and t.dtype.is_floating_point]
        if write:
            start = full[0] * 1
            out = inplace(start, *full[1:], **rest)
        else:
            out = function(full[0] * 1, *full[1:], **rest)
        assert out.requires_grad
        return [None if g is None else to_numpy(g) for g in ut.autograd.grad(out.sum(), leaves, allow_unused=True)]

    for x, y in zip(gradient(False), gradient(True), strict=True):
        if x is None or y is None:
            assert x is y or not np.any(x if y is None else y)
        else:
            same(y, x, "float64", "the gradient of the in-place form differs")


def check_out(key: str, e) -> None:
    """out= is filled, resized when empty, returned, and refused in a narrower kind of dtype."""
    function, ran = find(e), 0
    for number, c in enumerate(cases_of(key, e)):
        args, kwargs = drawn(key, c, "float64", number)
        result = attempt(function, args, kwargs, "float64")
        if not isinstance(result, ut.Tensor):
            continue
        full, rest = tensors_of(tuple(args), "float64"), {k: tensors_of(v, "float64") for k, v in kwargs.items()}
        for shape in ((0,), tuple(result.shape)):
            out = ut.empty(shape, dtype=result.dtype)
            assert function(*full, **rest, out=out) is out
            assert out.shape == result.shape
            same(to_numpy(out), to_numpy(result), "float64", f"case {number}: out= differs")
        if result.dtype.is_floating_point and number == 0 and not e.spec.get("factory"):
            with pytest.raises(RuntimeError):
                function(*full, **rest, out=ut.empty(tuple(result.shape), dtype=ut.int64))
        ran += 1
    assert ran, "no case has a tensor to write"


def check_saved_names(key: str, e) -> None:
    """Everything the formulas use is there as `_saved_*` on the node."""
    for number, c in enumerate(cases_of(key, e)):
        args, kwargs = drawn(key, c, "float64", number)
        full = list(tensors_of(tuple(args), "float64"))
        leaves = [t for a in full for t in (a if isinstance(a, (list, tuple)) else [a]) if isinstance(t, ut.Tensor) and t.dtype.is_floating_point]
        for t in leaves:
            t.requires_grad_()
        try:
            outputs = [o for o in flatten(find(e)(*full, **{k: tensors_of(v, "float64") for k, v in kwargs.items()})) if o.grad_fn is not None]
        except REFUSALS:
            continue
        if not outputs or outputs[0].grad_fn.name() != e.node:
            continue
        node = outputs[0].grad_fn
        for saved in formula.all_saved(e):
            assert f"_saved_{saved.public}" in dir(node), f"{node.name()} has no _saved_{saved.public}"
            getattr(node, f"_saved_{saved.public}")
        return
    pytest.skip("no case makes the entry's own node")


def check_refused(key: str, e) -> None:
    """Nonsense raises an ordinary exception with a message; it never crashes and is never accepted."""
    function = find(e)
    args, kwargs = drawn(key, cases_of(key, e)[0], "float64")
    full, rest = list(tensors_of(tuple(args), "float64")), {k: tensors_of(v, "float64") for k, v in kwargs.items()}

    def refuses(*a, **k):
        with pytest.raises(REFUSALS) as caught:
            function(*a, **k)
        assert str(caught.value), "refused without a word"

    if any(a.default is None for a in e.args):
        refuses()
    refuses(*full, **rest, no_such_argument=1)
    for i, a in enumerate(full):
        if isinstance(a, ut.Tensor):
            refuses(*full[:i], "text", *full[i + 1 :], **rest)
            refuses(*full[:i], object(), *full[i + 1 :], **rest)
    if e.is_pointwise and len([a for a in full if isinstance(a, ut.Tensor)]) > 1:
        refuses(*[ut.ones(2 + i) if isinstance(a, ut.Tensor) else a for i, a in enumerate(full)], **rest)
    names = [a.name for a in e.args]
    if "dim" in names and e.args[names.index("dim")].type == "int" and isinstance(full[0], ut.Tensor):
        at = names.index("dim")
        far = full[0].dim() + 5
        if at < len(full):
            refuses(*full[:at], far, *full[at + 1 :], **rest)
            refuses(*full[:at], -far, *full[at + 1 :], **rest)
        else:
            refuses(*full, **{**rest, "dim": far})


def large(value, size: int = 300_000):
    """The case's arrays made large: the first dimension grown."""
    if isinstance(value, Array) and len(value.shape) >= 1:
        rest = int(np.prod(value.shape[1:])) or 1
        return Array((max(1, size // rest), *value.shape[1:]), value.low, value.high, value.away)
    return value


def check_threads(key: str, e) -> None:
    """One and two threads give the same bits, for a large input and for its gradient."""
    c = next(c for c in cases_of(key, e) if any(isinstance(a, Array) and a.shape and 0 not in a.shape for a in c.args))
    firsts = {a.shape[0] for a in c.args if isinstance(a, Array) and a.shape}
    if len(firsts) > 1:
        pytest.skip("shapes do not grow together")
    grown = Case(tuple(large(a) for a in c.args), c.kwargs)
    args, kwargs = drawn(key, grown, "float32")

    def run():
        full = list(tensors_of(tuple(args), "float32"))
        leaves = [t.requires_grad_() for t in full if isinstance(t, ut.Tensor) and e.grad]
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


PROPERTIES = {name.removeprefix("check_"): f for name, f in list(globals().items())
              if name.startswith("check_") and inspect.isfunction(f) and f.__module__ == __name__}


def properties_of(key: str, e) -> list[str]:
    """Which properties apply to an entry."""
    found = cases_of(key, e)
    if not found or find(e) is None:
        return []
    chosen = []
    if any(reference_of(e, c) for c in found) and e.name not in cases.RANDOM:
        chosen.append("values")
    chosen += ["dtypes", "refused"]
    arrays = [a for c in found for a in c.args if isinstance(a, Array)]
    deterministic = e.name not in cases.RANDOM
    if arrays and deterministic:
        chosen.append("layouts")
        if any(a.shape and 0 not in a.shape for a in arrays) and e.variants & {"function", "method"}:
            chosen.append("expanded")
    smooth = (e.grad or e.is_composite) and any(c.differentiable for c in found) and e.name not in cases.NOT_SMOOTH
    smooth = smooth and bool(e.variants & {"function", "method"})  # what only writes cannot write to a leaf
    if smooth and arrays and deterministic:
        chosen += ["first_derivative", "second_derivative"]
        if HAS_FORWARD_MODE:
            chosen.append("forward_mode")
    if find(e, "inplace") and arrays and deterministic and "function" in e.variants:
        chosen.append("inplace")
    if "out" in e.variants and deterministic and e.return_type == "Tensor":
        chosen.append("out")
    if e.grad and not e.is_composite and formula.all_saved(e) and deterministic:
        chosen.append("saved_names")
    pointwise_or_reduction = e.is_pointwise or str(e.spec.get("samples")).startswith("reduc")
    if pointwise_or_reduction and deterministic and any(a.shape and 0 not in a.shape for a in arrays):
        chosen.append("threads")
    return [c for c in chosen if c not in cases.EXCEPT.get(plain_id(key), ())]
