"""Views and in-place writes compared with torch: each scenario runs on both libraries and must have the same outcome."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
from view_scenarios import SCENARIOS

import undertow as ut

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")


def name_of(t: Any) -> str | None:
    return None if t.grad_fn is None else t.grad_fn.name().split("::")[-1]


def chain(t: Any) -> list[str]:
    out, fn = [], t.grad_fn
    while fn is not None and len(out) < 8:
        out.append(fn.name().split("::")[-1])
        fn = fn.next_functions[0][0] if fn.next_functions else None
    return out


def plain(x: Any) -> Any:
    """Tensors as lists, everything else as it is; numbers rounded, so that sums in another order agree."""
    if isinstance(x, (torch.Tensor, ut.Tensor)):
        return plain(x.detach().resolve_conj().resolve_neg().tolist())
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, complex):
        return [plain(x.real), plain(x.imag)]
    return float(f"{round(x, 9):.9g}") + 0.0 if isinstance(x, float) else x


def outcome(scenario: Any, lib: Any) -> Any:
    """What the scenario returns, or the class and first sentence of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(scenario(lib))
        except Exception as e:
            first = re.split(r"\. |\.$|, which is |; ", str(e))[0].split("\n")[0]
            return f"{type(e).__name__}: {first}".replace("undertow", "torch").replace("'", "")


def check(scenario: Any) -> None:
    assert outcome(scenario, ut) == outcome(scenario, torch)


def numbers(lib: Any, *shape: int, complex_: bool = False) -> Any:
    n = 1
    for s in shape:
        n *= s
    values = [0.5 + i * 0.75 - (i % 3) for i in range(n)]
    if complex_:
        return lib.tensor([complex(v, 1.0 - 0.5 * v) for v in values], dtype=lib.complex128).reshape(shape).clone()
    return lib.tensor(values, dtype=lib.float64).reshape(shape).clone()


def weight(lib: Any) -> Any:
    return lib.tensor(2.0, dtype=lib.float64, requires_grad=True)


