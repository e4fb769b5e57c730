"""The properties of vmap that an entry must have: a whole batch at once gives the same as one sample at a time."""

from __future__ import annotations

import re
from functools import partial

import cases
import numpy as np
from apply import as_function, drawn, float_arrays
from apply import cases_of as common_cases
from cases_batching import CASES as MORE
from numeric import flatten
from samples import DTYPES, Fixed, seed_of, tensors_of, to_numpy
from table import LETTERS, dtypes_listed, find, plain_id

import undertow as ut
import undertow.autograd.forward_ad as fw
from undertow._vmap import _dispatch

SIZE = 3
# Entries for which vmap raises with some or all arguments, because numbers or shapes would differ from sample to sample.
MAY_RAISE = {
    "item", "allclose", "equal", "nonzero", "nonzero.numpy", "argwhere", "where.condition", "masked_select", "one_hot", "_repeat_indices", "_unique2",
    "_unique_dim", "_unique_consecutive", "tensor_split.tensor", "narrow.Tensor", "bincount", "quantile", "nanquantile",
    "resize_", "resize_as_", "nonzero_static", "repeat_interleave.indices", "repeat_interleave.Tensor",
}
# The order of their elements matters, so their samples are copies.
ORDERED = {"searchsorted", "bucketize", "searchsorted.number", "bucketize.number", "embedding_bag", "_embedding_bag", "_unique_dim", "_unique_consecutive"}
# They take positive definite matrices, so their samples are multiples.
DEFINITE = {"linalg_cholesky", "cholesky"}
# Errors of a single call after which there is nothing to compare: the operator has no derivative there, or the result does
# not fit into what it is written to. Any other error is a failure.
NOTHING_TO_COMPARE = re.compile(
    r"is not implemented$|does not support it because it has not been implemented|is not differentiable with respect to|"
    r"output with shape .* doesn't match the broadcast shape|Bad in-place call|a leaf Variable that requires grad"
)


# Properties that do not apply to single entries, each with its reason.
_WITHOUT_DERIVATIVE = {
    "has integers or truth values as results": (
        "to_bool", "to_uint8", "to_int8", "to_int16", "to_int32", "to_int64", "argwhere", "where.condition", "nonzero_static", "argsort", "__rlshift__",
        "__rrshift__", "linalg_matrix_rank", "linalg_matrix_rank.float", "linalg_matrix_rank.tol", "linalg_matrix_rank.tol_tensor", "repeat_interleave.indices",
        "view.dtype"),
    "has none": ("floor_divide", "floor_divide.self", "__rfloordiv__", "heaviside", "linalg_ldl_factor_ex", "linalg_ldl_factor", "linalg_ldl_solve",
                 "_standard_gamma_grad"),
}
EXCEPT: dict[str, dict[str, str]] = {
    **{name: dict.fromkeys(("gradient", "tangent"), reason) for reason, names in _WITHOUT_DERIVATIVE.items() for name in names},
    **{name: {"tangent": "has no forward mode"} for name in ("_ctc_loss", "lstm_layer")},
    **{name: dict.fromkeys(("vmap", "nested", "gradient", "tangent"), "writes its argument, which the single calls have changed") for name in ("__ilshift__", "__irshift__")},
    "resize_": {"gradient": "does not resize what requires grad"},
    "resize_as_": {"gradient": "does not resize what requires grad"},
    "copy": {"gradient": "does not write to a leaf"},
    "fill_diagonal": {"gradient": "does not write to a leaf"},
    "linalg_eig": {"gradient": "a random cotangent depends on the phase of the eigenvectors"},
    **{name: dict.fromkeys(("gradient", "tangent"), "its derivative does not exist") for name in ("geqrf", "_unique2", "_unique_dim", "_unique_consecutive")},
    "zeta#other": dict.fromkeys(("gradient", "tangent"), "has none with respect to the first argument"),
}


def cases_of(key: str, e):
    return common_cases(key, e) + MORE.get(key, [])


def is_random(key: str) -> bool:
    return plain_id(key).partition(".")[0] in cases.RANDOM


