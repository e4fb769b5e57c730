"""Padding compared with torch: layers, their repr, negative pads, memory formats, errors."""

import numpy as np
import pytest

import undertow as ut

X = np.random.default_rng(0).standard_normal((2, 3, 6, 5, 4)).astype("float32")
LAYERS = {f"{kind}Pad{n}d": n for kind in ("Constant", "Zero", "Reflection", "Replication", "Circular") for n in (1, 2, 3)}


def given(library):
    return library.from_numpy(X.copy())


@pytest.mark.parametrize("batch", [True, False], ids=["batch", "single"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_matches_torch_in_output_and_repr(name: str, batch: bool, same_as_torch):
    n = LAYERS[name]
    for padding in (2, tuple(range(2 * n)[::-1][: 2 * n])):
        more = (1.5,) if name.startswith("Constant") else ()
        if name.startswith(("Reflection", "Circular")) and n == 3 and padding != 2:
            continue

        def run(library, padding=padding, more=more):
            x = given(library)
            layer = getattr(library.nn, name)(padding, *more)
            x = x.reshape(6, *x.shape[2:]) if n == 3 else x[0] if n == 2 else x[0, 0]
            x = x if n == 3 else x.reshape(-1, *x.shape[-n - 1 :])
            x = (x[:2].reshape(1, 2, *x.shape[1:]) if x.dim() == n + 1 else x) if batch else x.reshape(-1, *x.shape[-n:])
            try:
                return repr(layer), layer(x)
            except Exception as error:
                return repr(layer), type(error).__name__

        same_as_torch(run, rtol=1e-7, atol=0)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(-1, 2, 1, -2), (-2, -2, 0, 1), (0, 0, 0, 0), (3, 3, 3, 3), (-1, 3, -2, 2)], ids=str)
def test_negative_pads_crop_as_in_torch(mode: str, pad: tuple[int, ...], same_as_torch):
    same_as_torch(lambda L: L.nn.functional.pad(given(L)[0], pad, mode), rtol=1e-7, atol=0)


CUT = {
    "line": ((1, 4), (-4, 0)), "past a line": ((1, 4), (-5, 0)), "columns": ((1, 3, 4), (-4, 0, 0, 0)), "rows": ((2, 1, 3, 4), (1, 1, -1, -2)),
    "rows and columns": ((1, 3, 4), (-4, 0, -3, 0)), "planes": ((1, 1, 2, 3, 4), (0, 0, 0, 0, -2, 0)), "all of a volume": ((1, 2, 3, 4), (-4, 0, -3, 0, -2, 0)),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("what", CUT)
def test_nothing_left_of_some_dimensions_is_an_empty_result_and_of_all_an_error(what: str, mode: str, same_as_torch):
    shape, pad = CUT[what]

    def run(L):
        x = L.ones(shape).requires_grad_()
        y = L.nn.functional.pad(x, pad, mode)
        y.sum().backward()
        if L is ut:  # torch leaves the gradient of volumes as memory was
            assert not x.grad.any()
        return list(y.shape)

    same_as_torch(run)


@pytest.mark.parametrize(
    ("dims", "pad", "mode", "value"),
    [
        (4, (1, 2, 3), "constant", None), (4, (1,) * 10, "constant", None), (4, (1, 1), "no such mode", None), (4, (1, 1), "reflect", None),
        (3, (9, 1), "reflect", None), (3, (9, 1), "circular", None), (3, (1, 1), "reflect", 3.0), (3, (-2, -2), "replicate", None),
        (3, (-2, -3), "reflect", None), (1, (1, 1), "reflect", None), (3, 1, "constant", None), (3, (1.5, 1), "constant", None), (3, (-3, -3), "constant", None),
    ],
)
def test_errors_match_torch(dims, pad, mode, value, same_as_torch):
    def kind(L):
        with pytest.raises(Exception) as caught:
            L.nn.functional.pad(given(L).reshape((1,) * (dims - 1) + (-1,))[..., :4], pad, mode, value)
        return caught.type.__name__

    same_as_torch(kind)


def test_a_padded_bool_image_keeps_its_dtype():
    x = ut.ones(2, 3, dtype=ut.bool)
    assert ut.nn.functional.pad(x, (1, 0)).tolist() == [[False, True, True, True]] * 2


def test_channels_last_stays_channels_last(same_as_torch):
    def run(library):
        y = given(library)[0].contiguous(memory_format=library.channels_last)
        return [library.nn.functional.pad(y, (1, 1, 1, 1), mode).stride() for mode in ("constant", "reflect", "replicate")]

    same_as_torch(run)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_gradients_are_bitwise_equal_for_any_number_of_threads(mode: str):
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


def test_the_nodes_have_torchs_names(same_as_torch):
    def name(library, mode):
        x = library.ones(1, 2, 3, 3, requires_grad=True)
        return library.nn.functional.pad(x, (1, 1, 1, 1), mode).grad_fn.name().rpartition("::")[2]

    for mode in ("constant", "reflect", "replicate"):
        same_as_torch(lambda library, mode=mode: name(library, mode))
