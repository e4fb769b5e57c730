"""Interpolation and grid sampling of images compared with torch."""

import warnings

import numpy as np
import pytest

import undertow as ut

RNG = np.random.default_rng(1)
X = {n: RNG.standard_normal((2, 3, 7, 6, 8)[: n + 2]).astype("float32") for n in (1, 2, 3)}
MODES = {1: ("nearest", "nearest-exact", "linear", "area"), 2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"), 3: ("nearest", "nearest-exact", "trilinear", "area")}
SIZED = [{"size": 5}, {"scale_factor": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.6, "recompute_scale_factor": True}, {"scale_factor": 2.3, "recompute_scale_factor": False}]


def resized(library, n, **options):
    x = library.from_numpy(X[n].copy()).requires_grad_()
    y = library.nn.functional.interpolate(x, **options)
    (y * library.linspace(-1, 1, y.numel()).reshape(y.shape)).sum().backward()
    return y, x.grad, y.grad_fn.name().rpartition("::")[2]


@pytest.mark.parametrize("options", SIZED, ids=str)
@pytest.mark.parametrize(("n", "mode"), [(n, m) for n, modes in MODES.items() for m in modes])
def test_every_mode_matches_torch_in_value_gradient_and_node(n: int, mode: str, options: dict, same_as_torch):
    same_as_torch(lambda L: resized(L, n, mode=mode, **options), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("n", "mode"), [(1, "linear"), (2, "bilinear"), (2, "bicubic"), (3, "trilinear")])
def test_corners_can_be_aligned(n: int, mode: str, same_as_torch):
    for size in (1, 4, 11):
        same_as_torch(lambda L, size=size: resized(L, n, mode=mode, size=size, align_corners=True), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(3, 2), (9, 13), (7, 3)], ids=str)
def test_antialiasing_averages_all_covered_pixels(mode: str, size: tuple[int, int], align_corners: bool, same_as_torch):
    if mode == "lanczos" and align_corners:  # lanczos has no corners to align
        align_corners = None
    same_as_torch(lambda L: resized(L, 2, mode=mode, size=size, antialias=True, align_corners=align_corners), rtol=1e-4, atol=1e-5)


ERROR_CASES = {
    "size and scale": lambda F, x: F.interpolate(x, size=3, scale_factor=2),
    "neither": lambda F, x: F.interpolate(x),
    "three sizes for two dimensions": lambda F, x: F.interpolate(x, size=(1, 2, 3)),
    "three scales for two dimensions": lambda F, x: F.interpolate(x, scale_factor=(1, 2, 3)),
    "a size that would be recomputed": lambda F, x: F.interpolate(x, size=3, recompute_scale_factor=True),
    "corners of nearest pixels": lambda F, x: F.interpolate(x, size=3, align_corners=True),
    "antialiased nearest pixels": lambda F, x: F.interpolate(x, size=3, antialias=True),
    "lanczos without antialiasing": lambda F, x: F.interpolate(x, size=3, mode="lanczos"),
    "linear for an image": lambda F, x: F.interpolate(x, size=3, mode="linear"),
    "no such mode": lambda F, x: F.interpolate(x, size=3, mode="quintic"),
    "no dimensions": lambda F, x: F.interpolate(x[0, 0], size=3),
    "size zero": lambda F, x: F.interpolate(x, size=0),
    "a size that is not an integer": lambda F, x: F.interpolate(x, size=2.5),
    "integers": lambda F, x: F.interpolate(x.int(), size=3, mode="bilinear"),
    "a grid for another batch": lambda F, x: F.grid_sample(x, x.new_zeros(1, 2, 2, 2)),
    "a grid with one number": lambda F, x: F.grid_sample(x, x.new_zeros(2, 2, 2, 1)),
    "no such sampling mode": lambda F, x: F.grid_sample(x, x.new_zeros(2, 2, 2, 2), mode="no"),
    "no such padding": lambda F, x: F.grid_sample(x, x.new_zeros(2, 2, 2, 2), padding_mode="no"),
    "a matrix of another shape": lambda F, x: F.affine_grid(x.new_zeros(2, 3, 3), (2, 3, 4, 5)),
    "three sizes of an affine grid": lambda F, x: F.affine_grid(x.new_zeros(2, 2, 3), (2, 3, 4)),
}