# Every operator of the family on a (2, 3, 4) tensor; results that are lists are looked at one by one.
OPERATORS = {
    "view": lambda x, lib: x.view(6, 4),
    "view_inferred": lambda x, lib: x.view(-1, 2),
    "view_same": lambda x, lib: x.view(2, 3, 4),
    "view_as": lambda x, lib: x.view_as(x.reshape(24)),
    "reshape": lambda x, lib: x.reshape(4, 6),
    "reshape_copy": lambda x, lib: x.transpose(0, 1).reshape(-1),
    "reshape_as": lambda x, lib: x.reshape_as(x),
    "transpose": lambda x, lib: x.transpose(0, 2),
    "transpose_same": lambda x, lib: x.transpose(1, 1),
    "swapaxes": lambda x, lib: x.swapaxes(0, -1),
    "swapdims": lambda x, lib: x.swapdims(0, -1),
    "t": lambda x, lib: x.select(0, 1).t(),
    "t_of_a_vector": lambda x, lib: x.select(0, 1).select(0, 1).t(),
    "permute": lambda x, lib: x.permute(2, 0, 1),
    "expand": lambda x, lib: x.unsqueeze(0).expand(2, -1, 3, 4),
    "expand_same": lambda x, lib: x.expand(2, 3, 4),
    "expand_lead": lambda x, lib: x.expand(1, 2, 3, 4),
    "expand_as": lambda x, lib: x.expand_as(lib.ones(2, 2, 3, 4)),
    "broadcast_to": lambda x, lib: x.broadcast_to((5, 2, 3, 4)),
    "squeeze": lambda x, lib: x.unsqueeze(1).squeeze(),
    "squeeze_dim": lambda x, lib: x.unsqueeze(1).squeeze(1),
    "squeeze_other_dim": lambda x, lib: x.squeeze(0),
    "squeeze_dims": lambda x, lib: x.unsqueeze(1).squeeze((0, 1)),
    "unsqueeze": lambda x, lib: x.unsqueeze(-1),
    "flatten": lambda x, lib: x.flatten(),
    "flatten_some": lambda x, lib: x.flatten(1),
    "flatten_one": lambda x, lib: x.flatten(1, 1),
    "unflatten": lambda x, lib: x.unflatten(2, (2, -1)),
    "ravel": lambda x, lib: x.ravel(),
    "ravel_copy": lambda x, lib: x.mT.ravel(),
    "narrow": lambda x, lib: x.narrow(1, 1, 2),
    "narrow_copy": lambda x, lib: x.narrow_copy(1, 1, 2),
    "select": lambda x, lib: x.select(1, -1),
    "diagonal": lambda x, lib: x.diagonal(1, 0, 2),
    "diag": lambda x, lib: x.select(0, 0).diag(),
    "diag_of_a_vector": lambda x, lib: x.select(0, 0).select(0, 0).diag(1),
    "diag_embed": lambda x, lib: x.diag_embed(1),
    "diagflat": lambda x, lib: x.select(0, 0).diagflat(),
    "unbind": lambda x, lib: x.unbind(1),
    "chunk": lambda x, lib: x.chunk(2, 1),
    "split": lambda x, lib: x.split(3, 2),
    "split_sizes": lambda x, lib: x.split([1, 3], 2),
    "split_with_sizes": lambda x, lib: x.split_with_sizes([1, 3], 2),
    "tensor_split": lambda x, lib: x.tensor_split(3, 2),
    "tensor_split_at": lambda x, lib: x.tensor_split([1, 3], 2),
    "hsplit": lambda x, lib: x.hsplit(3),
    "vsplit": lambda x, lib: x.vsplit(2),
    "dsplit": lambda x, lib: x.dsplit([1]),
    "as_strided": lambda x, lib: x.as_strided((3, 2), (2, 5), 1),
    "as_strided_overlapping": lambda x, lib: x.as_strided((3, 4), (1, 2), 1),
    "movedim": lambda x, lib: x.movedim(0, 2),
    "movedims": lambda x, lib: x.movedim((0, 1), (2, 0)),
    "unfold": lambda x, lib: x.unfold(2, 3, 1),
    "T": lambda x, lib: x.select(0, 0).T,
    "mT": lambda x, lib: x.mT,
    "H": lambda x, lib: x.select(0, 0).H,
    "mH": lambda x, lib: x.mH,
    "adjoint": lambda x, lib: x.adjoint(),
    "real": lambda x, lib: lib.real(x),
    "imag": lambda x, lib: x.imag,
    "conj": lambda x, lib: x.conj(),
    "real_of_conj": lambda x, lib: x.conj().real,
    "imag_of_conj": lambda x, lib: x.conj().imag,
    "view_as_real": lambda x, lib: lib.view_as_real(x),
    "view_as_real_of_conj": lambda x, lib: lib.view_as_real(x.conj()),
    "view_as_complex": lambda x, lib: lib.view_as_complex(x.unflatten(2, (2, 2))),
    "neg_view": lambda x, lib: x._neg_view(),
    "resolve_conj": lambda x, lib: x.resolve_conj(),
    "resolve_conj_of_conj": lambda x, lib: x.conj().resolve_conj(),
    "resolve_neg": lambda x, lib: x._neg_view().resolve_neg(),
    "detach": lambda x, lib: x.detach(),
    "data": lambda x, lib: x.data,
    "contiguous": lambda x, lib: x.contiguous(),
    "contiguous_copy": lambda x, lib: x.mT.contiguous(),
    "clone": lambda x, lib: x.clone(),
    "clone_transposed": lambda x, lib: x.mT.clone(),
    "clone_strided": lambda x, lib: x.permute(2, 0, 1).narrow(0, 0, 2).clone(),
    "to_same": lambda x, lib: x.to(x.dtype),
    "to_copy": lambda x, lib: x.to(x.dtype, copy=True),
    "to": lambda x, lib: x.to(lib.complex64),
    "to_other": lambda x, lib: x.to(lib.ones(1, dtype=lib.complex64)),
    "cdouble": lambda x, lib: x.cdouble(),
    "type_as": lambda x, lib: x.type_as(x),
    "cat": lambda x, lib: lib.cat([x, x], 1),
    "cat_legacy": lambda x, lib: lib.cat([lib.ones(0), x], 2),
    "stack": lambda x, lib: lib.stack([x, x], -1),
    "hstack": lambda x, lib: lib.hstack([x, x]),
    "vstack": lambda x, lib: lib.vstack([x, x]),
    "dstack": lambda x, lib: lib.dstack([x, x]),
    "column_stack": lambda x, lib: lib.column_stack([x.select(0, 0), x.select(0, 1)]),
    "block_diag": lambda x, lib: lib.block_diag(x.select(0, 0), x.select(0, 1).select(0, 0)),
    "repeat": lambda x, lib: x.repeat(2, 1, 1, 2),
    "tile": lambda x, lib: x.tile(2),
    "repeat_interleave": lambda x, lib: x.repeat_interleave(2, 1),
    "repeat_interleave_flat": lambda x, lib: x.repeat_interleave(2),
    "flip": lambda x, lib: x.flip(0, 2),
    "flip_transposed": lambda x, lib: x.mT.flip(0),
    "fliplr": lambda x, lib: x.fliplr(),
    "flipud": lambda x, lib: x.flipud(),
    "roll": lambda x, lib: x.roll((1, -1), (0, 2)),
    "roll_flat": lambda x, lib: x.roll(5),
    "rot90": lambda x, lib: x.rot90(1, (1, 2)),
    "rot90_three": lambda x, lib: x.rot90(3, (1, 2)),
    "tril": lambda x, lib: x.tril(1),
    "triu": lambda x, lib: x.mT.triu(-1),
    "atleast_3d": lambda x, lib: lib.atleast_3d(x.select(0, 0)),
    "broadcast_tensors": lambda x, lib: lib.broadcast_tensors(x, x.select(0, 0)),
    "meshgrid": lambda x, lib: lib.meshgrid(x.select(0, 0).select(0, 0), x.select(0, 0).select(1, 0), indexing="xy"),
    "cartesian_prod": lambda x, lib: lib.cartesian_prod(x.select(0, 0).select(0, 0), x.select(0, 0).select(1, 0)),
}


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("op", OPERATORS)
def test_results_are_views_of_the_same_base_with_the_same_strides_and_nodes(op, complex_):
    def scenario(lib):
        x = numbers(lib, 2, 3, 4, complex_=complex_).requires_grad_()
        r = OPERATORS[op](x, lib)
        parts = r if isinstance(r, tuple) else [r]
        out: list = [type(r).__name__, len(parts)]
        for p in parts:
            out += [p is x, p._is_view(), p._base is x, p.data_ptr() == x.data_ptr(), p.storage_offset(), list(p.shape), list(p.stride())]
            out += [str(p.dtype).split(".")[-1], chain(p), p.is_conj(), p.is_neg(), p.requires_grad, p]
        return out

    check(scenario)


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("op", OPERATORS)
def test_gradients_flow_through_twice(op, complex_):
    def scenario(lib):
        x = numbers(lib, 2, 3, 4, complex_=complex_).requires_grad_()
        r = OPERATORS[op](x * x, lib)
        parts = [p for p in (r if isinstance(r, tuple) else [r]) if p.requires_grad]
        total = sum((p * p * p).sum() for p in parts) if parts else (x * x).sum()
        if total.is_complex():
            total = total.real + total.imag
        (g,) = lib.autograd.grad(total, x, create_graph=True)
        s = (g * g.conj()).sum()
        (gg,) = lib.autograd.grad(s.real if s.is_complex() else s, x)
        return [g, gg]

    check(scenario)


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("write", ["through_view", "to_base", "to_base_of_plain"])
def test_writes_follow_history(op, complex_, write):
    def scenario(lib):
        w = weight(lib)
        base = numbers(lib, 2, 3, 4, complex_=complex_)
        if write != "to_base_of_plain":
            base = base * w
        r = OPERATORS[op](base, lib)
        v = r[0] if isinstance(r, tuple) else r
        if write == "through_view":
            v.mul_(w)
        else:
            base.mul_(w)
        out: list = [base._version, v._version, v._is_view(), chain(base), v, base, chain(v), v.requires_grad, v.is_leaf]
        total = sum((t * t.conj()).sum().real for t in (v, base)) if base.is_complex() or v.is_complex() else (v * v).sum() + (base * base * base).sum()
        (g,) = lib.autograd.grad(total, w, create_graph=True)
        out.append(g)
        if g.requires_grad:
            out += lib.autograd.grad(g, w, allow_unused=True)
        return out

    check(scenario)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_matches_torch(name):
    check(SCENARIOS[name])
