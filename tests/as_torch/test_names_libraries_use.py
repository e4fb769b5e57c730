"""Less common parts of torch that libraries use: lists of tensors, checks, Sobol points, containers by type, weak keys, FLOPs."""

from __future__ import annotations

import gc
import importlib
import sys
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
from scipy.stats import qmc
from torch_names import torch_names

import undertow as ut
from undertow.as_torch import shims
from undertow.utils import _pytree
from undertow.utils.weak import WeakIdKeyDictionary

try:
    import torch
except ImportError:
    torch = None

Pair = namedtuple("Pair", "a b")
LISTS = [
    ("_foreach_add", ([[1.0, 2.0], [3.0]], [[4.0, 5.0], [6.0]]), {"alpha": 2}),
    ("_foreach_add_", ([[1.0, 2.0], [3.0]], 2.5), {}),
    ("_foreach_mul", ([[1.0, 2.0], [3.0]], [2.0, -1.0]), {}),
    ("_foreach_addcmul_", ([[1.0], [3.0]], [[2.0], [3.0]], [[4.0], [5.0]]), {"value": 0.5}),
    ("_foreach_addcdiv_", ([[1.0], [3.0]], [[2.0], [3.0]], [[4.0], [5.0]], [0.5, 2.0]), {}),
    ("_foreach_lerp_", ([[1.0], [3.0]], [[2.0], [5.0]], 0.25), {}),
    ("_foreach_sqrt", ([[4.0], [9.0]],), {}),
    ("_foreach_neg_", ([[4.0], [9.0]],), {}),
    ("_foreach_zero_", ([[4.0], [9.0]],), {}),
    ("_foreach_norm", ([[3.0, 4.0], [9.0]],), {}),
    ("_foreach_norm", ([[3.0, 4.0], [9.0]], 1), {}),
    ("_foreach_max", ([[3.0, 4.0], [9.0]],), {}),
    ("_foreach_maximum_", ([[3.0, 4.0], [9.0]], [[3.5, 3.5], [10.0]]), {}),
    ("_foreach_maximum_", ([[3.0, 4.0], [9.0]], 3.5), {}),
    ("_foreach_clamp_max", ([[3.0, 4.0], [9.0]], 3.5), {}),
    ("_foreach_pow", ([[3.0, 4.0], [9.0]], 2), {}),
    ("_foreach_copy_", ([[3.0, 4.0], [9.0]], [[1.0, 2.0], [5.0]]), {}),
    ("_foreach_clone", ([[3.0, 4.0], [9.0]],), {}),
    ("_foreach_div", ([[3.0, 4.0], [9.0]], [[1.0, 2.0], [5.0]]), {}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), LISTS, ids=lambda v: v if isinstance(v, str) else "")
def test_operators_over_lists_match_torch(name, arguments, options, same_as_torch):
    def result(lib):
        made = [[lib.tensor(t) for t in a] if isinstance(a, list) and isinstance(a[0], list) else a for a in arguments]
        out = getattr(shims if lib is ut else lib, name)(*made, **options)
        assert (out is made[0]) == name.endswith("_")
        return [t.tolist() for t in out]

    same_as_torch(result)


def test_lists_of_different_lengths_and_unknown_names_raise():
    with pytest.raises(RuntimeError, match="same number of tensors"):
        shims._foreach_add([ut.ones(1)], [ut.ones(1), ut.ones(1)])
    with pytest.raises(RuntimeError, match="at least one tensor"):
        shims._foreach_add([], 1)
    assert not hasattr(shims, "_foreach_no_such") and not hasattr(shims, "_foreach_norm_") and not hasattr(shims, "_foreach_zero")


def test_lists_are_differentiable():
    x = ut.ones(2, requires_grad=True)
    sum(t.sum() for t in shims._foreach_mul([x, x], 3.0)).backward()
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("lib", [torch_names, torch] if torch else [torch_names], ids=["undertow", "torch"][: 1 + bool(torch)])
def test_checks_build_their_message_only_when_they_fail(lib):
    lib._check(True, lambda: 1 / 0)
    for check, error in ((lib._check, RuntimeError), (lib._check_value, ValueError), (lib._check_type, TypeError), (lib._check_index, IndexError)):
        with pytest.raises(error, match="because"):
            check(False, lambda: "because")
    with pytest.raises(AssertionError, match="no"):
        lib._assert(False, "no")
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value"):
        lib._assert_async(lib.tensor(0))
    assert lib._shape_as_tensor(lib.ones(2, 3)).tolist() == [2, 3]


