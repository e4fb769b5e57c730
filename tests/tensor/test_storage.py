"""Storages: `UntypedStorage` and `TypedStorage` are created, converted, copied and pickled as torch's are."""

from __future__ import annotations

import copy
import pickle

import pytest

import undertow as ut
from undertow import TypedStorage, UntypedStorage


def floats():
    return TypedStorage([1.0, 2.0], dtype=ut.float32)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda s: TypedStorage(0, wrap_storage=s, dtype=ut.float32), RuntimeError, "No positional arguments"),
        (lambda s: TypedStorage(wrap_storage=s), RuntimeError, "'dtype' must be specified"),
        (lambda s: TypedStorage(wrap_storage=s, dtype=0), TypeError, "'dtype' must be torch.dtype"),
        (lambda s: TypedStorage(wrap_storage=s, dtype=ut.float32, device="cpu"), RuntimeError, "'device' should not be specified"),
        (lambda s: TypedStorage(wrap_storage=3, dtype=ut.float32), TypeError, "must be UntypedStorage"),
        (lambda s: TypedStorage(0, 0, dtype=ut.float32), RuntimeError, "Too many positional arguments"),
        (lambda s: TypedStorage(ut.ones(2), dtype=ut.float32), TypeError, "Argument type not recognized"),
        (lambda s: TypedStorage("text", dtype=ut.float32), TypeError, "invalid data type 'str'"),
        (lambda s: TypedStorage(dtype="text"), RuntimeError, "expected torch.dtype"),
        (lambda s: UntypedStorage(ut.ones(2)), RuntimeError, "Expected a sequence type, but got Tensor"),
        (lambda s: UntypedStorage([1, 2.5]), RuntimeError, "of type float instead of int"),
    ],
)
def test_a_wrong_constructor_call_says_which_argument(make, error, words):
    with pytest.raises(error, match=words):
        make(UntypedStorage(8))


def test_indices_and_values_are_checked():
    s = floats()
    for index in ("a", 1.0, None):
        with pytest.raises(RuntimeError, match="can't index a"):
            s[index]
        with pytest.raises(RuntimeError, match="can't index a"):
            s[index] = 1
    with pytest.raises(RuntimeError, match="cannot set item with value type"):
        s.fill_(floats())
    with pytest.raises(TypeError, match=r"can't index a undertow\.UntypedStorage with str"):
        s.untyped()["a"]
    s[:] = 3
    s[-1] = 4
    assert s.tolist() == [3.0, 4.0]


def test_casts_convert_the_elements_into_new_memory():
    s = floats()
    for name, dtype in [("double", ut.float64), ("int", ut.int32), ("bool", ut.bool), ("half", ut.float16), ("complex_float", ut.complex64)]:
        made = getattr(s, name)()
        assert made.dtype is dtype and len(made) == 2 and made[0] == 1
    same = s.float()
    same[0] = 9
    assert s[0] == 1.0 and s.type() == "torch.FloatStorage" and s.type("torch.LongStorage").tolist() == [1, 2]
    assert UntypedStorage([1, 200]).float().tolist() == [1.0, 200.0]


def test_bytes_are_swapped_within_elements():
    s = UntypedStorage([1, 2, 3, 4, 5, 6, 7, 8])
    s.byteswap(ut.int32)
    assert s.tolist() == [4, 3, 2, 1, 8, 7, 6, 5]
    s.byteswap(ut.complex64)
    assert s.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    with pytest.raises(RuntimeError, match="not a multiple"):
        UntypedStorage(3).byteswap(ut.int32)


def test_storages_are_copied_and_pickled_with_their_tensors():
    s = floats()
    assert copy.copy(s).tolist() == copy.deepcopy(s).tolist() == pickle.loads(pickle.dumps(s)).tolist() == [1.0, 2.0]
    x = ut.arange(4.0)
    for made, storage in (copy.deepcopy((x, x.untyped_storage())), pickle.loads(pickle.dumps((x, x.untyped_storage())))):
        assert storage.data_ptr() == made.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        assert made.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_meta_storage_has_a_size_and_no_elements():
    s = TypedStorage([1, 2, 3], dtype=ut.float32, device="meta")
    assert s.device.type == "meta" and len(s) == 3 and s.clone().device.type == "meta" and repr(s).startswith("...\n[undertow.storage")
    for read in (s.tolist, lambda: s[0]):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
            read()
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        s.cpu()


@pytest.mark.parametrize("rest", [(), (0, (2,), (1,))], ids=["whole", "by sizes"])
def test_set_takes_a_typed_storage_of_the_tensors_dtype_only(rest):
    x = ut.zeros(2)
    with pytest.raises(RuntimeError, match="^Expected a Storage of type Float or an UntypedStorage, but got type Double for argument 1 'storage'$"):
        x.set_(ut.ones(2, dtype=ut.float64).storage(), *rest)
    assert ut.equal(x, ut.zeros(2))
    assert ut.equal(x.set_(ut.tensor([1.0, 2.0]).storage(), *rest), ut.tensor([1.0, 2.0]))
    assert x.set_(ut.ones(1, dtype=ut.float64).untyped_storage(), *rest).tolist() == [0.0, 1.875]
