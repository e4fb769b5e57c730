"""Tensors and other libraries' arrays share memory, whichever lives longer."""

import gc
import mmap
import pickle
import sys
import weakref

import numpy as np
import pytest

import undertow as ut

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", DTYPES)
def test_an_array_and_its_tensor_share_memory(name):
    array = np.zeros((2, 3), dtype=name)
    t = ut.from_numpy(array)
    assert t.dtype is getattr(ut, name) and t.shape == (2, 3) and t.stride() == (3, 1)
    assert t.data_ptr() == array.ctypes.data
    array[1, 2] = 1
    assert t.tolist()[1][2] == 1
    t.fill_(1)
    assert array.all()
    back = t.numpy()
    assert back.dtype == array.dtype and back.ctypes.data == array.ctypes.data and back.flags.writeable


def test_strides_are_exchanged_both_ways():
    array = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)[::2]
    t = ut.from_numpy(array)
    assert t.stride() == tuple(s // 8 for s in array.strides)
    assert t.tolist() == array.tolist()
    again = t.numpy()
    assert again.strides == array.strides and (again == array).all()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1, 1)])
def test_odd_shapes(shape):
    array = np.ones(shape)
    t = ut.from_numpy(array)
    assert t.shape == shape
    assert t.numpy().shape == shape
    assert ut.tensor(array).shape == shape


def test_a_broadcast_array_becomes_an_expanded_tensor():
    array = np.broadcast_to(np.arange(3.0), (2, 3))
    with pytest.warns(UserWarning, match="not writable"):
        t = ut.from_numpy(array)
    assert t.stride() == (0, 1)
    assert t.numpy().strides == (0, 8)


def test_the_tensor_keeps_the_array_alive():
    array = np.arange(1000.0)
    ref = weakref.ref(array)
    t = ut.from_numpy(array)
    view = t.view(10, 100)
    del array, t
    gc.collect()
    assert ref() is not None and view.tolist()[9][99] == 999
    del view
    gc.collect()
    assert ref() is None


def test_the_array_keeps_the_memory_alive():
    t = ut.tensor([1.0, 2.0, 3.0])
    array = t.numpy()
    del t
    for _ in range(100):
        ut.tensor([7.0, 7.0, 7.0])
    assert array.tolist() == [1.0, 2.0, 3.0]


def test_arrays_that_cannot_share_memory_raise():
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        ut.from_numpy([1.0])
    with pytest.raises(ValueError, match="stride in the given numpy array is negative"):
        ut.from_numpy(np.arange(3.0)[::-1])
    with pytest.raises(ValueError, match="byte order different from the native"):
        ut.from_numpy(np.arange(3, dtype=">f4"))
    with pytest.raises(ValueError, match="not a multiple of the element byte size"):
        ut.from_numpy(np.zeros(3, dtype=[("a", "u1"), ("b", "<f4")])["b"])
    for bad in (np.array(["a"]), np.array([object()]), np.array(["2020"], dtype="M8[D]"), np.arange(3, dtype="g")):
        with pytest.raises(TypeError, match="can't convert np.ndarray of type numpy"):
            ut.from_numpy(bad)
    with pytest.raises(TypeError, match="unsupported ScalarType BFloat16"):
        ut.ones(2, dtype=ut.bfloat16).numpy()


def test_numpy_of_a_tensor_that_requires_grad_raises_unless_forced():
    x = ut.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1.0, 1.0]


def test_numpy_of_a_conjugate_view_gives_its_values_only_by_force():
    z = ut.tensor([1 + 2j]).conj()
    with pytest.raises(RuntimeError, match="conjugate bit"):
        z.numpy()
    assert z.numpy(force=True).tolist() == [1 - 2j]


def test_numpy_functions_take_and_return_tensors():
    t = ut.tensor([0.0, 1.0])
    assert np.asarray(t).dtype == np.float32
    assert np.asarray(t).ctypes.data == t.data_ptr()
    assert np.array(t).ctypes.data != t.data_ptr()
    assert np.asarray(t, dtype=np.float64).tolist() == [0.0, 1.0]
    result = np.sin(t)
    assert isinstance(result, ut.Tensor)
    assert np.isnan(t).dtype is ut.uint8
    with pytest.raises(ValueError):
        np.asarray(t, dtype=np.int64, copy=False)
    assert (np.float64(2) * t).dtype is ut.float32
    assert (t * np.float64(2)).tolist() == [0.0, 2.0]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_scalars_keep_their_dtype(name):
    scalar = np.dtype(name).type(1)
    assert ut.tensor(scalar).dtype is getattr(ut, name)
    assert ut.tensor([scalar, scalar]).dtype is getattr(ut, name)


