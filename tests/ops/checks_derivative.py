"""Properties of derivatives: against finite differences, forward against reverse mode, in place against out of place."""

from __future__ import annotations

import numpy as np
import pytest
from apply import ERRORS, as_function, attempt, cases_of, drawn, float_arrays, is_real_only, same, undifferentiable
from numeric import check_gradient, check_mixed, check_second, check_tangent, flatten
from samples import seed_of, tensors_of, to_numpy
from table import find, formula

import undertow as ut


def differentiable_cases(key: str, e, dtype: str):
    for number, c in enumerate(cases_of(key, e)):
        if not c.differentiable or (dtype.startswith("complex") and is_real_only(e, c)):
            continue
        args, kwargs = drawn(key, c, dtype, number)
        if attempt(find(e), args, kwargs, dtype) is None:
            continue
        places = float_arrays(e, c, args)
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
    assert derivative(check_gradient, key, e, 12), "nothing was differentiated"


def check_second_derivative(key: str, e) -> None:
    assert derivative(check_second, key, e, 4), "nothing was differentiated twice"


def check_forward_mode(key: str, e) -> None:
    assert derivative(check_tangent, key, e, 6), "nothing was differentiated"


def check_forward_over_reverse(key: str, e) -> None:
    assert derivative(check_mixed, key, e, 12), "nothing was differentiated twice"


def check_no_derivative(key: str, e) -> None:
    """An argument whose derivative is declared not to exist records a graph, and asking for the gradient raises an error that names it."""
    asked = 0
    for number, c in enumerate(cases_of(key, e)):
        args, kwargs = drawn(key, c, "float64", number)
        args = list(args)
        for i in [i for i, a in enumerate(e.args) if a.name in undifferentiable(e) and i < len(args) and isinstance(args[i], np.ndarray)]:
            args[i] = args[i].astype("float64") if args[i].dtype.kind in "iu" else args[i]
            full, rest = list(tensors_of(tuple(args), "float64")), {k: tensors_of(v, "float64") for k, v in kwargs.items()}
            result = find(e)(*[t.requires_grad_() if k == i else t for k, t in enumerate(full)], **rest)
            words = rf"derivative for aten::\w*{e.public} is not implemented|the derivative for '_?{e.public.strip('_')}(: input)?' is not implemented"
            with pytest.raises(RuntimeError, match=words):
                ut.autograd.grad(next(o for o in flatten(result) if o.requires_grad).sum(), full[i])
            asked += 1
    assert asked


def check_constants(key: str, e) -> None:
    """A floating argument without a derivative raises if it requires one, and is accepted where no graph is recorded."""
    left = set(e.spec["constants"])
    for number, c in enumerate(cases_of(key, e)):
        args, kwargs = drawn(key, c, "float64", number)
        given = {a.name: value for a, value in zip(e.args, args, strict=False)} | kwargs
        for name in [name for name in e.spec["constants"] if isinstance(given.get(name), np.ndarray)]:
            full, rest = tensors_of(tuple(args), "float64"), {k: tensors_of(v, "float64") for k, v in kwargs.items()}
            (rest[name] if name in rest else full[[a.name for a in e.args].index(name)]).requires_grad_()
            with pytest.raises(RuntimeError, match=f"is not differentiable with respect to argument '{name}'"):
                find(e)(*full, **rest)
            with ut.no_grad():
                find(e)(*full, **rest)
            left.discard(name)
    assert not left, f"no case has {', '.join(left)}"


def check_inplace(key: str, e) -> None:
    """name_() gives the same values as name(), returns its tensor, adds one version, and has the same gradient."""
    function, inplace, ran = find(e), find(e, "inplace"), 0
    for number, c in enumerate(cases_of(key, e)):
        for dtype in ("float64", "int64"):
            args, kwargs = drawn(key, c, dtype, number)
            result = attempt(function, args, kwargs, dtype)
            if result is None:
                continue
            reshapes = e.spec.get("view") or (e.is_composite and result.numel() == args[0].size)  # x.t_() changes the tensor's own geometry
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
            if dtype == "float64" and c.differentiable and set(e.grad) - undifferentiable(e) and args[0].size:
                gradient_inplace(e, c, function, inplace, args, rest, dtype)
    assert ran, "no case could be written in place"


def gradient_inplace(e, c, function, inplace, args, rest, dtype: str) -> None:
    def gradient(write: bool):
        full = list(tensors_of(tuple(args), dtype))
        leaves = [full[p[0]].requires_grad_() for p in float_arrays(e, c, args) if len(p) == 1]
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


def check_saved_names(key: str, e) -> None:
    """Everything the formulas use is an attribute `_saved_*` of the node."""
    for number, c in enumerate(cases_of(key, e)):
        args, kwargs = drawn(key, c, "float64", number)
        full = list(tensors_of(tuple(args), "float64"))
        leaves = [t for a in full for t in (a if isinstance(a, (list, tuple)) else [a]) if isinstance(t, ut.Tensor) and t.dtype.is_floating_point]
        for t in leaves:
            t.requires_grad_()
        try:
            outputs = [o for o in flatten(find(e)(*full, **{k: tensors_of(v, "float64") for k, v in kwargs.items()})) if o.grad_fn is not None]
        except ERRORS:
            continue
        if not outputs or outputs[0].grad_fn.name() != e.node:
            continue
        node = outputs[0].grad_fn
        for saved in formula.all_saved(e):
            assert f"_saved_{saved.public}" in dir(node), f"{node.name()} has no _saved_{saved.public}"
            getattr(node, f"_saved_{saved.public}")
        return
    pytest.skip("no case makes the entry's own node")
