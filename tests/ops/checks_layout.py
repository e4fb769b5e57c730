"""Properties of derivatives under memory layouts: no formula writes into a gradient it was given, or assumes its layout;
and a write through a view has the derivatives of the same operator out of place, copied into the view."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from apply import as_function, attempt, cases_of, drawn, float_arrays, is_real_only, same
from memory import LAYOUTS, SHARED, VIEWS
from numeric import flatten, random_like
from samples import seed_of, to_numpy, to_tensor
from table import find

import undertow as ut

FEW, MANY = 1, 20  # cases of each dtype
FEW_VIEWS = ("transpose", "unsqueezed_and_viewed", "transposed_imag", "view_as_complex")


class Subject(NamedTuple):
    title: str
    function: object  # of the tensors that can be differentiated
    write: object  # the in-place form, or None
    arrays: list[np.ndarray]


def subjects(key: str, e, limit: int):
    """An entry's first cases in float64 and in complex128."""
    for dtype in ("float64", "complex128"):
        found = 0
        for number, c in enumerate(cases_of(key, e)):
            if found == limit:
                break
            if not c.differentiable or (dtype == "complex128" and is_real_only(e, c)):
                continue
            args, kwargs = drawn(key, c, dtype, number)
            places = float_arrays(e, c, args)
            chosen = [args[p[0]] if len(p) == 1 else args[p[0]][p[1]] for p in places]
            if not any(a.size for a in chosen) or (dtype == "complex128" and not any(np.iscomplexobj(a) for a in chosen)):
                continue
            result = attempt(find(e), args, kwargs, dtype)
            if result is None:
                continue
            function, arrays = as_function(find(e), args, kwargs, places)
            write = None
            if find(e, "inplace") and places[0] == (0,) and isinstance(result, ut.Tensor) and not e.spec.get("view"):
                if tuple(result.shape) == args[0].shape and str(result.dtype).rpartition(".")[2] == str(args[0].dtype):
                    write, _ = as_function(find(e, "inplace"), args, kwargs, places)
            if not e.variants & {"function", "method"}:  # it only writes
                function = on_copy(write)
            found += 1
            yield Subject(f"case {number}, {dtype}", function, write, arrays)


def on_copy(write):
    return lambda first, *rest: write(first * 1, *rest)


def leaves_of(arrays) -> list[ut.Tensor]:
    return [to_tensor(a).requires_grad_() for a in arrays]


def gradients(f, inputs: list[ut.Tensor], cotangents, directions):
    """First and second derivatives: of <cotangents, f>, and of that gradient along `directions`. None where there is none."""
    outputs = [o for o in flatten(f(*inputs)) if o.requires_grad]
    grads = ut.autograd.grad(outputs, inputs, cotangents, allow_unused=True, create_graph=True)
    chosen = [(g, d) for g, d in zip(grads, directions, strict=True) if g is not None and g.requires_grad]
    second = [None] * (len(inputs) + len(cotangents))
    if chosen:
        second = ut.autograd.grad([g for g, _ in chosen], [*inputs, *cotangents], [d for _, d in chosen], allow_unused=True)
    return [None if g is None else to_numpy(g) for g in [*grads, *second]]


def laid_out(layout, tensors: list[ut.Tensor]) -> list[ut.Tensor] | None:
    """All of them in the layout, but for those that have none; None where no tensor has one."""
    made = [layout(t) for t in tensors]
    return None if all(m is None for m in made) else [t if m is None else m for m, t in zip(made, tensors, strict=True)]


def compare(got, wanted, what: str) -> None:
    for i, (g, w) in enumerate(zip(got, wanted, strict=True)):
        assert (g is None) == (w is None), f"{what}: gradient {i} is {'missing' if g is None else 'there'}, with copies it is not"
        if g is not None:
            same(g, w, "float64", f"{what}: gradient {i}")


def random_tensors(like, rng) -> list[ut.Tensor]:
    return [to_tensor(a) for a in random_like(like, rng)]


def copies(tensors: list[ut.Tensor]) -> list[ut.Tensor]:
    return [to_tensor(to_numpy(t)) for t in tensors]


def under_cotangents(key: str, f, subject: Subject) -> int:
    outputs = [to_numpy(o) for o in flatten(f(*leaves_of(subject.arrays))) if o.requires_grad]
    if not outputs:
        return 0
    rng = np.random.default_rng(seed_of(key))
    cotangents, directions = random_tensors(outputs, rng), random_tensors(subject.arrays, rng)
    plain, ran = None, 0
    for name, layout in LAYOUTS.items():
        given = laid_out(layout, cotangents)
        if given is None:
            continue
        given = [g.detach().requires_grad_() for g in given]
        along = laid_out(layout, directions) or directions
        if name in SHARED or plain is None:
            wanted = gradients(f, leaves_of(subject.arrays), [c.requires_grad_() for c in copies(given)], copies(along))
            plain = plain if name in SHARED else wanted
        else:
            wanted = plain
        before = [(to_numpy(t).copy(), t._version) for t in (*given, *along)]
        compare(gradients(f, leaves_of(subject.arrays), given, along), wanted, f"{subject.title}, cotangents {name}")
        for t, (values, version) in zip((*given, *along), before, strict=True):
            assert t._version == version, f"{subject.title}, {name}: a gradient that was given was written to"
            np.testing.assert_array_equal(to_numpy(t), values, f"{subject.title}, {name}: a gradient that was given has changed")
        ran += 1
    return ran


