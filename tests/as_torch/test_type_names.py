"""Under as_torch, types and functions have torch's names; natively, and after `uninstall`, they have ours."""

from __future__ import annotations

import pickle

import pytest

import undertow as ut
from tests.as_torch.test_import_hook import run


def test_core_types_have_torchs_modules():
    assert run("""
import torch, torch.nn as nn
x = torch.ones(1)
for value in (x, nn.Parameter(x), x.shape, x.dtype, x.device, x.layout, torch.Generator(), torch.finfo(x.dtype), torch.max(x, 0), nn.Linear(1, 1),
              torch.optim.SGD([x]), torch.contiguous_format, x.untyped_storage()):
    print(type(value).__module__, type(value))
""").splitlines() == [
        "torch <class 'torch.Tensor'>",
        "torch.nn.parameter <class 'torch.nn.parameter.Parameter'>",
        "torch <class 'torch.Size'>",
        "torch <class 'torch.dtype'>",
        "torch <class 'torch.device'>",
        "torch <class 'torch.layout'>",
        "torch._C <class 'torch._C.Generator'>",
        "torch <class 'torch.finfo'>",
        "torch.return_types <class 'torch.return_types.max'>",
        "torch.nn.modules.linear <class 'torch.nn.modules.linear.Linear'>",
        "torch.optim.sgd <class 'torch.optim.sgd.SGD'>",
        "torch <class 'torch.memory_format'>",
        "torch.storage <class 'torch.storage.UntypedStorage'>",
    ]


def test_pythons_own_messages_have_torchs_names():
    assert run("""
import torch
x = torch.ones(1)
for use in (lambda: x.nothing, lambda: torch.nn.Parameter(x).nothing, lambda: x.shape.nothing, lambda: x.dtype.nothing, lambda: "a" + x,
            lambda: torch.Generator().nothing):
    try:
        use()
    except (AttributeError, TypeError) as error:
        print(error)
""").splitlines() == [
        "'Tensor' object has no attribute 'nothing'",
        "'Parameter' object has no attribute 'nothing'",
        "'torch.Size' object has no attribute 'nothing'",
        "'torch.dtype' object has no attribute 'nothing'",
        'can only concatenate str (not "Tensor") to str',
        "'torch._C.Generator' object has no attribute 'nothing'",
    ]


def test_our_names_are_there_without_as_torch_and_after_it():
    x = ut.ones(1)
    assert type(x).__module__ == "undertow"
    with pytest.raises(AttributeError, match=r"'undertow\.Tensor' object"):
        x.nothing  # noqa: B018
    assert run("""
import torch
torch.nn.Linear, torch.save, torch.finfo, torch.optim.lr_scheduler.OneCycleLR
undertow.as_torch.uninstall()
from undertow import nn
print(undertow.Tensor, nn.Parameter, nn.Linear, undertow.finfo, undertow.relu.__module__, undertow.save.__module__, undertow.Generator)
""") == (
        "<class 'undertow.Tensor'> <class 'undertow.nn.Parameter'> <class 'undertow.nn.modules.linear.Linear'> <class 'undertow._type_info.finfo'> "
        "None undertow.serialization._api <class 'undertow.Generator'>"
    )


def test_everything_renamed_is_found_again_under_its_new_name():
    """Otherwise it could not be pickled."""
    assert run("""
import importlib, pkgutil, torch
from undertow.as_torch import _type_names
for package in (undertow, undertow.nn, undertow.optim, undertow.distributions, undertow.utils, undertow.autograd):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "tensorboard" not in found.name and "as_torch" not in found.name:
            importlib.import_module(found.name)
def is_found(value):
    home = importlib.import_module(value.__module__)
    return getattr(home, value.__qualname__, None) is value
lost = [f"{value.__module__}.{value.__qualname__}" for value, was in _type_names._renamed if isinstance(value, type) and not is_found(value)]
print(lost, len(_type_names._renamed) > 1000)
""") == "[] True"


def test_a_tensor_pickled_under_as_torch_is_read_without_it(tmp_path):
    run(f"""
import pickle, torch
values = [torch.arange(3.0), torch.nn.Parameter(torch.ones(2)), torch.float64, torch.ones(1, device="meta")]
pickle.dump(values, open({str(tmp_path / "values.pkl")!r}, "wb"))
""")
    tensor, parameter, dtype, meta = pickle.loads((tmp_path / "values.pkl").read_bytes())
    assert tensor.tolist() == [0, 1, 2] and isinstance(parameter, ut.nn.Parameter) and dtype is ut.float64 and meta.is_meta


