"""`from_torch` and `to_torch` share memory in both directions."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple

import pytest

import undertow as ut

DTYPES = [*("bool", "uint8", "int8", "int16", "int32", "int64"), *("float16", "bfloat16", "float32", "float64", "complex64", "complex128")]
Pair = namedtuple("Pair", "a b")


def test_without_torch_the_error_says_so():
    code = "import sys; sys.modules['torch'] = None\nimport undertow as ut\ntry: ut.to_torch(ut.ones(1))\nexcept ImportError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "PyTorch, which is not installed" in done.stdout


torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_shares_its_memory(name):
    theirs = torch.ones(2, 3).to(getattr(torch, name)).T
    ours = ut.from_torch(theirs)
    assert (ours.dtype, tuple(ours.shape), ours.stride(), ours.data_ptr()) == (getattr(ut, name), (3, 2), (1, 3), theirs.data_ptr())
    back = ut.to_torch(ours)
    assert (back.dtype, back.stride(), back.data_ptr()) == (theirs.dtype, theirs.stride(), theirs.data_ptr())


def test_writes_are_visible_on_both_sides_and_either_may_be_freed_first():
    theirs = torch.zeros(3)
    ours = ut.from_torch(theirs)
    theirs.fill_(2)
    assert ours.tolist() == [2.0] * 3
    del theirs
    assert ours.sum().item() == 6
    mine = ut.ones(3)
    shared = ut.to_torch(mine)
    mine.mul_(5)
    del mine
    assert shared.tolist() == [5.0] * 3


def test_leaves_and_parameters_keep_their_kind():
    ours = ut.from_torch(torch.ones(2, requires_grad=True))
    (ours * 3).sum().backward()
    assert ours.is_leaf and ours.grad.tolist() == [3.0, 3.0]
    parameter = ut.from_torch(torch.nn.Parameter(torch.ones(2), requires_grad=False))
    assert type(parameter) is ut.nn.Parameter and not parameter.requires_grad
    theirs = ut.to_torch(ut.nn.Parameter(ut.ones(2)))
    assert type(theirs) is torch.nn.Parameter and theirs.requires_grad
    assert ut.to_torch(ut.ones(1, requires_grad=True)).requires_grad


def test_graphs_do_not_cross():
    with pytest.raises(RuntimeError, match=r"from_torch: a graph cannot be shared .* detach\(\)"):
        ut.from_torch(torch.ones(1, requires_grad=True) * 2)
    with pytest.raises(RuntimeError, match=r"to_torch: a graph cannot be shared .* detach\(\)"):
        ut.to_torch(ut.ones(1, requires_grad=True) * 2)


def test_state_dicts_and_containers_are_converted_completely():
    theirs = torch.nn.Linear(2, 3)
    ours = ut.nn.Linear(2, 3)
    ours.load_state_dict(ut.from_torch(theirs.state_dict()))
    assert ours.weight.tolist() == theirs.weight.tolist()
    pair = ut.from_torch(Pair(torch.ones(1), [torch.zeros(1)]))
    assert type(pair) is Pair and pair.b[0].item() == 0
    assert ut.to_torch({"a": (ut.ones(1),)})["a"][0].item() == 1


def test_conjugate_views_are_converted_by_value():
    assert ut.from_torch(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]
    assert ut.to_torch(ut.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]


def test_tensors_that_cannot_be_shared_raise():
    for bad, message in (
        (torch.eye(2).to_sparse(), "dense"),
        (torch.empty(1, dtype=torch.bits8), "torch.bits8 is not supported"),
        (torch.ones(1, device="meta"), "on meta"),
        ([1.0], "expected a PyTorch tensor"),
        ("text", "expected a PyTorch tensor"),
    ):
        with pytest.raises(TypeError, match=message):
            ut.from_torch(bad)
    with pytest.raises(TypeError, match="to_torch: expected a tensor"):
        ut.to_torch(3)


def test_state_dicts_of_torch_are_loaded():
    theirs, ours = torch.nn.Linear(2, 3), ut.nn.Linear(2, 3)
    ours.load_state_dict(theirs.state_dict())
    assert ours.weight.tolist() == theirs.weight.tolist()
    with torch.no_grad():
        theirs.weight.zero_()
    assert ours.weight.abs().sum().item() > 0  # copied
    ours.load_state_dict(theirs.state_dict(), assign=True)
    assert ours.weight.tolist() == [[0.0, 0.0]] * 3
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.5)
    theirs(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    here = ut.optim.Adam(ours.parameters())
    here.load_state_dict(optimizer.state_dict())
    assert here.param_groups[0]["lr"] == 0.5 and here.state[ours.weight]["exp_avg"].tolist() == optimizer.state[theirs.weight]["exp_avg"].tolist()