@pytest.mark.parametrize("scenario", ERROR_CASES)
@pytest.mark.filterwarnings("ignore:Default grid_sample")
def test_errors_match_torch(scenario: str, same_as_torch):
    def kind(library):
        with pytest.raises(Exception) as caught:
            ERROR_CASES[scenario](library.nn.functional, library.from_numpy(X[2].copy()))
        return caught.type.__name__

    same_as_torch(kind)


def test_layers_match_torch_in_repr_and_output(same_as_torch):
    def run(library):
        nn = library.nn
        layers = [nn.Upsample(scale_factor=2), nn.Upsample(size=(3, 4), mode="bilinear", align_corners=True), nn.UpsamplingNearest2d(2),
                  nn.UpsamplingBilinear2d(scale_factor=2), nn.Upsample(scale_factor=(2, 3), recompute_scale_factor=True)]
        return [(repr(layer), layer(library.from_numpy(X[2].copy())).numpy()) for layer in layers]

    same_as_torch(run, atol=1e-5)


def test_old_names_warn_and_work(same_as_torch):
    for name in ("upsample", "upsample_nearest", "upsample_bilinear"):
        with pytest.warns(UserWarning, match="deprecated"):
            getattr(ut.nn.functional, name)(ut.from_numpy(X[2].copy()), scale_factor=2)

        def quiet(library, name=name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return getattr(library.nn.functional, name)(library.from_numpy(X[2].copy()), scale_factor=2)

        same_as_torch(quiet, atol=1e-5)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("align_corners", [False, True])
def test_affine_grids_and_sampling_match_torch(n: int, align_corners: bool, same_as_torch):
    theta = np.random.default_rng(2).standard_normal((2, n, n + 1))

    def run(library):
        F, x = library.nn.functional, library.from_numpy(X[n].astype("float64")).requires_grad_()
        t = library.from_numpy(theta.copy()).requires_grad_()
        grid = F.affine_grid(t, (2, 3, *(4, 5, 6)[:n]), align_corners)
        y = F.grid_sample(x, grid, padding_mode="reflection", align_corners=align_corners)
        (y * y).sum().backward()
        return grid, y, x.grad, t.grad

    same_as_torch(run, rtol=1e-7, atol=1e-9)


def test_results_are_bitwise_equal_for_any_number_of_threads():
    def run(threads, mode):
        ut.set_num_threads(threads)
        x = ut.from_numpy(np.repeat(X[2], 30, 0)).requires_grad_()
        y = ut.nn.functional.interpolate(x, scale_factor=1.7, mode=mode)
        (y * y).sum().backward()
        return y.detach().numpy(), x.grad.numpy()

    before = ut.get_num_threads()
    try:
        for mode in ("nearest", "bilinear", "bicubic"):
            for a, b in zip(run(1, mode), run(4, mode), strict=True):
                assert (a == b).all()
    finally:
        ut.set_num_threads(before)


@pytest.mark.parametrize(("mode", "shape", "size"), [("nearest", (2, 3, 9, 14), (4, 5)), ("nearest-exact", (2, 3, 9, 14), (4, 13)), ("nearest", (2, 3, 20), (7,)),
                                                     ("nearest", (1, 2, 6, 5, 8), (3, 4, 2)), ("bilinear", (2, 3, 9, 14), (4, 5)), ("bicubic", (2, 3, 9, 14), (4, 13)),
                                                     ("nearest", (2, 3, 9, 14), (4, 40))])
def test_the_gradient_of_an_image_that_shrinks_is_the_transpose(mode: str, shape: tuple[int, ...], size: tuple[int, ...]):
    x = ut.randn(shape, dtype=ut.float64, requires_grad=True)
    y = ut.nn.functional.interpolate(x, size, mode=mode)
    g, v = ut.randn(y.shape, dtype=ut.float64), ut.randn(shape, dtype=ut.float64)
    (grad,) = ut.autograd.grad(y, x, g)
    ut.testing.assert_close((grad * v).sum(), (g * ut.nn.functional.interpolate(v, size, mode=mode)).sum())
