"""Tensors through pickle and deepcopy: values, layout, sharing, class, attributes, gradient."""

from __future__ import annotations

import copy
import io
import math
import pickle
import warnings

import pytest

import undertow as ut
from undertow.utils.hooks import unserializable_hook

DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]


def through_pickle(value):
    return pickle.loads(pickle.dumps(value))


BOTH = pytest.mark.parametrize(
    "through", [through_pickle, copy.deepcopy], ids=["pickle", "deepcopy"]
)


class Celsius(ut.Tensor):
    pass


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_protocol(dtype, protocol):
    x = ut.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(ut, dtype))
    y = pickle.loads(pickle.dumps(x, protocol=protocol))
    assert (y.dtype, y.tolist()) == (x.dtype, x.tolist())


@BOTH
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 3, 4)])
def test_every_shape(through, shape):
    x = ut.arange(math.prod(shape)).reshape(shape)
    y = through(x)
    assert (tuple(y.shape), y.tolist()) == (shape, x.tolist())


@BOTH
def test_layout_is_kept(through):
    base = ut.arange(12.0)
    for x in (base[2:8:2], base.reshape(3, 4).T, ut.ones(1).expand(5)):
        y = through(x)
        assert (y.tolist(), y.stride(), y.storage_offset()) == (
            x.tolist(),
            x.stride(),
            x.storage_offset(),
        )


@BOTH
def test_shared_storage_stays_shared(through):
    base = ut.zeros(4)
    new_base, new_part = through((base, base[1:3]))
    new_part.fill_(7)
    assert new_base.tolist() == [0.0, 7.0, 7.0, 0.0]
    assert base.tolist() == [0.0] * 4


@BOTH
def test_the_same_tensor_twice_stays_one(through):
    x = ut.ones(2, requires_grad=True)
    a, b = through([x, x])
    assert a is b


@BOTH
def test_requires_grad_is_kept_and_the_copy_is_a_leaf(through):
    for required in (True, False):
        y = through(ut.ones(2, requires_grad=required))
        assert y.requires_grad is required
        assert y.is_leaf


@BOTH
def test_a_copy_does_not_write_to_its_original(through):
    x = ut.ones(2)
    through(x).fill_(5)
    assert x.tolist() == [1.0, 1.0]


@BOTH
def test_attributes_are_kept(through):
    x = ut.ones(2)
    x.note = ["a"]
    y = through(x)
    assert y.note == ["a"]
    assert y.note is not x.note


@BOTH
def test_parameters_stay_parameters(through):
    for required in (True, False):
        y = through(ut.nn.Parameter(ut.ones(2), requires_grad=required))
        assert type(y) is ut.nn.Parameter
        assert y.requires_grad is required


@BOTH
def test_subclasses_keep_their_class(through):
    x = ut.ones(2).as_subclass(Celsius)
    x.place = "here"
    y = through(x)
    assert type(y) is Celsius
    assert y.place == "here"


def test_buffers_may_stay_out_of_the_pickle():
    x = ut.zeros(1000)
    buffers = []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert len(buffers) == 1
    y = pickle.loads(data, buffers=[bytes(buffers[0])])
    y.fill_(1)  # the buffer is read-only, so it was copied
    assert (x.sum().item(), y.sum().item()) == (0.0, 1000.0)
    z = pickle.loads(data, buffers=buffers)
    z.fill_(1)  # the buffer is x's own memory
    assert x.sum().item() == 1000.0


def test_pickling_a_result_gives_a_leaf_and_deepcopy_raises():
    y = ut.ones(2, requires_grad=True) * 2
    loaded = through_pickle(y)
    assert loaded.is_leaf
    assert loaded.requires_grad
    clause = r"^Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy"
    with pytest.raises(RuntimeError, match=clause):
        copy.deepcopy(y)


def test_deepcopy_copies_the_gradient_and_pickle_does_not():
    x = ut.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [3.0, 3.0]
    assert y.grad is not x.grad
    assert through_pickle(x).grad is None


def test_a_tensor_that_leads_back_to_itself():
    x = ut.ones(2)
    x.me = x
    y = copy.deepcopy(x)
    assert y.me is y


def test_a_shallow_copy_shares_storage():
    x = ut.ones(2)
    y = copy.copy(x)
    assert y is not x
    y.fill_(3)
    assert x.tolist() == [3.0, 3.0]


def test_hooks_are_left_out_with_a_warning():
    x = ut.ones(2, requires_grad=True)
    x.register_hook(abs)
    with pytest.warns(UserWarning, match="^backward hook .* on tensor will not be serialized"):
        pickle.dumps(x)


@pytest.mark.filterwarnings("error")
def test_hooks_marked_as_unserializable_are_left_out_silently():
    x = ut.ones(2, requires_grad=True)
    x.register_hook(unserializable_hook(lambda grad: grad * 2))
    y = pickle.loads(pickle.dumps(x))
    y.sum().backward()
    assert y.tolist() == [1.0, 1.0] and y.grad.tolist() == [1.0, 1.0]


def test_a_generator_continues_from_its_state():
    g = ut.Generator().manual_seed(3)
    ut.rand(3, generator=g)
    others = pickle.loads(pickle.dumps(g)), copy.deepcopy(g)
    want = ut.rand(2, generator=g).tolist()
    assert [ut.rand(2, generator=o).tolist() for o in others] == [want, want]
    assert others[0].initial_seed() == 3


class Weights(ut.nn.Parameter):
    pass


def through_a_file(value):
    file = io.BytesIO()
    ut.save(value, file)
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ut.load(file, weights_only=False)


@pytest.mark.parametrize("kind", [ut.nn.Parameter, Weights])
@pytest.mark.parametrize("through", [through_pickle, copy.copy, copy.deepcopy, through_a_file])
def test_a_copied_parameter_is_a_leaf_and_no_view(through, kind):
    for x in (kind(ut.ones(2)), kind(ut.ones(4).view(2, 2)), kind(ut.ones(2, device="meta"))):
        y = through(x)
        assert (type(y), y.is_leaf, y.requires_grad, y._is_view()) == (kind, True, True, False)
        assert y.detach_() is y


@pytest.mark.parametrize("through", [through_pickle, copy.copy, copy.deepcopy, through_a_file])
def test_a_meta_tensor_keeps_its_class_and_attributes(through):
    plain = ut.ones(2, 3, device="meta").T
    plain.note = "kept"
    for x in (plain, plain.as_subclass(Celsius)):
        x.note = "kept"
        y = through(x)
        assert (type(y), y.is_meta, y.shape, y.stride(), y.note) == (type(x), True, x.shape, x.stride(), "kept")
