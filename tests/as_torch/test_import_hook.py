"""After `as_torch.install()` every way to import torch gives Undertow, and missing names raise a clear error."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import undertow


def run(code: str) -> str:
    """What the code prints, in a process where torch is Undertow."""
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    code = "import undertow, undertow.as_torch; undertow.as_torch.install()\n" + code
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_submodules_are_the_same_objects():
    assert run("""
import torch, torch.nn as nn, torch.nn.functional as F, torch.autograd.function, torch.testing
from torch import nn as nn2, optim
from torch.nn.modules.linear import Linear
from torch.autograd import Function
print(nn is undertow.nn, nn2 is nn, F is undertow.nn.functional, torch.optim is undertow.optim, optim is torch.optim)
print(torch.autograd.function is undertow.autograd.function, Linear is undertow.nn.Linear, Function is undertow.autograd.Function)
print(torch.nn.functional is F, torch.utils.checkpoint is undertow.utils.checkpoint, torch.exp is undertow.exp)
print(F.__spec__.name, F.__name__)
""").split() == ["True"] * 11 + ["undertow.nn.functional"] * 2


def test_the_version_is_one_that_comparisons_read():
    assert run("""
import torch
numbers = torch.__version__.split("+")[0].split(".")
print(tuple(map(int, numbers)) >= (2, 1), torch.__version__.startswith("2.13.0+undertow."))
""") == "True True"
    if importlib.util.find_spec("packaging"):
        assert run("import torch; from packaging.version import Version as V; print(V(torch.__version__) > V('2.0'))") == "True"


def test_a_missing_name_is_named_with_whether_it_is_planned():
    assert run("""
import torch
for expression in ("torch.quantize_per_tensor", "torch.distributed.ProcessGroupGloo", "torch.nn.NoSuchLayer", "torch.no_such_thing",
                   "torch.ones(1).int_repr()", "torch.nn.functional.no_such"):
    try:
        eval(expression)
    except AttributeError as error:
        print(str(error).split(";")[0])
print(hasattr(torch, "no_such_thing"), hasattr(torch.ones(1), "int_repr"), getattr(torch, "export", None))
""").splitlines() == [
        "torch.quantize_per_tensor is not in Undertow: not planned: no quantized dtypes or kernels",
        "torch.distributed.ProcessGroupGloo is not in Undertow: planned: more of torch.distributed",
        "torch.nn.NoSuchLayer is not in Undertow: torch 2.13 has no public name like it",
        "torch.no_such_thing is not in Undertow: torch 2.13 has no public name like it",
        "torch.Tensor.int_repr is not in Undertow: not planned: no quantized dtypes or kernels",
        "torch.nn.functional.no_such is not in Undertow: torch 2.13 has no public name like it",
        "False False None",
    ]


def test_a_missing_module_is_named_and_can_be_probed():
    assert run("""
import importlib.util, torch
try:
    import torch.export
except ModuleNotFoundError as error:
    print(error.name, str(error).split(";")[0])
try:
    from torch.package import PackageExporter
except ImportError as error:
    print(str(error).split(";")[0])
try:
    from torch import no_such_thing
except ImportError as error:
    print("no_such_thing" in str(error))
import torch.optim.lr_scheduler as l
try:
    l.no_such_schedule
except AttributeError as error:
    print(str(error).split(":")[0])
print(importlib.util.find_spec("torch.export"), importlib.util.find_spec("torch.nn") is not None)
""").splitlines() == [
        "torch.export No module named 'torch.export': torch.export is not in Undertow: not planned: there is no compiler and no graph representation",
        "No module named 'torch.package': torch.package is not in Undertow: not planned: there is no compiler and no graph representation",
        "True",
        "torch.optim.lr_scheduler.no_such_schedule is not in Undertow",
        "None True",
    ]


def test_the_files_are_searched_for_a_missing_module_once():
    assert run("""
import sys, torch
searched = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        searched.append(name)
sys.meta_path.insert(1, Watch())
for _ in range(3):
    print(hasattr(torch.distributed.tensor, "no_such_class"), hasattr(torch, "no_such_part"), bool(searched))
    searched.clear()
""").splitlines() == ["False False True", "False False False", "False False False"]


def test_dtypes_and_tensors_print_as_in_torch():
    assert run("""
import torch
x = torch.ones(2, dtype=torch.float64)
print(x.dtype, x.shape, x.type(), x)
print(x.type("torch.LongTensor"), torch.strided)
undertow.as_torch.uninstall()
print(x.dtype, "torch" in __import__("sys").modules)
""").splitlines() == [
        "torch.float64 torch.Size([2]) torch.DoubleTensor tensor([1., 1.], dtype=torch.float64)",
        "tensor([1, 1]) torch.strided",
        "undertow.float64 False",
    ]


def test_after_uninstalling_a_missing_name_is_reported_by_undertow():
    assert run("""
import torch, torch.nn
undertow.as_torch.uninstall()
undertow.as_torch.uninstall()
for module in (undertow, undertow.nn):
    try:
        module.no_such_thing
    except AttributeError as error:
        print(error)
""").splitlines() == ["module 'undertow' has no attribute 'no_such_thing'", "module 'undertow.nn' has no attribute 'no_such_thing'"]


def test_names_that_load_on_first_use_arrive():
    assert run("import torch; print(torch.finfo(torch.float32).bits, torch.FloatTensor([1]).dtype, torch.vmap is undertow.vmap)") == "32 torch.float32 True"


def test_classes_of_nn_and_optim_are_found_in_the_dict_of_the_module():
    assert run("""
import torch
found = [name for name, value in torch.optim.__dict__.items() if isinstance(value, type) and issubclass(value, torch.optim.Optimizer)]
print({"Adam", "SGD", "Optimizer"} <= {*found}, torch.nn.__dict__["ReLU"] is torch.nn.ReLU)
""") == "True True"


def test_installing_after_importing_torch_raises():
    code = "import sys, types; sys.modules['torch'] = types.ModuleType('torch')\nimport undertow.as_torch as a\ntry: a.install()\nexcept RuntimeError as e: print(e)"
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert "torch is already imported" in done.stdout


def test_installing_imports_only_what_it_needs():
    assert run("import sys, torch; print([m for m in ('numpy', 'undertow.nn', 'undertow.optim', 'inspect') if m in sys.modules])") == "[]"


def test_errors_of_the_core_name_functions_as_the_program_does():
    said = run("""
import torch
try: torch.zeros(3, 3).hsplit(2)
except RuntimeError as error: print(error)
""")
    assert said.startswith("torch.hsplit attempted to split along dimension 1, but the size of the dimension 3 is not divisible")


def test_operators_of_aten_are_the_functions_of_that_name():
    said = run("""
import torch
x = torch.tensor([1.0, 4.0])
print(torch.ops.aten.add.Tensor(x, 1).tolist(), torch.ops.aten.linalg_inv(torch.eye(1)).tolist(), torch.ops.aten.slice.Tensor(x, 0, 1, 2).tolist())
print(hasattr(torch.ops.aten, "no_such_operator"))
""")
    assert said.split("\n") == ["[2.0, 5.0] [[1.0]] [4.0]", "False"]
