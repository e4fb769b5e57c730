"""Convolution layers and sliding blocks beside torch's: each story is told to both libraries, and the answers are the same."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

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


def plain(value):
    """A result without its library."""
    if isinstance(value, (torch.Tensor, ut.Tensor)) and "Uninitialized" not in type(value).__name__:
        return [list(value.shape), np.round(value.detach().numpy().astype(np.float64), 4).ravel().tolist()]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return str(value).replace("undertow.", "torch.")


def agree(story):
    answers = []
    for library in (torch, ut):
        library.manual_seed(3)
        answers.append(plain(story(library)))
    theirs, ours = answers
    assert texts_in(theirs) == texts_in(ours)
    np.testing.assert_allclose(numbers_in(ours), numbers_in(theirs), rtol=2e-3, atol=2e-4)


def numbers_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [x for v in value for x in numbers_in(v)] if isinstance(value, list) else [value] if isinstance(value, (int, float)) else []


def texts_in(value):
    if isinstance(value, dict):
        return [*value, *texts_in(list(value.values()))]
    return [x for v in value for x in texts_in(v)] if isinstance(value, list) else [value] if isinstance(value, str) else []


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_starts_computes_and_differentiates_as_torchs(name, options):
    args, shape = LAYERS[name]

    def story(L):
        layer = getattr(L.nn, name)(*args, **options)
        x = L.tensor(numbers(shape), requires_grad=True)
        y = layer(x)
        (y * y).sum().backward()
        return [repr(layer), layer.state_dict(), y, x.grad, [p.grad for p in layer.parameters()]]

    agree(story)


@pytest.mark.parametrize("name", LAYERS)
def test_a_single_image_needs_no_batch(name):
    args, shape = LAYERS[name]
    agree(lambda L: getattr(L.nn, name)(*args)(L.tensor(numbers(shape[1:]))))


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("name", ["Conv1d", "Conv2d", "Conv3d"])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_padding_may_be_a_word(name, padding):
    args, shape = LAYERS[name]
    agree(lambda L: [layer := getattr(L.nn, name)(*args, padding=padding, dilation=1), layer(L.tensor(numbers(shape)))])


def test_a_transposed_layer_takes_the_size_that_is_asked_for():
    def story(L):
        layer = L.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
        x = L.tensor(numbers((1, 2, 4, 5)))
        return [layer(x, output_size=size) for size in [(7, 9), (8, 10), (7, 10), (1, 3, 8, 9)]]

    agree(story)


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
def test_bad_layers_and_bad_images_are_refused_in_torchs_words(make, says):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        make(torch)
    with pytest.raises(type(theirs.value)) as ours:
        make(ut)
    assert says in str(theirs.value)
    assert says in str(ours.value)


@pytest.mark.parametrize("name", ["LazyLinear", *(f"LazyConv{t}{n}d" for t in ("", "Transpose") for n in (1, 2, 3))])
def test_a_lazy_layer_becomes_an_ordinary_one_at_its_first_call(name):
    def story(L):
        args, shape = ((4,), (2, 3)) if name == "LazyLinear" else ((6, 2), LAYERS[name.removeprefix("Lazy")][1])
        layer = getattr(L.nn, name)(*args)
        before = [repr(layer), str(layer.has_uninitialized_params()), list(layer.state_dict())]
        weight = layer.weight
        copied = copy.deepcopy(layer)
        y = layer(L.tensor(numbers(shape)))
        assert layer.weight is weight
        assert type(weight) is L.nn.Parameter
        return [before, repr(layer), type(layer).__name__, y, layer.state_dict(), repr(copied), repr(copied.weight), [*layer._forward_pre_hooks]]

    agree(story)


def test_a_lazy_layer_takes_its_shapes_from_a_state_dict():
    def story(L):
        lazy, made = L.nn.LazyConv2d(6, 3), L.nn.Conv2d(2, 6, 3)
        return [lazy.load_state_dict(made.state_dict()), lazy.weight, lazy(L.tensor(numbers((1, 2, 4, 4))))]

    agree(story)


def test_an_optimizer_made_before_the_first_call_trains_a_lazy_layer():
    def story(L):
        layer = L.nn.LazyLinear(2)
        optimizer = L.optim.SGD(layer.parameters(), lr=0.1)
        (layer(L.tensor(numbers((3, 4)))) ** 2).sum().backward()
        optimizer.step()
        return layer.state_dict()

    agree(story)


def test_uninitialized_tensors_are_pickled_cast_and_materialized():
    def story(L):
        p, b = L.nn.parameter.UninitializedParameter(requires_grad=False), L.nn.parameter.UninitializedBuffer()
        again = pickle.loads(pickle.dumps(p))
        before = [repr(p), repr(b), repr(again), str(again.requires_grad), str(L.nn.parameter.is_lazy(p))]
        p.materialize((2, 3), dtype=L.float64)
        b.materialize((2,))
        return [before, str(p.dtype), list(p.shape), list(b.shape), type(p).__name__, str(type(b) is L.Tensor), str(isinstance(b, L.nn.Buffer))]

    agree(story)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_pickled_with_their_settings(name):
    layer = getattr(ut.nn, name)(*LAYERS[name][0], stride=2)
    x = ut.tensor(numbers(LAYERS[name][1]))
    assert pickle.loads(pickle.dumps(layer))(x).tolist() == layer(x).tolist()


def test_blocks_are_unfolded_and_folded():
    def story(L):
        x = L.tensor(numbers((2, 3, 6, 7)), requires_grad=True)
        columns = L.nn.Unfold((2, 3), dilation=(1, 2), padding=1, stride=(2, 1))(x)
        image = L.nn.Fold((6, 7), (2, 3), dilation=(1, 2), padding=1, stride=(2, 1))(columns)
        (image * image).sum().backward()
        single = L.nn.functional.unfold(x[0], 2)
        return [columns, image, x.grad, single, L.nn.functional.fold(single, (6, 7), 2), repr(L.nn.Unfold(2)), repr(L.nn.Fold((4, 4), 2)),
                type(columns.grad_fn).__name__, type(image.grad_fn).__name__]  # fmt: skip

    agree(story)


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
def test_blocks_that_do_not_fit_are_refused_in_torchs_words(make):
    said = []
    for L in (torch, ut):
        with pytest.raises(RuntimeError) as error:
            make(L.nn.functional, L.tensor(numbers((2, 3, 6, 6))), L.tensor(numbers((2, 27, 16))))
        said.append(str(error.value)[:40])
    assert said[0] == said[1]


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("name", ["Conv1d", "Conv2d"])
def test_an_image_may_be_padded_by_what_it_shows(name, mode):
    args, shape = LAYERS[name]
    agree(lambda L: [layer := getattr(L.nn, name)(*args, padding=1, padding_mode=mode), layer(L.tensor(numbers(shape)))])
