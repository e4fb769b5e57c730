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
