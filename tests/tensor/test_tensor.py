"""Creating tensors from Python data, converting them, and the Python protocols they support."""

import copy

import numpy as np
import pytest

import undertow as ut


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, "int64", ()), (1.5, "float32", ()), (True, "bool", ()), (1j, "complex64", ()),
        ([], "float32", (0,)), ([[], []], "float32", (2, 0)), ([1, 2.5], "float32", (2,)), ([True, 2], "int64", (2,)),
        ([1, 2j], "complex64", (2,)), (range(3), "int64", (3,)), ((1, (2)), "int64", (2,)), (bytearray(b"abc"), "int64", (3,)),
        ([np.float64(1)], "float64", (1,)), ([np.float32(1), 2.0], "float32", (2,)), ([np.array([1, 2]), np.array([3, 4])], "int64", (2, 2)),
        (np.ones((2, 2), np.float16), "float16", (2, 2)), ([[[1]]], "int64", (1, 1, 1)),
    ],
)  # fmt: skip
def test_dtype_and_shape_are_inferred(data, dtype, shape):
    t = ut.tensor(data)
    assert t.dtype is getattr(ut, dtype) and t.shape == shape


BAD_DATA = [
    ("ab", TypeError, "invalid data type 'str'"),
    (b"ab", TypeError, "invalid data type 'bytes'"),
    ([["a"]], ValueError, "too many dimensions 'str'"),
    (None, RuntimeError, "Could not infer dtype of NoneType"),
    ([None], RuntimeError, "Could not infer dtype of NoneType"),
    ({1: 2}, RuntimeError, "Could not infer dtype of dict"),
    ({1}, RuntimeError, "Could not infer dtype of set"),
    ([[1, 2], [3]], ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
    ([1, [2]], TypeError, "cannot be interpreted"),
    ([[1], 2], TypeError, "not a sequence"),
    (2**63, ValueError, "Overflow when unpacking long long"),
    (object(), RuntimeError, "Could not infer dtype"),
]


@pytest.mark.parametrize(("data", "kind", "words"), BAD_DATA)
def test_data_that_cannot_become_a_tensor_raises(data, kind, words):
    with pytest.raises(kind, match=words):
        ut.tensor(data)


def test_one_element_tensors_in_a_list_are_elements():
    assert ut.tensor([ut.tensor(1.0), 2]).tolist() == [1, 2]
    assert ut.tensor([ut.tensor([1.0]), ut.tensor([[2.0]])]).shape == (2,)
    with pytest.raises(ValueError, match="only one element tensors"):
        ut.tensor([ut.tensor([1.0, 2.0]), ut.tensor([3.0, 4.0])])


def test_a_tensor_of_a_tensor_is_a_copy_and_warns():
    x = ut.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        y = ut.tensor(x)
    assert not y.requires_grad and y.data_ptr() != x.data_ptr()


def test_values_that_do_not_fit_raise():
    with pytest.raises(RuntimeError, match="without overflow"):
        ut.tensor([300], dtype=ut.uint8)
    with pytest.raises(TypeError, match="can't convert complex"):
        ut.tensor([1j], dtype=ut.float32)
    with pytest.raises(RuntimeError, match="floating point and complex dtype can require gradients"):
        ut.tensor([1], requires_grad=True)
    assert ut.tensor([1.9], dtype=ut.int64).tolist() == [1]
    assert ut.tensor(2**70, dtype=ut.float64).item() == 2.0**70


def test_to():
    t = ut.ones(2)
    assert t.to(ut.float32) is t and t.to("cpu") is t and t.to(ut.device("cpu"), ut.float32) is t and t.to(t) is t
    assert t.to(ut.float64).dtype is ut.float64
    assert t.to(dtype=ut.int32).dtype is ut.int32
    assert t.to(ut.ones(1, dtype=ut.int8)).dtype is ut.int8
    assert t.to("cpu", ut.float16, False, True).dtype is ut.float16
    assert t.to(ut.float32, copy=True) is not t
    assert t.to(device="cpu", dtype=ut.float64, non_blocking=True).dtype is ut.float64
    for bad in ([1], {}):
        with pytest.raises(TypeError, match="invalid combination"):
            t.to(bad)
    if not ut.cuda.is_available():
        with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
            t.to(3)
    with pytest.raises(TypeError):
        t.to(nonsense=1)
    for name, dtype in (("float", "float32"), ("double", "float64"), ("half", "float16"), ("long", "int64"), ("int", "int32"),
                        ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"), ("bfloat16", "bfloat16"),
                        ("cfloat", "complex64"), ("cdouble", "complex128")):  # fmt: skip
        assert getattr(t, name)().dtype is getattr(ut, dtype)
    assert t.type() == "undertow.FloatTensor" and t.type(ut.int64).dtype is ut.int64 and t.type("undertow.LongTensor").dtype is ut.int64
    assert t.type_as(ut.ones(1, dtype=ut.int16)).dtype is ut.int16


def test_to_is_differentiable():
    x = ut.ones(2, requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad.dtype is ut.float32 and x.grad.tolist() == [3, 3]


def test_legacy_constructors():
    assert ut.Tensor(2, 3).shape == (2, 3) and ut.Tensor([1, 2]).dtype is ut.float32 and ut.Tensor().shape == (0,)
    assert ut.Tensor(ut.Size([2, 2])).shape == (2, 2)
    assert ut.Tensor(ut.ones(2, dtype=ut.int64)).dtype is ut.int64


def test_legacy_constructors_of_one_dtype():
    from undertow.as_torch.shims import DoubleTensor, FloatTensor, LongTensor

    assert LongTensor([1, 2]).dtype is ut.int64 and FloatTensor(2).shape == (2,)
    assert isinstance(ut.ones(1), FloatTensor) and not isinstance(ut.ones(1), DoubleTensor)
    with pytest.raises(TypeError, match="data must be a sequence"):
        FloatTensor(3.0)
    with pytest.raises(TypeError, match="expected Long"):
        LongTensor(ut.ones(2))


def test_python_protocols():
    t = ut.tensor([1.0, 2.0])
    assert len(t) == 2 and [float(x) for x in ut.tensor([3.0])] == [3.0]
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(ut.tensor(1))
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(ut.tensor(1))
    assert int(ut.tensor(2.7)) == 2 and float(ut.tensor(2)) == 2.0 and complex(ut.tensor(1j)) == 1j
    assert [10, 20][ut.tensor(1)] == 20
    with pytest.raises(TypeError, match="only integer tensors of a single element"):
        [10, 20][ut.tensor(1.0)]
    assert bool(ut.tensor([[1]])) and not ut.tensor(0.0)
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(t)
    with pytest.raises(RuntimeError, match="no values is ambiguous"):
        bool(ut.tensor([]))
    assert f"{ut.tensor(2.5):.2f}" == "2.50" and format(ut.tensor(3)) == "3"
    with pytest.raises(TypeError):
        format(t, ".2f")
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "a" in t  # noqa: B015
    assert hash(t) == hash(t) and t in {t: 1}  # by identity
    assert (t == None) is False and (t != None) is True  # noqa: E711
    assert "backward" in dir(t)


def test_apply_and_map():
    t = ut.tensor([[1.0, 2.0], [3.0, 4.0]]).as_strided((2, 2), (1, 2))
    version = t._version
    assert t.apply_(lambda x: x * 10) is t
    assert t.tolist() == [[10, 30], [20, 40]] and t._version == version + 1
    t.map_(ut.tensor([1.0, 2.0]), lambda x, y: x + y)
    assert t.tolist() == [[11, 32], [21, 42]]
    with pytest.raises(RuntimeError, match="requires grad"):
        ut.ones(1, requires_grad=True).apply_(abs)
    with pytest.raises(ZeroDivisionError):
        t.apply_(lambda x: 1 / 0)


def test_data_can_be_replaced():
    x = ut.ones(2, requires_grad=True)
    x.data = ut.tensor([5.0, 6.0, 7.0])
    assert x.shape == (3,) and x.requires_grad and x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    x.data.fill_(1)
    assert x.tolist() == [1, 1, 1] and x._version == 0


def test_predicates():
    t = ut.tensor([1.0])
    assert ut.is_tensor(t) and not ut.is_tensor(1)
    assert ut.is_floating_point(t) and not ut.is_complex(t) and ut.is_nonzero(t) and ut.numel(t) == 1
    assert ut.get_device(t) == -1 and t.get_device() == -1
    with pytest.raises(TypeError, match="must be Tensor"):
        ut.numel([1])


def test_attributes_of_the_python_object():
    t = ut.ones(1)
    t.note = "a"
    assert t.__dict__ == {"note": "a"} and vars(t)["note"] == "a"
    del t.note
    with pytest.raises(AttributeError):
        t.note  # noqa: B018
    with pytest.raises(AttributeError):
        t.shape = (2,)


def test_parameters():
    p = ut.nn.Parameter(ut.ones(2))
    assert p.requires_grad and p.is_leaf and isinstance(p, ut.Tensor) and isinstance(p, ut.nn.Parameter)
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert type(p * 2) is ut.Tensor and type(p.data) is ut.Tensor and type(p.detach()) is ut.Tensor
    q = ut.nn.Parameter(ut.ones(2, dtype=ut.int64), requires_grad=False)
    assert not q.requires_grad and type(copy.deepcopy(p)) is ut.nn.Parameter
    with pytest.raises(RuntimeError, match="floating point and complex"):
        ut.nn.Parameter(ut.ones(2, dtype=ut.int64))
    with pytest.raises(TypeError, match="has to be a tensor"):
        ut.nn.Parameter([1.0])
    y = ut.ones(2, requires_grad=True) * 2
    assert ut.nn.Parameter(y).is_leaf and ut.nn.Parameter().shape == (0,)


def test_the_dimension_of_size_and_stride_may_be_named():
    x = ut.ones(2, 3)
    assert (x.size(dim=1), x.size(axis=1), x.stride(dim=0), x.size(dim=None)) == (3, 3, 3, ut.Size([2, 3]))
    with pytest.raises(TypeError, match="one argument, dim"):
        x.size(axes=1)
    with pytest.raises(TypeError, match="one argument, dim"):
        x.size(0, dim=1)


def test_a_tuple_and_a_size_in_any_order_make_a_size():
    for both in ((1,) + ut.Size([2]), ut.Size([1]) + (2,)):  # noqa: RUF005 - the operator is what is tested
        assert type(both) is ut.Size
        assert both == (1, 2)
    with pytest.raises(TypeError):
        [1] + ut.Size([2])


def test_cdata_tells_tensors_apart_that_share_memory():
    x = ut.ones(2)
    assert x._cdata == x._cdata != x.detach()._cdata
    module = ut.nn.Linear(2, 2)
    assert module.weight._cdata == next(module.parameters())._cdata