@pytest.mark.parametrize("dimension", [1, 2, 7, 60])
@pytest.mark.parametrize("scramble", [False, True])
def test_sobol_points_match_torch(dimension, scramble, same_as_torch):
    def drawn(lib):
        engine = lib.quasirandom.SobolEngine(dimension, scramble=scramble, seed=3)
        points = [engine.draw(n, dtype=lib.float64) for n in (1, 4, 0, 100)]
        return points, engine.fast_forward(19).draw(3), engine.quasi.clone(), repr(engine), engine.reset().draw_base2(4)

    same_as_torch(drawn, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("dimension", [1, 2, 7, 60])
def test_sobol_points_match_scipy(dimension):
    wanted = qmc.Sobol(dimension, scramble=False).random(128)
    np.testing.assert_array_equal(ut.quasirandom.SobolEngine(dimension).draw(128, dtype=ut.float64).numpy(), wanted)


def test_unbalanced_and_empty_point_sets_raise():
    engine = ut.quasirandom.SobolEngine(2)
    engine.draw(1)
    with pytest.raises(ValueError, match="balance"):
        engine.draw_base2(3)
    with pytest.raises(ValueError, match="dimensionality"):
        ut.quasirandom.SobolEngine(0)


@pytest.mark.parametrize("tree", [[1, 2], (1,), {"a": 1}, pytest.param(OrderedDict(a=[1]), id="OrderedDict"), Pair(1, 2)], ids=str)
def test_containers_are_found_by_their_type(tree, same_as_torch):
    def seen(L):
        lib = L.utils._pytree
        node = lib.SUPPORTED_NODES[lib._get_node_type(tree)]
        children, context = node.flatten_fn(tree)
        return list(children), node.unflatten_fn(list(children), context)

    same_as_torch(seen)
    assert _pytree._get_node_type(3) not in _pytree.SUPPORTED_NODES


def test_weak_keys_are_compared_by_identity():
    a, b = ut.ones(1), ut.ones(1)
    known = WeakIdKeyDictionary({a: "a"})
    known[b] = "b"
    assert known[a] == "a" and known[b] == "b" and len(known) == 2 and ut.ones(1) not in known
    del b
    gc.collect()
    assert len(known) == 1 and [key is a for key in known] == [True]


def test_flops_match_torch(same_as_torch):
    def counted(lib):
        mode = importlib.import_module(f"{lib.__name__}.utils.flop_counter").FlopCounterMode
        model = lib.nn.Sequential(lib.nn.Conv2d(2, 4, 3, groups=2), lib.nn.Flatten(), lib.nn.Linear(4 * 36, 3), lib.nn.ReLU())
        up = lib.nn.ConvTranspose1d(2, 3, 4, stride=2)
        with lib.no_grad(), mode(display=False) as counter:
            model(lib.ones(5, 2, 8, 8))
            up(lib.ones(1, 2, 6))
            lib.ones(3, 4) @ lib.ones(4, 5)
            lib.bmm(lib.ones(2, 3, 4), lib.ones(2, 4, 5))
            lib.addmm(lib.ones(3), lib.ones(2, 4), lib.ones(4, 3))
        by_module = {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()}
        return counter.get_total_flops(), by_module["Sequential.0"], by_module["Sequential.2"], by_module["Sequential"]

    same_as_torch(counted)


def test_numpy_accepts_a_parameter_while_nothing_is_recorded():
    for lib in filter(None, (ut, torch)):
        p = lib.nn.Parameter(lib.ones(2))
        with pytest.raises(RuntimeError, match="detach"):
            p.numpy()
        with lib.no_grad():
            assert p.view(-1).numpy().tolist() == [1.0, 1.0]


def test_getsizeof_includes_the_bytes_of_a_storage():
    small, large = (sys.getsizeof(ut.ones(n).untyped_storage()) for n in (1, 1001))
    assert large - small == 4000