def test_as_tensor_shares_memory_if_possible_and_raises_for_missing_devices():
    array = np.ones(2)
    assert ut.as_tensor(array).data_ptr() == array.ctypes.data
    assert ut.as_tensor(array, device="cpu").data_ptr() == array.ctypes.data
    with pytest.raises(ValueError, match="stride in the given numpy array is negative"):
        ut.as_tensor(array[::-1])
    for data in (array, ut.ones(1), [1.0]):
        with pytest.raises(RuntimeError, match="device"):
            ut.as_tensor(data, device="nowhere")


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy.ndarrays")
def test_arrays_without_dimensions_are_elements():
    assert ut.tensor([np.array(3), np.array(4)]).tolist() == [3, 4]
    assert ut.tensor([[np.array(1.5)], [2]], dtype=ut.float64).tolist() == [[1.5], [2.0]]


def test_resizing_a_tensor_whose_memory_an_array_shares_raises():
    t = ut.ones(4)
    array = t.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        t.untyped_storage().resize_(1000)
    assert array.sum() == 4
    u = ut.ones(4)
    view = memoryview(u.untyped_storage())
    with pytest.raises(RuntimeError, match="not resizable"):
        u.untyped_storage().resize_(64)
    view.release()
    assert u.untyped_storage().resize_(64).nbytes() == 64


def test_frombuffer():
    data = bytearray(np.arange(4, dtype=np.float32).tobytes())
    t = ut.frombuffer(data, dtype=ut.float32)
    assert t.tolist() == [0, 1, 2, 3]
    assert ut.frombuffer(data, dtype=ut.float32, count=2, offset=4).tolist() == [1, 2]
    t.fill_(5)
    assert np.frombuffer(data, np.float32).tolist() == [5, 5, 5, 5]
    with pytest.raises(BufferError):
        data.extend(b"x")  # the tensor uses its memory
    with pytest.warns(UserWarning, match="not writable"):
        ut.frombuffer(b"abcd", dtype=ut.uint8)
    with pytest.raises(ValueError, match="must be a multiple of element size"):
        ut.frombuffer(bytearray(5), dtype=ut.float32)
    with pytest.raises(ValueError, match="offset"):
        ut.frombuffer(bytearray(4), dtype=ut.uint8, offset=4)
    with pytest.raises(ValueError, match="must not be 0"):
        ut.frombuffer(bytearray(4), dtype=ut.uint8, count=0)
    with mmap.mmap(-1, 16) as shared:
        t = ut.frombuffer(shared, dtype=ut.int64)
        t.fill_(3)
        assert shared[0] == 3
        del t


@pytest.mark.parametrize("stream", ["1", 1.5, object()])
def test_the_stream_of_dlpack_is_a_number(stream):
    with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
        ut.ones(2).__dlpack__(stream=stream)
    assert ut.from_dlpack(ut.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("name", DTYPES)
def test_dlpack_with_numpy(name):
    array = np.ones((3, 2), dtype=name).T
    t = ut.from_dlpack(array)
    assert t.dtype is getattr(ut, name) and t.data_ptr() == array.ctypes.data and t.stride() == (1, 2)
    back = np.from_dlpack(t)
    assert back.ctypes.data == array.ctypes.data and back.strides == array.strides


def test_dlpack_capsules_are_used_once_and_freed():
    t = ut.ones(3)
    assert t.__dlpack_device__() == (1, 0)
    for version in (None, (1, 0)):
        capsule = t.__dlpack__(max_version=version)
        u = ut.from_dlpack(capsule)
        assert u.data_ptr() == t.data_ptr()
        with pytest.raises(RuntimeError, match="consumed only once"):
            ut.from_dlpack(capsule)
        del capsule, u
    assert t.untyped_storage().resizable()
    unused = t.__dlpack__()
    assert not t.untyped_storage().resizable()
    del unused
    assert t.untyped_storage().resizable()


def test_dlpack_raises():
    with pytest.raises(BufferError, match="require gradient"):
        ut.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="conjugate bit"):
        ut.tensor([1j]).conj().__dlpack__()
    with pytest.raises(BufferError, match="device type 2"):
        ut.ones(1).__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="negative"):
        ut.from_dlpack(np.arange(3.0)[::-1])
    with pytest.raises(AttributeError):
        ut.from_dlpack([1.0])
    assert ut.from_dlpack(np.ones(2), copy=True).tolist() == [1, 1]


