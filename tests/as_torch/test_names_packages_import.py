"""Types and dtypes without instances here: packages written for PyTorch may import them, and using one raises an error that names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import undertow


def run(code: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "undertow.as_torch", "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_dtypes_without_tensors_have_torchs_sizes_and_names():
    assert run("""
import copy, pickle, torch
kinds = {torch.float4_e2m1fn_x2: "a", torch.bits16: "b", torch.qint8: "c"}
print(kinds[torch.float4_e2m1fn_x2], torch.float4_e2m1fn_x2 is torch.float4_e2m1fn_x2, torch.chalf is torch.complex32, torch.bits16 == torch.int16)
print(all(isinstance(k, torch.dtype) for k in kinds), [k.itemsize for k in kinds], [k.is_floating_point for k in kinds], torch.uint1.is_signed)
print(repr(torch.bits16), copy.deepcopy(torch.bits16) is torch.bits16, pickle.loads(pickle.dumps(torch.bits16)) is torch.bits16)
print(hasattr(torch, "float8_e9m9"), hasattr(torch, "uint128"))
""") == [
        "a True True False",
        "True [1, 2, 1] [True, False, False] False",
        "torch.bits16 True True",
        "False False",
    ]


def test_a_tensor_of_an_unsupported_dtype_raises_and_names_the_dtype():
    assert run("""
import torch
for make in (lambda d: torch.zeros(2, dtype=d), lambda d: torch.tensor([1], dtype=d), lambda d: torch.ones(2).to(d), lambda d: torch.ones(2).view(d)):
    try:
        make(torch.quint8)
    except TypeError as error:
        print("torch.quint8, of which Undertow has no tensors" in str(error))
try:
    torch.finfo(torch.bits8)
except TypeError as error:
    print(error)
""") == ["True"] * 4 + ["torch.finfo() has no limits for torch.bits8"]


def test_placeholder_types_work_with_isinstance_and_cannot_be_instantiated():
    assert run("""
import torch
from torch.distributed.tensor import DTensor, Shard
from torch.nn.parallel import DistributedDataParallel as DDP
import torch.nn.parallel.distributed
model = torch.nn.Linear(2, 2)
print(isinstance(model, DDP), isinstance(model.weight, DTensor), isinstance(model, torch._dynamo.eval_frame.OptimizedModule))
print(DDP is torch.nn.parallel.DistributedDataParallel, torch.export.ExportedProgram.__module__)

def symbolic(g: torch._C.Graph, x: torch._C.Value): ...

for make in (lambda: DDP(model), lambda: DTensor(0), lambda: torch.export.export):
    try:
        make()
    except (NotImplementedError, AttributeError, ValueError) as error:
        print(type(error).__name__, str(error).split(":")[0])
print(torch.torch is torch)
""") == [
        "False False False",
        "True torch.export",
        "ValueError Default process group has not been initialized, please make sure to call init_process_group.",
        "NotImplementedError torch.distributed.tensor.DTensor is not in Undertow",
        "AttributeError torch.export is not in Undertow",
        "True",
    ]


def test_masks_under_vmap_index_with_sample_indices():
    assert run("""
import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
torch._dynamo.assume_constant_result(len)
table = torch.tensor([True, False, True])
with TransformGetItemToIndex():
    print(torch.vmap(lambda i: table[i])(torch.arange(3)).tolist())
""") == ["[True, False, True]"]


def test_the_installed_version_of_torch_is_the_one_that_is_imported():
    assert run("""
import importlib.metadata as metadata, importlib.util, torch
print(metadata.version("torch") == torch.__version__, metadata.metadata("torch")["Name"], metadata.distribution("torch").files)
print(importlib.util.find_spec("torch") is not None, metadata.version("pytest") is not None)
try:
    metadata.version("torch-which-nobody-has")
except metadata.PackageNotFoundError as error:
    print(error.name)
""") == ["True torch None", "True True", "torch-which-nobody-has"]


def test_private_names_that_packages_import_from_torchs_modules():
    assert run("""
import torch
from torch._jit_internal import _copy_to_script_wrapper
from torch.autograd.functional import _as_tuple, _construct_standard_basis_for, _grad_postprocess, _tuple_postprocess
from torch.distributions.transforms import _clipped_sigmoid
from torch.hub import urlparse
from torch.optim.lbfgs import _cubic_interpolate
print(urlparse("https://a.org/b.pth").path, _copy_to_script_wrapper(len) is len, torch.onnx.is_in_onnx_export())
x = torch.ones(2, requires_grad=True)
print(_as_tuple((x,), "inputs", "f")[0], _tuple_postprocess(((1,), (2,)), (True, False)), _grad_postprocess(((x * 2,),), False)[0][0].requires_grad)
print([b.tolist() for b in _construct_standard_basis_for([x, x[:1]], [2, 1])], _clipped_sigmoid(torch.tensor(1000.0)).item() < 1)
t = torch.tensor
print(_cubic_interpolate(0.0, 1.0, t(-2.0), 2.0, 1.0, t(2.0)))
try:
    _as_tuple(3, "inputs", "f")
except TypeError as error:
    print(error)
""") == [
        "/b.pth True False",
        "True (1, 2) False",
        "[[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [[0.0], [0.0], [1.0]]] True",
        "tensor(1.)",
        "The inputs given to f must be either a Tensor or a tuple of Tensors: given <class 'int'>",
    ]


def test_a_compiled_module_is_a_module_around_the_module():
    assert run("""