def test_modules_and_functions_can_be_pickled_under_as_torch():
    assert run("""
import pickle, torch, copy
net = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.LSTMCell(1, 1), torch.nn.LazyLinear(3))
print(pickle.loads(pickle.dumps(net)))
for f in (torch.relu, torch.nn.functional.dropout, torch.einsum, torch.linalg.norm, torch.stack, torch.optim.Adam, torch.Size([2])):
    assert pickle.loads(pickle.dumps(f)) == f, f
""").startswith("Sequential(")


def test_dir_lists_only_what_is_there():
    assert run("""
import torch
x = torch.ones(2, 2, dtype=torch.complex64)
missing = []
for name in dir(x):
    try:
        getattr(x, name)
    except AttributeError:
        missing.append(name)
    except RuntimeError:
        pass
print(missing, "volatile" in dir(x), "add" in dir(x))
""") == "[] False True"


def test_volatile_is_false_with_a_warning():
    assert run("""
import torch, warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    x = torch.ones(1)
    x.volatile = True
    print(x.volatile, *(str(each.message) for each in said), torch.Tensor.volatile.fget.__name__, sep="|")
""") == (
        "False|volatile was removed and now has no effect. Use `with torch.no_grad():` instead.|"
        "volatile was removed (Variable.volatile is always False)|volatile"
    )


def test_private_names_of_autograd():
    assert run("""
import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
print(isinstance(y.grad_fn.next_functions[0][0], torch._C._functions.AccumulateGrad), isinstance(y.grad_fn, torch._C._functions.MulBackward0))
print(torch._utils._element_size(torch.float32), torch.autograd.kineto_available(), torch.autograd.profiler.kineto_available())
with torch.profiler.profile():
    print(torch.autograd._profiler_enabled())
print(torch.autograd._profiler_enabled(), hasattr(torch._C._functions, "nothing"))
i, w = torch.randn(1, 2, 5, requires_grad=True), torch.randn(3, 2, 3, requires_grad=True)
out = torch.nn.functional.conv1d(i, w, torch.zeros(3))
g = torch.ones_like(out)
gi, gw, gb = torch.ops.aten.convolution_backward(g, i, w, [3], [1], [0], [1], False, [0], 1, [True, True, True])
ei, ew = torch.autograd.grad(out, (i, w), g)
print(torch.equal(gi, ei), torch.equal(gw, ew), gb.tolist(), gi.requires_grad)
print(torch.ops.aten.convolution_backward(g, i, w, [3], [1], [0], [1], False, [0], 1, [False, True, False])[0])
""").splitlines() == ["True True", "4 True True", "True", "False False", "True True [3.0, 3.0, 3.0] True", "None"]


def test_values_with_torchs_type_names_are_not_taken_for_pytorchs_tensors():
    assert run("""
import torch
class Mine(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})
x = torch.ones(2).as_subclass(Mine)
for y in (x.to(torch.float64), x.view(torch.Size([2, 1])), x.view(torch.int32), x.to(torch.device("cpu")), x.contiguous(memory_format=torch.contiguous_format)):
    print(type(y).__name__, y.dtype, tuple(y.shape))

p = torch.nn.Parameter(torch.ones(2))
made = torch.optim.SGD([p], lr=0.1)
made.state[p].update(size=p.shape, dtype=p.dtype, device=p.device)
loaded = torch.optim.SGD([p], lr=0.1)
loaded.load_state_dict(made.state_dict())
print(loaded.state[p]["dtype"], loaded.state[p]["device"], tuple(loaded.state[p]["size"]))
try:
    torch.nn.Linear(1, 1).load_state_dict({"weight": torch.float32, "bias": torch.ones(1)})
except RuntimeError as error:
    print("received <class 'torch.dtype'>" in str(error))
""").splitlines() == [
        "Mine torch.float64 (2,)",
        "Mine torch.float32 (2, 1)",
        "Mine torch.int32 (2,)",
        "Mine torch.float32 (2,)",
        "Mine torch.float32 (2,)",
        "torch.float32 cpu (2,)",
        "True",
    ]
