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


def compressed(lib, layout):
    blocks = {"blocksize": (1, 2)} if "bs" in layout else {}
    return lib.tensor([[[0.0, 2.0], [3.0, 0.0]], [[4.0, 0.0], [0.0, 5.0]]]).to_sparse(layout=getattr(lib, layout), **blocks)


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, that its sparse tensors are in beta
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_sparse_tensors_share_their_parts(layout):
    theirs, ours = compressed(torch, layout), compressed(ut, layout)
    there, here = ut.to_torch(ours), ut.from_torch(theirs)
    assert str(there.layout) == f"torch.{layout}" and here.layout is getattr(ut, layout)
    assert there.to_dense().tolist() == here.to_dense().tolist() == ours.to_dense().tolist()
    parts = ["indices"] if layout == "sparse_coo" else ["crow_indices", "col_indices"] if "sr" in layout else ["ccol_indices", "row_indices"]
    for name in (*parts, "values"):
        assert getattr(there, name)().tolist() == getattr(here, name)().tolist() == getattr(ours, name)().tolist()
    here.values().mul_(2)
    there.values().mul_(2)
    assert theirs.values().tolist() == ours.values().tolist() == here.values().tolist()
    assert ut.from_torch(theirs.requires_grad_()).requires_grad and ut.to_torch(ours.requires_grad_()).requires_grad


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sparse_tensors_stay_uncoalesced_and_are_checked():
    theirs = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
    assert not ut.from_torch(theirs).is_coalesced() and not ut.to_torch(ut.from_torch(theirs)).is_coalesced()
    assert ut.to_torch(ut.from_torch(theirs.coalesce())).is_coalesced()
    bad = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), check_invariants=False)
    bad._indices()[0, 1] = 7
    with pytest.raises(RuntimeError, match="found index 7"):
        ut.from_torch(bad)


def test_tensors_that_cannot_be_shared_raise():
    for bad, message in (
        (torch.ones(2).to_mkldnn(), "strided and sparse"),
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