import copy, pickle, torch
from torch import nn
inner = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Dropout())
model = torch.compile(inner)
print(type(model) is torch._dynamo.eval_frame.OptimizedModule, model._orig_mod is inner, list(model.state_dict()), len(model))
model.eval()
print(inner.training, model.training, torch.equal(model(torch.ones(2)), inner(torch.ones(2))))
model.note = 3
print(inner.note, hasattr(model, "nothing"), [n for n, _ in model.named_parameters()], model[0] is inner[0] if hasattr(type(model), "__getitem__") else "-")
del model.note
print(hasattr(inner, "note"), repr(model).splitlines()[:2])
for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
    print(type(other).__name__, other._orig_mod is inner, torch.equal(other(torch.ones(2)), model(torch.ones(2))))
print(torch.compile(inner, disable=True) is inner, inner.compile(), torch.compile(len) is len)
""") == [
        "True True ['_orig_mod.0.weight'] 2",
        "False False True",
        "3 False ['_orig_mod.0.weight'] -",
        "False ['OptimizedModule(', '  (_orig_mod): Sequential(']",
        "OptimizedModule False True",
        "OptimizedModule False True",
        "True None True",
    ]


def test_index_conversions_printing_helpers_and_other_private_functions():
    assert run("""
import torch
from torch.distributions import Wishart
rows = torch.tensor([0, 0, 2, 5])
bounds = torch._convert_indices_from_coo_to_csr(rows, 6)
print(bounds, torch._convert_indices_from_coo_to_csr(rows, 6, out_int32=True).dtype)
print(torch._convert_indices_from_csr_to_coo(bounds, torch.tensor([3, 1, 0, 2])).tolist(), torch._C._mps_is_available())
print(torch._tensor_str._add_suffixes("Index(" + torch._tensor_str._tensor_str(rows, 6), ["sorted=True"], 6, force_newline=False))
torch._dynamo.mark_static_address(rows)
print(Wishart(torch.tensor(4.0), torch.eye(2))._bartlett_sampling(torch.Size([3])).shape)
""") == [
        "tensor([0, 2, 2, 3, 3, 3, 4]) torch.int32",
        "[[0, 0, 2, 5], [3, 1, 0, 2]] False",
        "Index([0, 0, 2, 5], sorted=True)",
        "torch.Size([3, 2, 2])",
    ]


def test_parts_of_sparse_tensors_are_checked():
    assert run("""
import torch
bounds, columns, values = torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.ones(2)
torch._validate_sparse_compressed_tensor_args(bounds, columns, values, (2, 2), torch.sparse_csr)
torch._validate_sparse_coo_tensor_args(torch.tensor([[0, 1]]), values, (2,))
for check in (
    lambda: torch._validate_sparse_compressed_tensor_args(bounds, columns + 1, values, (2, 2), torch.sparse_csr),
    lambda: torch._validate_sparse_coo_tensor_args(torch.tensor([[0, 2]]), values, (2,)),
):
    try:
        check()
    except RuntimeError:
        print("refused")
""") == ["refused", "refused"]


def test_state_dicts_by_names_ignore_what_wraps_a_model():
    assert run("""
import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions, get_model_state_dict, get_optimizer_state_dict, get_state_dict, set_model_state_dict, set_optimizer_state_dict, set_state_dict)
def made(lr):
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    model[0].bias.requires_grad_(False)
    return model, torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
model, optimizer = made(0.1)
model(torch.ones(3, 2)).sum().backward()
optimizer.step()
weights, states = get_state_dict(model, optimizer)
print(sorted(weights) == sorted(model.state_dict()), list(get_model_state_dict(torch.compile(model))) == list(weights))
print("0.bias" in get_model_state_dict(model, options=StateDictOptions(ignore_frozen_params=True)), states["param_groups"][0]["params"])
print(list(get_model_state_dict(model, submodules={model[0]}, options=StateDictOptions(keep_submodule_prefixes=False))))
other, its = made(0.5)
print(set_state_dict(torch.compile(other), its, model_state_dict=weights, optim_state_dict=states), its.param_groups[0]["lr"])
print(all(torch.equal(optimizer.state[p]["exp_avg"], its.state[q]["exp_avg"]) for p, q in zip(optimizer.param_groups[0]["params"], its.param_groups[0]["params"])))
flat = get_optimizer_state_dict(model, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
third, its = made(0.7)
set_optimizer_state_dict(third, its, flat, options=StateDictOptions(flatten_optimizer_state_dict=True))
print("state.0.weight.exp_avg" in flat, its.param_groups[0]["lr"], torch.equal(its.state[third[0].weight]["exp_avg"], optimizer.state[model[0].weight]["exp_avg"]))
print(set_model_state_dict(other, {"0.weight": torch.ones(2, 2)}, options=StateDictOptions(strict=False)).missing_keys[:2])
""") == [
        "True True",
        "False ['0.weight', '1.weight', '1.bias']",
        "['weight', 'bias']",
        "<All keys matched successfully> 0.1",
        "True",
        "True 0.1 True",
        "['0.bias', '1.weight']",
    ]


def test_a_bar_of_progress_counts_with_and_without_the_package():
    for missing in ("", "import sys; sys.modules['tqdm'] = None\n"):
        assert run(f"""
{missing}
from torch.hub import tqdm
with tqdm(total=3, disable=True) as bar:
    bar.update(2)
print(list(tqdm([1, 2], disable=True)))
""") == ["[1, 2]"]
