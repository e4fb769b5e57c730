"""The operators that a dispatch mode sees have torch's names and order: operations, modules, losses and optimizers, with their backward passes.

DIFFERENT names the programs in which they differ, with the reason; a program that agrees again must leave the list.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import dispatch_programs

import undertow as ut

DIFFERENT: dict[str, str] = {
    **dict.fromkeys(["cosine_similarity", "einsum", "glu", "Bilinear", "RMSNorm"], "composed of other operators, so the nodes differ too"),
    **dict.fromkeys(["cumprod", "EmbeddingBag"], "the derivative uses other operators: torch's needs more than our node saves, or 30 operators"),
    **dict.fromkeys(["second derivative"], "gradients that are recorded are computed by our own formulas"),
    **dict.fromkeys(["cross_entropy smoothed", "cross_entropy of probabilities"], "a number inside of a composed operator counts as one from Python"),
    **dict.fromkeys(["det", "solve", "svd"], "torch's derivatives use factors that our nodes do not save, or slices of them"),
    **dict.fromkeys(["matmul 1d 2d"], "an in-place view is seen as a view"),
    **dict.fromkeys(["GroupNorm", "checkpoint"], "torch saves more"),
    **dict.fromkeys(["GRU", "LSTM", "RNN", "LSTMCell"], "recurrent layers are composed differently"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(dispatch_programs.PROGRAMS))
def test_a_mode_sees_the_operators_that_torch_calls(name):
    program = dispatch_programs.PROGRAMS[name]
    ours, theirs = dispatch_programs.names(ut, program), dispatch_programs.names(torch, program)
    if name in DIFFERENT:
        assert ours != theirs, f"{name} agrees with torch now: remove it from DIFFERENT"
    else:
        assert ours == theirs


def test_schemas_are_those_of_torch():
    from undertow._aten._schema import texts

    ours = {f"{name}.{overload}": text for name, overloads in texts().items() for overload, text in overloads.items()}
    theirs = {key: str(getattr(getattr(torch.ops.aten, key.rpartition(".")[0]), key.rpartition(".")[2])._schema) for key in ours}
    assert {key: f"aten::{text}" for key, text in ours.items()} == theirs


def test_schemas_are_parsed_as_torch_parses_them():
    from undertow._aten._schema import texts

    for name, overloads in texts().items():
        for overload in overloads:
            mine, real = (getattr(getattr(L.ops.aten, name), overload)._schema for L in (ut, torch))
            assert [(a.name, a.kwarg_only, a.has_default_value()) for a in mine.arguments] == [
                (a.name, a.kwarg_only, a.has_default_value()) for a in real.arguments
            ], str(real)
            assert [a.alias_info is not None and a.alias_info.is_write for a in mine.arguments] == [
                a.alias_info is not None and a.alias_info.is_write for a in real.arguments
            ], str(real)
            assert (mine.name, mine.overload_name, len(mine.returns), mine.is_mutable) == (real.name, real.overload_name, len(real.returns), real.is_mutable)
