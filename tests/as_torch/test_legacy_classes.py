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


def test_sparse_tensors_of_one_dtype():
    assert run("""
import warnings
import torch
i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1., 2.])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    made = [torch.sparse.FloatTensor(i, v, torch.Size([2, 3])), torch.sparse.DoubleTensor(i, v), torch.sparse.LongTensor(2, 3), torch.sparse.HalfTensor()]
for t in made:
    print(t.layout, t.dtype, tuple(t.shape), t._nnz())
print(len(seen), seen[0].message)
s = torch.eye(2).to_sparse()
print(isinstance(s, torch.sparse.FloatTensor), isinstance(s, torch.sparse.DoubleTensor), isinstance(s, torch.FloatTensor), torch.sparse.FloatTensor)
print(torch.sparse.FloatTensor.layout, torch.sparse.FloatTensor.is_sparse, isinstance(torch.eye(2), torch.sparse.FloatTensor))
for bad in ((((2, 3)),), (s,), ([[0]], [1.0])):
    try:
        torch.sparse.FloatTensor(*bad)
    except TypeError as error:
        print(str(error)[:40])
""").splitlines() == [
        "torch.sparse_coo torch.float32 (2, 3) 2",
        "torch.sparse_coo torch.float32 (2, 2) 2",
        "torch.sparse_coo torch.int64 (2, 3) 0",
        "torch.sparse_coo torch.float16 (0,) 0",
        "4 torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated.  "
        "Please use torch.sparse_coo_tensor(indices, values, shape, dtype=, device=).",
        "True False False <class 'torch.sparse.FloatTensor'>",
        "torch.sparse_coo True False",
        "torch.sparse.SparseTensor(sequence) only",
        "new() received an invalid combination of",
        "new() received an invalid combination of",
    ]


def test_sparse_classes_create_and_recognise_sparse_tensors():
    assert run("""
import torch
S = torch.sparse.FloatTensor
i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1., 2.], requires_grad=True)
x = S(i, v, torch.Size([2, 3]))
print(x.to_dense().tolist(), x.requires_grad, S(i, v).shape, S(2, 3).shape, S(torch.Size([4])).shape, S().shape, S(i, v.double()).dtype)
print(isinstance(x, S), isinstance(x, torch.FloatTensor), isinstance(x.double(), S), isinstance(torch.ones(1), S), isinstance(torch.ones(1), torch.FloatTensor))
print(S, getattr(torch.sparse, x.type().split(".")[-1]) is S, S.layout, S.is_sparse, S.dtype)
for kind in (torch.sparse.DoubleTensor, "torch.sparse.DoubleTensor", torch.DoubleTensor):
    print(x.type(kind).dtype, x.type(kind).layout, v.type(kind).layout)
try:
    S([1.0, 2.0])
except TypeError as error:
    print(str(error)[:61])
""").splitlines() == [
        "[[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]] True torch.Size([2, 2]) torch.Size([2, 3]) torch.Size([4]) torch.Size([0]) torch.float64",
        "True False False False True",
        "<class 'torch.sparse.FloatTensor'> True torch.sparse_coo True torch.float32",
        *["torch.float64 torch.sparse_coo torch.strided"] * 3,
        "torch.sparse.SparseTensor(sequence) only accepts sizes.  Plea",
    ]


def test_sets_of_legacy_classes_the_base_of_storages_and_a_second_name():
    assert run("""
import torch
print(torch.FloatTensor in torch._tensor_classes, torch.Tensor in torch._tensor_classes, len(torch._tensor_classes))
print(isinstance(torch.ones(1).untyped_storage(), torch._C.StorageBase), issubclass(torch.UntypedStorage, torch._C.StorageBase))
print(torch.nn.functional.conv_tbc is torch.conv_tbc)
""").splitlines() == ["True False 20", "True True", "True"]


def test_storage_classes_refuse_arguments_in_torchs_words():
    assert run("""
import torch
s = torch.FloatStorage([1.0, 2.0])
calls = [lambda: torch.storage._LegacyStorage(), lambda: torch.FloatStorage(device="cpu"), lambda: torch.FloatStorage(dtype=torch.float)]
calls += [lambda: torch.FloatStorage(other=1), lambda: torch.FloatStorage(0, 0), lambda: torch.FloatStorage(torch.ones(2)), lambda: torch.FloatStorage("a")]
calls += [lambda: torch.FloatStorage(0, wrap_storage=s.untyped()), lambda: torch.FloatStorage(wrap_storage=s)]
calls += [lambda: torch.FloatStorage.from_buffer(bytearray(8)), lambda: torch.FloatStorage.from_buffer(bytearray(9), "native")]
for call in calls:
    try:
        call()
    except (RuntimeError, TypeError, ValueError) as error:
        print(type(error).__name__, str(error).splitlines()[-1])
print(torch.FloatStorage.from_buffer(bytearray([63, 128, 0, 0]), "big").tolist(), torch.BoolStorage.from_buffer(bytearray([0, 2])).tolist())
print(issubclass(torch.FloatStorage, torch.TypedStorage), torch.FloatStorage in torch._storage_classes, repr(s).splitlines()[-1])
print(torch.storage._get_dtype_from_pickle_storage_type("LongStorage"), s.pickle_storage_type())
""").splitlines() == [
        "RuntimeError Only child classes of _LegacyStorage can be instantiated",
        "RuntimeError Keyword argument 'device' cannot be specified",
        "RuntimeError Keyword argument 'dtype' cannot be specified",
        "TypeError TypedStorage.__new__() got an unexpected keyword argument 'other'",
        "RuntimeError Too many positional arguments",
        "TypeError Argument type not recognized: <class 'torch.Tensor'>",
        "TypeError new(): invalid data type 'str'",
        "RuntimeError No positional arguments should be given when using 'wrap_storage'",
        "TypeError Argument 'wrap_storage' must be UntypedStorage, but got <class 'torch.storage.TypedStorage'>",
        "RuntimeError function missing required argument 'byte_order' (pos 2)",
        "ValueError buffer size (9) must be a multiple of element size (4)",
        "[1.0] [False, True]",
        "True True [torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]",
        "torch.int64 FloatStorage",
    ]