def samples(t: ut.Tensor, key: str) -> list[ut.Tensor]:
    """The tensor, and others with the same elements in other orders, which are valid inputs if it is."""
    if plain_id(key) in ORDERED or not t.numel():
        return [t] * SIZE
    if plain_id(key) in DEFINITE:
        return [t * (i + 1) for i in range(SIZE)]
    flat = t.reshape(-1)
    return [t] + [flat.roll([i]).flip([0]).reshape(t.shape) for i in range(1, SIZE)]


def places(args) -> list[tuple]:
    """The positions of tensors in the arguments, with a second number inside lists."""
    found = []
    for i, a in enumerate(args):
        if isinstance(a, ut.Tensor):
            found.append((i,))
        elif isinstance(a, (list, tuple)):
            found += [(i, j) for j, b in enumerate(a) if isinstance(b, ut.Tensor)]
    return found


def at(args, place):
    return args[place[0]] if len(place) == 1 else args[place[0]][place[1]]


def placed(args, which, tensors):
    full = list(args)
    for p, t in zip(which, tensors, strict=True):
        if len(p) == 1:
            full[p[0]] = t
        else:
            inner = list(full[p[0]])
            inner[p[1]] = t
            full[p[0]] = type(args[p[0]])(inner)
    return full


def one_by_one(f, batches) -> list[ut.Tensor]:
    results = [flatten(f(*each)) for each in zip(*batches, strict=True)]
    return [ut.stack(list(column)) for column in zip(*results, strict=True)]


def compare(got, wanted, what: str) -> None:
    got, wanted = flatten(got), flatten(wanted)
    assert len(got) == len(wanted), what
    for g, w in zip(got, wanted, strict=True):
        assert g.dtype == w.dtype, (what, g.dtype, w.dtype)
        assert g.shape == w.shape, (what, g.shape, w.shape)
        a, b = (to_numpy(t) for t in (g, w))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, equal_nan=True, err_msg=what)


def choices(e, which):
    """All tensors batched, and each one alone; self is always batched if the function writes to it."""
    alone = [[p] for p in which] if len(which) > 1 else []
    return [which] + [c for c in alone if e.variants & {"function", "method"} or (0,) in c]


def tensor_cases(key: str, e):
    """The arguments of each case as tensors, with those that are keywords in the function."""
    takes = dtypes_listed().get(key, LETTERS)
    dtype = next(d for d in ("float64", "int64", "complex128") if takes[DTYPES.index(d)] != ".")
    for number, c in enumerate(cases_of(key, e)):
        args, kwargs = drawn(key, c, dtype, number)
        made = tensors_of(tuple(args), dtype)
        options = {k: tensors_of(v, dtype) for k, v in kwargs.items()}
        if places(made):
            yield number, made, options


def on(function, args, which, options):
    return lambda *tensors: function(*placed(args, which, tensors), **options)


def vmap_or_none(key: str, mapped, *batches):
    """The result, or None if vmap raises for an entry that it may raise for."""
    try:
        return mapped(*batches)
    except RuntimeError as error:
        if plain_id(key) in MAY_RAISE and ("vmap" in str(error) or "stack expects each tensor" in str(error)):
            return None
        raise


def none_there(error: Exception) -> bool:
    """Whether a single call failed for a reason that leaves nothing to compare."""
    if not NOTHING_TO_COMPARE.search(str(error)):
        raise error
    return True


def check_vmap(key: str, e) -> int:
    """vmap equals the stack of single calls, for each tensor batched or not, along the first and the last dimension."""
    function, ran = find(e), 0
    for number, args, options in tensor_cases(key, e):
        for which in choices(e, places(args)):
            f = on(function, args, which, options)
            batches = [samples(at(args, p), key) for p in which]
            try:
                wanted = one_by_one(f, batches)
            except RuntimeError as error:
                if none_there(error):
                    continue
            for dim in (0,) if e.name in cases.LAYOUT_MATTERS else (0, -1):
                stacked = [ut.stack(b, dim) for b in batches]
                got = vmap_or_none(key, ut.vmap(f, in_dims=dim), *stacked)
                ran += 1
                if got is not None:
                    compare(got, wanted, f"{key} case {number}, batched {which}, in_dims={dim}")
    return ran


