"""A missing torch name may be imported, used in annotations and passed to isinstance; using it raises an error that names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import undertow


def run(tmp_path, code, *arguments):
    (tmp_path / "program.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    command = [sys.executable, "-m", "undertow.as_torch", "program.py", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_names_that_are_only_mentioned_do_not_stop_a_program(tmp_path):
    assert run(
        tmp_path,
        """
import abc
from typing import Optional
import torch
import torch.export as ex
from torch.distributed.tensor import DTensor
from torch.export import ExportedProgram, UnflattenedModule

class Mine(UnflattenedModule, abc.ABC):
    def trace(self, root: Optional[ExportedProgram], node: "ex.Node" = None) -> torch.ScriptObject: ...

def double(x, kind: torch.export.Dim | None = None):
    return 2 * x

def is_distributed(x):
    from torch.distributed.fsdp import FullyShardedDataParallel
    return isinstance(x, (DTensor, FullyShardedDataParallel, torch.nn.SyncBatchNorm))

def is_sparse(x):
    return x.layout == torch.sparse_coo

x = torch.ones(1)
print(double(x).item(), is_distributed(x), is_sparse(x), isinstance(x, Mine), torch.onnx.is_in_onnx_export())
""",
    ) == ["2.0 False False False False"]


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("ExportedProgram()", "torch.export.ExportedProgram"),
        ("Mine()", "torch.export.UnflattenedModule"),
        ("bool(ExportedProgram)", "torch.export.ExportedProgram"),
        ("list(ExportedProgram)", "torch.export.ExportedProgram"),
        ("ExportedProgram.graph.nodes()", "torch.export.ExportedProgram.graph"),
        ("torch.quantize_per_tensor([[0]], [1.0])", "torch.quantize_per_tensor"),
    ],
)
def test_functions_that_must_return_a_result_raise_and_name_themselves(tmp_path, use, name):
    code = "import torch\nfrom torch.export import ExportedProgram, UnflattenedModule\nclass Mine(UnflattenedModule): pass\n"
    code += f"def use():\n    return {use}\ntry:\n    use()\nexcept (NotImplementedError, AttributeError) as error:\n    print(error)\n"
    (said,) = run(tmp_path, code)
    assert said.startswith(f"{name}") and "is not in Undertow: not planned" in said


def test_programs_that_check_for_a_missing_name_find_it_missing(tmp_path):
    assert run(
        tmp_path,
        """
import contextlib
import importlib.util
import torch
import torch.ao.quantization  # mentioned, which must not change what follows
try:
    from torch.ao.quantization import QConfig
except ImportError:
    QConfig = None
try:
    import torch.export
    exports = True
except ImportError:
    exports = False
finder = True
with contextlib.suppress(ImportError):
    finder = False
    import torch.package
    finder = True
def inside():
    try:
        return torch.distributed.ProcessGroupGloo
    except AttributeError:
        return None
print(QConfig, exports, finder, inside(), hasattr(torch, "quantize_per_tensor"), getattr(torch.distributed, "ProcessGroupGloo", None))
print(importlib.util.find_spec("torch.export"))
try:
    from torch.nn import NoSuchLayer
except ImportError:
    print("torch has none")
""",
    ) == ["None False False None False None", "None", "torch has none"]


def test_a_name_that_torch_lacks_too_raises_immediately(tmp_path):
    (tmp_path / "program.py").write_text("from torch.nn import NoSuchLayer\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    command = [sys.executable, "-m", "undertow.as_torch", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ImportError: cannot import name 'NoSuchLayer'" in done.stderr


def test_a_library_compiled_for_torch_raises_and_its_python_code_falls_back(tmp_path):
    assert run(
        tmp_path,
        """
import torch
try:
    torch.ops.load_library("libvision.so")
except OSError as error:
    print("without libtorch" in str(error))
keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
print(len(keys), torch._C.DispatchKey.CPU in keys)

@torch.library.register_fake("libvision::nms")
def fake(boxes):
    return boxes
print(hasattr(torch.ops, "libvision"), fake(3))
""",
    ) == ["True", "2 True", "False 3"]


def test_parse_to_parses_arguments_as_in_torch(tmp_path):
    code = """
import torch
parse = torch._C._nn._parse_to
for args, named in ((("cpu",), {}), ((torch.float64,), {}), (("cpu", torch.float16, True), {}), ((torch.ones(1, dtype=torch.int8),), {}),
                    ((), {"device": "cpu", "dtype": torch.bool}), ((None, torch.float32), {}), (("cpu",), {"memory_format": torch.channels_last})):
    print(parse(*args, **named))
try:
    parse("cpu", "cpu")
except TypeError:
    print("error")
"""
    ours = run(tmp_path, code)
    assert len(ours) == 8
    if importlib_has_torch():
        theirs = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
        assert ours == theirs


def importlib_has_torch():
    import importlib.util

    return importlib.util.find_spec("torch") is not None


def test_a_class_that_inherits_from_a_missing_module_is_a_class_of_modules(tmp_path):
    assert run(
        tmp_path,
        """
import torch
from torch import nn
from torch.distributed import fsdp

class Compiled(fsdp.FullyShardedDataParallel):
    pass

print(issubclass(Compiled, nn.Module), isinstance(nn.Linear(1, 1), fsdp.FullyShardedDataParallel), issubclass(torch.ao.nn.quantized.Linear, nn.Module))
try:
    Compiled(nn.Linear(1, 1), None)
except NotImplementedError as error:
    print(str(error).split(";")[0])
""",
    ) == ["True False True", "torch.distributed.fsdp.FullyShardedDataParallel is not in Undertow: planned: more of torch.distributed"]