def cotangents(key: str, e, limit: int) -> None:
    ran = 0
    for s in subjects(key, e, limit):
        ran += under_cotangents(key, s.function, s)
        if s.write is not None and e.variants & {"function", "method"}:
            ran += under_cotangents(key, on_copy(s.write), s)
    assert ran, "nothing was differentiated"


def check_cotangents(key: str, e) -> None:
    """Gradients of first and second order are those of row-major copies, in place too, and what was given is as it was."""
    cotangents(key, e, FEW)


def check_more_cotangents(key: str, e) -> None:
    cotangents(key, e, MANY)


def input_layouts(key: str, e, limit: int) -> None:
    ran = 0
    for s in subjects(key, e, limit):
        plain = leaves_of(s.arrays)
        outputs = [to_numpy(o) for o in flatten(s.function(*plain)) if o.requires_grad]
        if not outputs:
            continue
        rng = np.random.default_rng(seed_of(key))
        given = [c.requires_grad_() for c in random_tensors(outputs, rng)]
        along = random_tensors(s.arrays, rng)
        wanted = gradients(s.function, plain, given, along)
        for name, layout in LAYOUTS.items():
            inputs = None if name in SHARED else laid_out(layout, [to_tensor(a) for a in s.arrays])
            if inputs is not None:
                compare(gradients(s.function, [t.detach().requires_grad_() for t in inputs], given, along), wanted, f"{s.title}, inputs {name}")
                ran += 1
    assert ran, "nothing was differentiated"


def check_input_layouts(key: str, e) -> None:
    """The same for the tensors that are differentiated."""
    input_layouts(key, e, FEW)


def check_more_input_layouts(key: str, e) -> None:
    input_layouts(key, e, MANY)


def written_view(s: Subject, view, leaves: list[ut.Tensor], weights, in_place: bool) -> ut.Tensor:
    """A number made of the base and the view after the write."""
    base = leaves[0] * 1
    part = view(base, s.arrays[0].shape)
    if in_place:
        s.write(part, *leaves[1:])
    else:
        part.copy_(s.function(part.clone(), *leaves[1:]))
    total = (base * base * weights[0]).sum() + (part * weights[1]).sum()
    return total.real if total.is_complex() else total


def derivatives(loss: ut.Tensor, leaves: list[ut.Tensor], directions) -> list[np.ndarray]:
    """Of first, second and third order; each is that of the one before along `directions`, zeros where there is none."""
    found = []
    for order in range(3):
        grads = ut.autograd.grad(loss, leaves, create_graph=order < 2, materialize_grads=True)
        found += [to_numpy(g) for g in grads]
        parts = [(g * d).sum() for g, d in zip(grads, directions, strict=True)]
        loss = sum(p.real if p.is_complex() else p for p in parts)
        if not loss.requires_grad:
            break
    return found


def on_views(key: str, e, views, limit: int) -> None:
    ran = 0
    for s in subjects(key, e, limit):
        if s.write is None:
            continue
        for name in views:
            base = VIEWS[name].base(to_tensor(s.arrays[0]))
            if base is None:
                continue
            arrays = [to_numpy(base), *s.arrays[1:]]
            rng = np.random.default_rng(seed_of(key))
            weights, directions = random_tensors([arrays[0], s.arrays[0]], rng), random_tensors(arrays, rng)
            found = []
            for in_place in (True, False):
                leaves = leaves_of(arrays)
                found.append(derivatives(written_view(s, VIEWS[name].view, leaves, weights, in_place), leaves, directions))
            largest = max((float(np.max(np.abs(w), initial=0)) for w in found[1]), default=0.0)  # what a small one is rounded from
            for i, (got, wanted) in enumerate(itertools.zip_longest(*found, fillvalue=0.0)):  # an order without a graph is zero
                what = f"{s.title}, view {name}: order {i // len(arrays) + 1}, input {i % len(arrays)}"
                np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-10 * max(1.0, largest), err_msg=what)
            ran += 1
    assert ran, "no view was written to"


def check_written_views(key: str, e) -> None:
    """Writing to a view has the derivatives, to the third order, of the operator out of place, copied into the view."""
    on_views(key, e, FEW_VIEWS, FEW)


def check_more_written_views(key: str, e) -> None:
    on_views(key, e, VIEWS, MANY)