def check_nested(key: str, e) -> int:
    """vmap in vmap equals two loops, with all tensors batched twice, and with some batched by one and some by the other."""
    function, ran = find(e), 0
    for number, args, options in tensor_cases(key, e):
        which = places(args)
        f = on(function, args, which, options)
        rows = [[samples(s, key) for s in samples(at(args, p), key)[:2]] for p in which]
        try:
            wanted = [one_by_one(f, [r[i] for r in rows]) for i in range(2)]
        except RuntimeError as error:
            if none_there(error):
                continue
        both = [ut.stack([ut.stack(row) for row in r]) for r in rows]
        got = vmap_or_none(key, ut.vmap(ut.vmap(f)), *both)
        ran += 1
        if got is not None:
            compare(got, [ut.stack(list(column)) for column in zip(*wanted, strict=True)], f"{key} case {number}, twice")
        if len(which) < 2 or not e.variants & {"function", "method"}:
            continue
        outer, inner = samples(at(args, which[0]), key), [samples(at(args, p), key) for p in which[1:]]
        grid = [one_by_one(partial(f, x), inner) for x in outer]
        in_dims = (0, *[None] * len(inner)), (None, *[0] * len(inner))
        stacked = [ut.stack(outer), *(ut.stack(s) for s in inner)]
        got = vmap_or_none(key, ut.vmap(ut.vmap(f, in_dims=in_dims[1]), in_dims=in_dims[0]), *stacked)
        if got is not None:
            compare(got, [ut.stack(list(column)) for column in zip(*grid, strict=True)], f"{key} case {number}, crossed")
    return ran


def check_inplace(key: str, e) -> int:
    """In place under vmap, every sample becomes what it becomes alone, and the result is the input."""
    function, ran = find(e, "inplace"), 0
    for number, args, options in tensor_cases(key, e):
        for which in choices(e, places(args)):
            if which[0] != (0,):
                continue
            f = on(function, args, which, options)
            batches = [samples(at(args, p), key) for p in which]
            try:
                wanted = [f(*[t.clone() for t in each]) for each in zip(*batches, strict=True)]
            except RuntimeError as error:
                if none_there(error):
                    continue
            stacked = [ut.stack(b) for b in batches]
            got = vmap_or_none(key, ut.vmap(f), *stacked)
            ran += 1
            if got is None:
                continue
            what = f"{key}_ case {number}, batched {which}"
            compare(got, [ut.stack(wanted)], what)
            if not e.spec.get("view"):
                compare(stacked[0], [ut.stack(wanted)], what + ": the input")
    return ran


def differentiable_cases(key: str, e):
    function = find(e)
    for number, c in enumerate(cases_of(key, e)):  # at a kink too: no input is changed here
        args, kwargs = drawn(key, c, "float64", number)
        found = [p for p in float_arrays(e, c, args) if _has_gradient(e, p)]
        if not found:
            continue
        f, arrays = as_function(function, args, kwargs, found)
        tensors = [ut.from_numpy(np.array(a)) if a.ndim else ut.tensor(a.item(), dtype=getattr(ut, str(a.dtype))) for a in arrays]
        yield number, f, tensors


def _has_gradient(e, place) -> bool:
    return e.is_composite or (place[0] < len(e.args) and e.args[place[0]].name in e.grad)


def _cotangents(outputs, seed: int):
    rng = np.random.default_rng(seed)
    made = []
    for o in outputs:
        values = rng.standard_normal((SIZE, *o.shape))
        if o.is_complex():
            values = values + 1j * rng.standard_normal((SIZE, *o.shape))
        made.append(ut.from_numpy(np.asarray(values)).to(o.dtype))
    return made


