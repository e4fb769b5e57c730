"""Convolution layers and sliding blocks compared with torch: each scenario must have the same result in both libraries."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import undertow as ut

LAYERS = {
    "Conv1d": ((4, 6, 3), (2, 4, 9)),
    "Conv2d": ((4, 6, (3, 2)), (2, 4, 7, 8)),
    "Conv3d": ((4, 6, 2), (2, 4, 4, 5, 6)),
    "ConvTranspose1d": ((4, 6, 3), (2, 4, 9)),
    "ConvTranspose2d": ((4, 6, (3, 2)), (2, 4, 5, 6)),
    "ConvTranspose3d": ((4, 6, 2), (2, 4, 3, 4, 5)),
}
OPTIONS = [
    {},
    {"stride": 2, "padding": 1},
    {"dilation": 2, "bias": False},
    {"groups": 2, "padding": 1, "stride": 2},
    {"groups": 2, "bias": False},
]


def numbers(shape):
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape).astype("float32")


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_initialization_outputs_and_gradients_match_torch(name, options, same_as_torch):
    args, shape = LAYERS[name]

    def scenario(L):
        layer = getattr(L.nn, name)(*args, **options)
        x = L.tensor(numbers(shape), requires_grad=True)
        y = layer(x)
        (y * y).sum().backward()
        return [repr(layer), layer.state_dict(), y, x.grad, [p.grad for p in layer.parameters()]]

    same_as_torch(scenario, rtol=1e-4, atol=1e-5, seed=3)


@pytest.mark.parametrize("name", LAYERS)
def test_a_single_image_needs_no_batch(name, same_as_torch):
    args, shape = LAYERS[name]
    same_as_torch(lambda L: getattr(L.nn, name)(*args)(L.tensor(numbers(shape[1:]))), rtol=1e-4, atol=1e-5, seed=3)


@pytest.mark.parametrize("name", ["Conv1d", "Conv2d", "Conv3d"])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_padding_may_be_a_string(name, padding, same_as_torch):
    args, shape = LAYERS[name]

    def scenario(L):
        with warnings.catch_warnings():  # torch warns of a copy that we do not make
            warnings.filterwarnings("ignore", "Using padding='same' with even kernel lengths")
            layer = getattr(L.nn, name)(*args, padding=padding, dilation=1)
            return [repr(layer), layer(L.tensor(numbers(shape)))]

    same_as_torch(scenario, rtol=1e-4, atol=1e-5, seed=3)


def test_a_transposed_layer_accepts_an_output_size(same_as_torch):
    def scenario(L):
        layer = L.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
        x = L.tensor(numbers((1, 2, 4, 5)))
        return [layer(x, output_size=size) for size in [(7, 9), (8, 10), (7, 10), (1, 3, 8, 9)]]

    same_as_torch(scenario, rtol=1e-4, atol=1e-5, seed=3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda L: L.nn.Conv2d(3, 4, 3, groups=2), "in_channels must be divisible by groups"),
        (lambda L: L.nn.Conv2d(4, 3, 3, groups=2), "out_channels must be divisible by groups"),
        (lambda L: L.nn.Conv2d(4, 3, 3, groups=0), "groups must be a positive integer"),
        (lambda L: L.nn.Conv2d(4, 4, 3, padding="some"), "Invalid padding string 'some'"),
        (lambda L: L.nn.Conv2d(4, 4, 3, padding="same", stride=2), "padding='same' is not supported for strided convolutions"),
        (lambda L: L.nn.Conv2d(4, 4, 3, padding_mode="some"), "padding_mode must be one of"),
        (lambda L: L.nn.ConvTranspose2d(4, 4, 3, padding_mode="reflect"), 'Only "zeros" padding mode is supported for ConvTranspose2d'),
        (lambda L: L.nn.ConvTranspose2d(1, 1, 3)(L.ones(1, 1, 4, 4), output_size=(9, 9)), "requested an output size of (9, 9)"),
        (lambda L: L.nn.ConvTranspose2d(1, 1, 3)(L.ones(1, 1, 4, 4), output_size=(9,)), "ConvTranspose2D: for 4D input, output_size must have"),
        (lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(1, 2, 5, 5)), "Given groups=1, weight of size [4, 3, 3, 3], expected input[1, 2, 5, 5] to have 3"),
        (lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(5, 5)), "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [5, 5]"),
        (lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(1, 3, 2, 5)), "Calculated padded input size per channel: (2 x 5). Kernel size: (3 x 3)"),
        (lambda L: L.nn.Conv2d(3, 4, 3)(L.ones(1, 3, 5, 5).double()), "should be the same"),
        (lambda L: L.nn.LazyConv2d(3, 4)(L.ones(5, 5)), "Expected 3D (unbatched) or 4D (batched) input to LazyConv2d"),
        (lambda L: L.nn.LazyConv2d(3, 4).weight + 1, "Attempted to use an uninitialized parameter in"),
        (lambda L: L.nn.LazyConv2d(3, 4).weight.shape, "Can't access the shape of an uninitialized parameter or buffer"),
        (lambda L: L.nn.Linear(2, 3).load_state_dict(L.nn.LazyLinear(3).state_dict()), "Can't access the shape of an uninitialized"),
    ],
)
def test_bad_layers_and_bad_images_raise_torchs_errors(make, says, same_as_torch):
    def kind(L):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which it is, is compared
            make(L)
        assert says in str(caught.value)
        return caught.type.__name__

    same_as_torch(kind)


@pytest.mark.parametrize("name", ["LazyLinear", *(f"LazyConv{t}{n}d" for t in ("", "Transpose") for n in (1, 2, 3))])
def test_a_lazy_layer_becomes_an_ordinary_one_at_its_first_call(name, same_as_torch):
    def scenario(L):
        args, shape = ((4,), (2, 3)) if name == "LazyLinear" else ((6, 2), LAYERS[name.removeprefix("Lazy")][1])
        layer = getattr(L.nn, name)(*args)
        before = [repr(layer), str(layer.has_uninitialized_params()), list(layer.state_dict())]
        weight = layer.weight
        copied = copy.deepcopy(layer)
        y = layer(L.tensor(numbers(shape)))
        assert layer.weight is weight
        assert type(weight) is L.nn.Parameter
        return [before, repr(layer), type(layer).__name__, y, layer.state_dict(), repr(copied), repr(copied.weight), [*layer._forward_pre_hooks]]

    same_as_torch(scenario, rtol=1e-4, atol=1e-5, seed=3)


def test_a_lazy_layer_takes_its_shapes_from_a_state_dict(same_as_torch):
    def scenario(L):
        lazy, made = L.nn.LazyConv2d(6, 3), L.nn.Conv2d(2, 6, 3)
        return [lazy.load_state_dict(made.state_dict()), lazy.weight, lazy(L.tensor(numbers((1, 2, 4, 4))))]

    same_as_torch(scenario, rtol=1e-4, atol=1e-5, seed=3)


def test_an_optimizer_made_before_the_first_call_trains_a_lazy_layer(same_as_torch):
    def scenario(L):
        layer = L.nn.LazyLinear(2)
        optimizer = L.optim.SGD(layer.parameters(), lr=0.1)
        (layer(L.tensor(numbers((3, 4)))) ** 2).sum().backward()
        optimizer.step()
        return layer.state_dict()

    same_as_torch(scenario, rtol=1e-4, atol=1e-5, seed=3)


def test_uninitialized_tensors_are_pickled_cast_and_materialized(same_as_torch):
    def scenario(L):
        p, b = L.nn.parameter.UninitializedParameter(requires_grad=False), L.nn.parameter.UninitializedBuffer()
        again = pickle.loads(pickle.dumps(p))
        before = [repr(p), repr(b), repr(again), str(again.requires_grad), str(L.nn.parameter.is_lazy(p))]
        p.materialize((2, 3), dtype=L.float64)
        b.materialize((2,))
        return [before, str(p.dtype), list(p.shape), list(b.shape), type(p).__name__, str(type(b) is L.Tensor), str(isinstance(b, L.nn.Buffer))]

    same_as_torch(scenario, rtol=1e-4, atol=1e-5, seed=3)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_pickled_with_their_settings(name):
    layer = getattr(ut.nn, name)(*LAYERS[name][0], stride=2)
    x = ut.tensor(numbers(LAYERS[name][1]))
    assert pickle.loads(pickle.dumps(layer))(x).tolist() == layer(x).tolist()


def test_blocks_are_unfolded_and_folded(same_as_torch):
    def scenario(L):
        x = L.tensor(numbers((2, 3, 6, 7)), requires_grad=True)
        columns = L.nn.Unfold((2, 3), dilation=(1, 2), padding=1, stride=(2, 1))(x)
        image = L.nn.Fold((6, 7), (2, 3), dilation=(1, 2), padding=1, stride=(2, 1))(columns)
        (image * image).sum().backward()
        single = L.nn.functional.unfold(x[0], 2)
        return [columns, image, x.grad, single, L.nn.functional.fold(single, (6, 7), 2), repr(L.nn.Unfold(2)), repr(L.nn.Fold((4, 4), 2)),
                type(columns.grad_fn).__name__, type(image.grad_fn).__name__]  # fmt: skip

    same_as_torch(scenario, rtol=1e-4, atol=1e-5, seed=3)


@pytest.mark.parametrize(
    "make",
    [
        lambda F, x, c: F.unfold(x, 7),
        lambda F, x, c: F.unfold(x, 0),
        lambda F, x, c: F.unfold(x, 3, dilation=0),
        lambda F, x, c: F.unfold(x, 3, padding=-1),
        lambda F, x, c: F.unfold(x, 3, stride=0),
        lambda F, x, c: F.unfold(x[:, :0], 3),
        lambda F, x, c: F.unfold(x.int(), 3),
        lambda F, x, c: F.fold(c, (6, 7), 3),
        lambda F, x, c: F.fold(c[:, :26], (6, 6), 3),
        lambda F, x, c: F.fold(c[0, 0], (6, 6), 3),
        lambda F, x, c: F.fold(c, (6, 6, 6), 3),
        lambda F, x, c: F.fold(c, (2, 2), 3),
    ],
)
def test_blocks_that_do_not_fit_raise_torchs_error(make, same_as_torch):
    def said(L):
        with pytest.raises(RuntimeError) as error:
            make(L.nn.functional, L.tensor(numbers((2, 3, 6, 6))), L.tensor(numbers((2, 27, 16))))
        return str(error.value)[:40]

    same_as_torch(said)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("name", ["Conv1d", "Conv2d"])
def test_padding_modes_match_torch(name, mode, same_as_torch):
    args, shape = LAYERS[name]
    same_as_torch(lambda L: [layer := getattr(L.nn, name)(*args, padding=1, padding_mode=mode), layer(L.tensor(numbers(shape)))], rtol=1e-4, atol=1e-5, seed=3)
