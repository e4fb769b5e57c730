"""FlopCounterMode counts products and convolutions as torch does, by operator and module; ModuleTracker knows which modules run."""

from __future__ import annotations

import importlib
import warnings

import pytest

import undertow as ut
from undertow.utils.flop_counter import FlopCounterMode, register_flop_formula
from undertow.utils.module_tracker import ModuleTracker


def network(L):
    return L.nn.Sequential(L.nn.Linear(4, 8), L.nn.ReLU(), L.nn.Linear(8, 3))


PROGRAMS = {
    "linear": lambda L: network(L)(L.ones(5, 4)).sum().backward(),
    "linear of sequences": lambda L: network(L)(L.ones(2, 5, 4)).sum().backward(),
    "input requires grad": lambda L: network(L)(L.ones(5, 4, requires_grad=True)).sum().backward(),
    "convolution": lambda L: L.nn.Conv2d(3, 4, 3, stride=2, padding=1)(L.ones(2, 3, 9, 9, requires_grad=True)).sum().backward(),
    "one image": lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(3, 9, 9)),
    "groups": lambda L: L.nn.Conv1d(4, 4, 3, groups=2)(L.ones(2, 4, 8)),
    "transposed": lambda L: L.nn.ConvTranspose2d(3, 4, 3, stride=2)(L.ones(2, 3, 4, 4, requires_grad=True)).sum().backward(),
    "batches": lambda L: L.ones(7, 2, 3) @ L.ones(7, 3, 4),
    "batches by one matrix": lambda L: L.ones(7, 2, 3) @ L.ones(3, 4),
    "vector": lambda L: L.ones(2, 3) @ L.ones(3),
    "baddbmm": lambda L: L.baddbmm(L.ones(2, 3, 4), L.ones(2, 3, 5), L.ones(2, 5, 4)),
    "attention": lambda L: L.nn.MultiheadAttention(8, 2)(*[L.ones(3, 1, 8)] * 3)[0].sum().backward(),
    "encoder": lambda L: L.nn.TransformerEncoderLayer(8, 2, 16)(L.ones(3, 1, 8)),
    "nothing": lambda L: L.ones(3).exp(),
}


def counted(mode, program, library):
    with mode(display=False) as counter:
        program(library)
    return counter.get_total_flops(), {name: {str(op): n for op, n in row.items()} for name, row in counter.get_flop_counts().items()}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_counts_match_torch(name, same_as_torch):
    def scenario(library):
        with warnings.catch_warnings():  # torch warns about modules that it cannot track
            warnings.simplefilter("ignore")
            total, by_module = counted(importlib.import_module(f"{library.__name__}.utils.flop_counter").FlopCounterMode, PROGRAMS[name], library)
        return total, {module: dict(sorted(row.items())) for module, row in sorted(by_module.items())}

    same_as_torch(scenario)


def test_counts_are_two_for_each_product_of_numbers():
    with FlopCounterMode(display=False) as counter:
        ut.ones(7, 2, 3) @ ut.ones(7, 3, 4)
        ut.nn.Conv2d(3, 4, 3, stride=2, padding=1)(ut.ones(2, 3, 9, 9))
    assert counter.get_total_flops() == 2 * 7 * 2 * 3 * 4 + 2 * (2 * 4 * 5 * 5) * (3 * 3 * 3)


def test_counts_can_be_read_inside_the_block():
    model = network(ut)
    with FlopCounterMode(display=False) as counter:
        model(ut.ones(5, 4))
        assert counter.get_total_flops() == 560
        model(ut.ones(5, 4))
    assert counter.get_total_flops() == 1120


def test_the_table_has_a_row_for_each_module_and_operator(capsys):
    with FlopCounterMode():
        network(ut)(ut.ones(5, 4))
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()] == ["Module", "--------------", "Sequential", "-", "Sequential.0", "-", "Sequential.2", "-"]


def test_a_custom_mapping_counts_other_operators():
    mapping = {ut.ops.aten.exp: lambda shape, out_shape=None, **kwargs: out_shape.numel()}
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        ut.ones(2, 3).exp()
    assert counter.get_flop_counts()["Global"] == {ut.ops.aten.exp: 6}


def test_attention_is_counted_in_both_passes():
    q, k, v = (ut.ones(1, 2, 4, 8, requires_grad=True) for _ in range(3))
    with FlopCounterMode(display=False) as counter:
        ut.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()
    product = 2 * 2 * 4 * 8 * 4
    assert list(counter.get_flop_counts()["Global"].values()) == [2 * product, 5 * product]


def test_the_tracker_knows_the_modules_of_both_passes():
    seen = []

    class Watched(ut.nn.Module):
        def forward(self, x):
            seen.append((tracker.is_bw, sorted(tracker.parents)))
            y = x * 2
            y.register_hook(lambda g: seen.append((tracker.is_bw, sorted(tracker.parents))))
            return y * 1

    with ModuleTracker() as tracker:
        ut.nn.Sequential(Watched(), ut.nn.ReLU())(ut.ones(1, requires_grad=True) * 1).sum().backward()
    inside = ["Global", "Sequential", "Sequential.0"]
    assert seen == [(False, inside), (True, inside)]
    assert tracker.parents == {"Global"}


def test_the_end_of_a_pass_ends_every_module():
    with ModuleTracker() as tracker:
        ut.nn.Linear(2, 2)(ut.ones(1, 2)).sum().backward()
        assert tracker.parents == {"Global"}


def test_a_formula_counts_for_an_operator_and_not_for_one_of_its_overloads():
    @ut.library.custom_op("flops::foo", mutates_args=())
    def foo(x: ut.Tensor) -> ut.Tensor:
        return x.sin()

    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(ut.ops.flops.foo.default)(lambda shape, **kwargs: 1)
    register_flop_formula(ut.ops.flops.foo)(lambda shape, **kwargs: 7 * shape.numel())
    with FlopCounterMode(display=False) as counter:
        foo(ut.ones(3))
    assert counter.get_total_flops() == 21
