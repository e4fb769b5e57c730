"""The fuzzer of programs: gradients agree with finite differences, findings are found and shrunk."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import undertow as ut
from tools.fuzz.programs.check import check_seeds
from tools.fuzz.programs.compare import against_differences, difference
from tools.fuzz.programs.execute import Program, execute, loss_along
from tools.fuzz.programs.generate import generate
from tools.fuzz.programs.shrink import shrink


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_derivatives_of_random_programs_agree_with_finite_differences(first):
    count, findings = check_seeds(range(first, first + 20), differences=True, strides=True)
    assert count == 20
    assert not findings, "\n".join(f"{kind}: {description}\n{text}" for kind, _, description, text in findings)


def test_a_seed_determines_its_program():
    assert [generate(ut, seed) for seed in range(20)] == [generate(ut, seed) for seed in range(20)]


def test_programs_have_many_kinds_of_statements():
    lines = [line for seed in range(300) for line in generate(ut, seed).lines]
    parts = ["view", "_(", "checkpoint", "apply", "vmap", "jvp", "register_hook", "register_prehook", "packed", "no_grad", "[", "detach", "conj", "sparse"]
    for part in parts:
        assert any(part in line for line in lines), part


class WrongSine(ut.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos() * 1.01


def test_a_wrong_derivative_is_found_and_shrunk_to_its_statement():
    program = Program(3, ((2, 2),), ("v0 = x0 * 2", "v1 = v0.tanh()", "v2 = lib.WrongSine.apply(v0)", "v3 = v1 + v2", "v4 = v3.sum()"))
    ut.WrongSine = WrongSine
    try:
        found = against_differences(program, ut)
        assert found is not None and found[0] == "first"
        small = shrink(replace(program), "first", lambda p: against_differences(p, ut))
    finally:
        del ut.WrongSine
    assert small.lines == ("v0 = x0 * 2", "v2 = lib.WrongSine.apply(v0)")


def test_differences_name_what_differs():
    program = Program(1, ((2, 3),), ("v0 = x0.t()", "v1 = v0.exp()", "v1.add_(1)"))
    ours = execute(ut, program)
    assert difference(ours, execute(ut, program)) is None
    for other, kind in [
        (replace(program, lines=("v0 = x0.t()", "v1 = v0.exp()", "v1.add_(2)")), "value"),
        (replace(program, lines=("v0 = x0.t()", "v1 = v0.exp()", "v1 = v1 + 1")), "version"),
        (replace(program, lines=("v0 = x0.t()", "v1 = v0.contiguous().exp()", "v1.add_(1)")), "strides"),
        (replace(program, lines=("v0 = x0.t()", "v1 = v0.exp()", "v1.add_(1, 2, 3)")), "error"),
        (replace(program, lines=("v0 = x0.t()", "v1 = v0.detach().exp()", "v1.add_(1)")), "requires_grad"),
    ]:
        found = difference(ours, execute(ut, other))
        assert found is not None and found[0] == kind


def test_a_value_that_cannot_be_read_gives_no_estimate():
    lines = ("v0 = x0 * 1", "v1 = v0.chunk(2)[0]", "v0.mul_(2)")
    loss, gradients = loss_along(ut, Program(2, ((4,),), lines), [np.ones(4)], 0.1)
    assert math.isnan(loss) and gradients is None


def test_skipped_statements_do_not_move_the_loss():
    program = Program(2, ((4,),), ("v0 = x0 * 1", "v0.mul_(2)"))
    without = Program(2, ((4,),), ("v0 = x0 * 1",))
    assert loss_along(ut, program, [np.ones(4)], 0.1, {1})[0] == loss_along(ut, without, [np.ones(4)], 0.1)[0]
