"""torch's classes for tensors and storages of one dtype."""

from __future__ import annotations

from tests.as_torch.test_import_hook import run


def test_storages_are_recognised_by_dtype():
    assert run("""
import torch
s = torch.ones(1).storage()
print(isinstance(s, torch.Storage), isinstance(s, torch.FloatStorage), isinstance(s, torch.DoubleStorage), isinstance(s.untyped(), torch.FloatStorage))
print(torch.LongStorage([1, 2]).dtype, torch.FloatStorage(3).size(), torch.FloatStorage, torch.HalfStorage.dtype)
""").splitlines() == ["True True False False", "torch.int64 3 <class 'torch.FloatStorage'> torch.float16"]


def test_tensors_are_recognised_by_dtype_and_device():
    assert run("""
import torch
x = torch.ones(1)
print(isinstance(x, torch.FloatTensor), isinstance(x, torch.DoubleTensor), isinstance(x, torch.cuda.FloatTensor), torch.cuda.FloatTensor)
print(torch.FloatTensor.dtype, torch.FloatTensor.layout, torch.FloatTensor.is_cuda, torch.cuda.HalfTensor.is_cuda)
try:
    torch.cuda.FloatTensor(3)
except TypeError as error:
    print(error)
""").splitlines() == [
        "True False False <class 'torch.cuda.FloatTensor'>",
        "torch.float32 torch.strided False True",
        "type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled.",
    ]