def test_dlpack_keeps_the_producer_alive():
    array = np.arange(3.0)
    before = sys.getrefcount(array)
    t = ut.from_dlpack(array)
    assert sys.getrefcount(array) > before
    del t
    gc.collect()
    assert sys.getrefcount(array) == before


def test_bfloat16_is_exchanged_by_dlpack():
    t = ut.ones(2, dtype=ut.bfloat16)
    assert ut.from_dlpack(t).dtype is ut.bfloat16


def test_storages():
    t = ut.tensor([1.0, 2.0, 3.0])
    s = t.untyped_storage()
    assert s.nbytes() == len(s) == 12 and s.data_ptr() == t.data_ptr()
    assert s == t.view(3, 1).untyped_storage()
    assert bytes(s) == np.array([1, 2, 3], np.float32).tobytes()
    assert s[3] == 63 and s[-1] == 64 and s.tolist()[:4] == [0, 0, 128, 63]
    part = s[4:8]
    assert part.nbytes() == 4 and part.data_ptr() == s.data_ptr() + 4
    with pytest.raises(IndexError):
        s[12]
    copy = s.clone()
    copy.fill_(0)
    assert t.tolist() == [1, 2, 3]
    s.copy_(copy)
    assert t.tolist() == [0, 0, 0]
    typed = ut.tensor([1.5, 2.5]).storage()
    assert typed[1] == 2.5 and list(typed) == [1.5, 2.5] and typed.nbytes() == 8
    typed[0] = 7
    assert typed.tolist() == [7, 2.5]
    assert ut.is_storage(typed) and ut.is_storage(s) and not ut.is_storage(t)


def test_a_resized_storage_is_seen_by_its_tensors():
    t = ut.tensor([1.0, 2.0])
    t.untyped_storage().resize_(400)
    assert t.tolist() == [1, 2]
    assert t.untyped_storage().nbytes() == 400


def test_set_makes_a_tensor_use_other_memory():
    a, b = ut.tensor([1.0, 2.0, 3.0, 4.0]), ut.tensor([0.0])
    version = b._version
    b.set_(a.untyped_storage(), 1, (2,), (2,))
    assert b.tolist() == [2, 4] and b._version == version + 1
    a.fill_(9)
    assert b.tolist() == [9, 9]
    b.set_(a)
    assert b.is_set_to(a) and b.shape == (4,)
    b.set_()
    assert b.shape == (0,)
    with pytest.raises(RuntimeError, match="out of bounds"):
        b.set_(a.untyped_storage(), 0, (5,))
    for size, stride in (((2**61 + 1,), (8,)), ((2**62, 8), (0, 0)), ((2,), (2**63 - 1,))):  # each wraps to something small
        with pytest.raises(RuntimeError, match="overflowed|integer multiplication overflow"):
            b.set_(a.untyped_storage(), 0, size, stride)


def test_forked_children_write_to_shared_memory():
    import os

    t = ut.zeros(4)
    assert not t.is_shared()
    t.share_memory_()
    assert t.is_shared()
    child = os.fork()
    if child == 0:
        t.fill_(3)
        os._exit(0)
    os.waitpid(child, 0)
    assert t.tolist() == [3, 3, 3, 3]


def test_buffers_of_a_pickle_may_stay_outside_it():
    t = ut.from_numpy(np.arange(1000.0))
    buffers = []
    data = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 1000 and len(buffers) == 1
    copy = pickle.loads(data, buffers=[bytearray(buffers[0])])
    assert copy.tolist() == t.tolist() and copy.data_ptr() != t.data_ptr()
