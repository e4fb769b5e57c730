"""Padding beside torch's: layers, their repr, negative pads, memory formats, refused arguments."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut

X = np.random.default_rng(0).standard_normal((2, 3, 6, 5, 4)).astype("float32")
LAYERS = {f"{kind}Pad{n}d": n for kind in ("Constant", "Zero", "Reflection", "Replication", "Circular") for n in (1, 2, 3)}


def both(story):
    return [story(library, library.from_numpy(X.copy())) for library in (ut, torch)]


def outcome(story):
    def tell(library, x):
        try:
            return story(library, x).detach().numpy()
        except Exception as error:
            return type(error)

    return both(tell)


@pytest.mark.parametrize("batch", [True, False], ids=["batch", "single"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_pads_as_torchs_and_looks_like_it(name: str, batch: bool):
    n = LAYERS[name]
    for padding in (2, tuple(range(2 * n)[::-1][: 2 * n])):
        more = (1.5,) if name.startswith("Constant") else ()
        if name.startswith(("Reflection", "Circular")) and n == 3 and padding != 2:
            continue

        def run(library, x, padding=padding, more=more):
            layer = getattr(library.nn, name)(padding, *more)
            x = x.reshape(6, *x.shape[2:]) if n == 3 else x[0] if n == 2 else x[0, 0]
            x = x if n == 3 else x.reshape(-1, *x.shape[-n - 1 :])
            x = (x[:2].reshape(1, 2, *x.shape[1:]) if x.dim() == n + 1 else x) if batch else x.reshape(-1, *x.shape[-n:])
            try:
                return repr(layer), layer(x).numpy()
            except Exception as error:
                return repr(layer), np.array(type(error).__name__)

        (our_repr, ours), (their_repr, theirs) = both(run)
        assert our_repr == their_repr
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(-1, 2, 1, -2), (-2, -2, 0, 1), (0, 0, 0, 0), (3, 3, 3, 3), (-1, 3, -2, 2)], ids=str)
def test_negative_pads_cut_as_torchs_do(mode: str, pad: tuple[int, ...]):
    ours, theirs = outcome(lambda L, x: L.nn.functional.pad(x[0], pad, mode))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("dims", "pad", "mode", "value"),
    [
        (4, (1, 2, 3), "constant", None), (4, (1,) * 10, "constant", None), (4, (1, 1), "no such mode", None), (4, (1, 1), "reflect", None),
        (3, (9, 1), "reflect", None), (3, (9, 1), "circular", None), (3, (1, 1), "reflect", 3.0), (3, (-2, -2), "replicate", None),
        (3, (-2, -3), "reflect", None), (1, (1, 1), "reflect", None), (3, 1, "constant", None), (3, (1.5, 1), "constant", None), (3, (-3, -3), "constant", None),
    ],
)
def test_arguments_that_torch_refuses_are_refused_with_the_same_error(dims, pad, mode, value):
    ours, theirs = outcome(lambda L, x: L.nn.functional.pad(x.reshape((1,) * (dims - 1) + (-1,))[..., :4], pad, mode, value))
    assert ours is theirs


def test_a_padded_bool_image_keeps_its_dtype():
    x = ut.ones(2, 3, dtype=ut.bool)
    assert ut.nn.functional.pad(x, (1, 0)).tolist() == [[False, True, True, True]] * 2


def test_channels_last_stays_channels_last():
    def run(library, x):
        y = x[0].contiguous(memory_format=library.channels_last)
        return [library.nn.functional.pad(y, (1, 1, 1, 1), mode).stride() for mode in ("constant", "reflect", "replicate")]

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_threads_do_not_change_a_bit_of_the_gradient(mode: str):
    def gradient(threads):
        ut.set_num_threads(threads)
        x = ut.from_numpy(np.repeat(X.reshape(-1, 5, 4), 40, 0)).requires_grad_()
        y = ut.nn.functional.pad(x, (3, 2), mode)
        (y * ut.arange(float(y.numel())).reshape(y.shape)).sum().backward()
        return x.grad.numpy()

    before = ut.get_num_threads()
    try:
        assert (gradient(1) == gradient(4)).all()
    finally:
        ut.set_num_threads(before)


def test_the_nodes_have_torchs_names():
    def name(library, mode):
        x = library.ones(1, 2, 3, 3, requires_grad=True)
        return library.nn.functional.pad(x, (1, 1, 1, 1), mode).grad_fn.name().rpartition("::")[2]

    for mode in ("constant", "reflect", "replicate"):
        assert name(ut, mode) == name(torch, mode)