def check_gradient(key: str, e) -> int:
    """A batch of cotangents in one backward pass gives the gradients of each, and vmap's output differentiates like that of the loop."""
    ran = 0
    for number, f, tensors in differentiable_cases(key, e):
        inputs = [t.clone().requires_grad_() for t in tensors]
        try:
            outputs = [o for o in flatten(f(*inputs)) if o.requires_grad]
        except RuntimeError as error:
            if none_there(error):
                continue
        if not outputs:
            continue
        weights = _cotangents(outputs, seed_of(f"{key}{number}"))
        grad = partial(ut.autograd.grad, retain_graph=True, allow_unused=True)
        try:
            rows = [_found(grad(outputs, inputs, [w[i] for w in weights])) for i in range(SIZE)]
        except RuntimeError as error:
            if none_there(error):
                continue
        together = grad(outputs, inputs, weights, is_grads_batched=True)
        ran += 1
        compare(_found(together), [ut.stack(list(column)) for column in zip(*rows, strict=True)], f"{key} case {number}: batched gradients")
        if plain_id(key) in MAY_RAISE | cases.LAYOUT_MATTERS:
            continue
        batches = [ut.stack(samples(t, key)).requires_grad_() for t in tensors]
        mapped = vmap_or_none(key, ut.vmap(f), *batches)
        looped = one_by_one(f, [b.unbind(0) for b in batches])
        both = [[o for o in flatten(r) if o.requires_grad] for r in (mapped, looped)]
        assert len(both[0]) == len(both[1]), f"{key} case {number}: what requires grad under vmap"
        ones = [ut.ones_like(o) * (1 + i) for i, o in enumerate(both[0])]
        compare(_found(grad(both[0], batches, ones)), _found(grad(both[1], batches, ones)), f"{key} case {number}: gradients through vmap")
    return ran


def _found(grads) -> list[ut.Tensor]:
    return [g for g in grads if g is not None]


def check_tangent(key: str, e) -> int:
    """A batch of tangents gives the tangents of each, whether the primals are batched or not."""
    ran = 0
    for number, f, tensors in differentiable_cases(key, e):
        directions = _cotangents(tensors, seed_of(f"{key}{number}"))

        def push(f, primals, units):
            with fw.dual_level():
                duals = [fw.make_dual(x, u) for x, u in zip(primals, units, strict=True)]
                halves = [fw.unpack_dual(o) for o in flatten(f(*duals))]
                return [p if t is None else t for p, t in halves]

        try:
            wanted = [push(f, tensors, [d[i] for d in directions]) for i in range(SIZE)]
        except RuntimeError as error:
            if none_there(error):
                continue
        stacked = [ut.stack(list(column)) for column in zip(*wanted, strict=True)]
        for in_dims, primals in ((None, tensors), (0, [ut.stack([t] * SIZE) for t in tensors])):
            got = ut.vmap(lambda p, u, f=f: push(f, p, u), in_dims=(in_dims, 0))(primals, directions)
            compare(got, stacked, f"{key} case {number}: tangents, primals batched: {in_dims == 0}")
        ran += 1
    return ran


PROPERTIES = {"vmap": check_vmap, "nested": check_nested, "inplace": check_inplace, "gradient": check_gradient, "tangent": check_tangent}


def properties_of(key: str, e) -> list[str]:
    if find(e) is None or is_random(key):
        return []
    if not any(_has_tensor(c.args) or _has_tensor(list(c.kwargs.values())) for c in cases_of(key, e)):
        return []
    names = ["vmap", "nested"]
    if "inplace" in e.variants and find(e, "inplace") is not None:
        names.append("inplace")
    if (e.grad or e.is_composite) and plain_id(key) not in cases.NOT_SMOOTH:
        names += ["gradient"] if plain_id(key) in MAY_RAISE else ["gradient", "tangent"]
    return [name for name in names if name not in EXCEPT.get(key, EXCEPT.get(plain_id(key), ()))]


def _has_tensor(values) -> bool:
    from samples import Array

    return any(isinstance(v, (Array, Fixed)) or (isinstance(v, (list, tuple)) and _has_tensor(v)) for v in values)


def has_rule(e) -> bool:
    return e.batch in _dispatch.RULES or e.batch in ("composite", "")


