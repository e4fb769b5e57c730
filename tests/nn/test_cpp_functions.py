"""Functions that the C++ API composes in headers equal Python's, bit for bit.

The C++ side is tests/cpp/frontend/test_functions.cpp; a build with UNDERTOW_TESTS has it.
"""

from __future__ import annotations

import subprocess

import pytest
from frontend_programs import frontend_program

import undertow as ut
from undertow import fft, nn
from undertow.nn import functional as F
from undertow.nn.utils.rnn import pad_sequence


def numbers(*size: int) -> ut.Tensor:
    count = 1
    for s in size:
        count *= s
    return ut.linspace(-2, 2, count).reshape(size)


def transforms():
    x = numbers(3, 4, 6)
    z = ut.complex(x, x.square())
    return {
        "fft": fft.fft(x),
        "fft_options": fft.fft(z, 5, 1, "ortho"),
        "ifft": fft.ifft(x, 8),
        "rfft": fft.rfft(x, dim=0, norm="forward"),
        "irfft": fft.irfft(z, 7),
        "hfft": fft.hfft(z),
        "ihfft": fft.ihfft(x, 4, 1, "ortho"),
        "fft2": fft.fft2(x),
        "ifft2": fft.ifft2(z, (3, 8), (0, 1), "forward"),
        "rfft2": fft.rfft2(x, (-1, 5)),
        "irfft2": fft.irfft2(z),
        "fftn": fft.fftn(x),
        "ifftn": fft.ifftn(z, dim=(0, 2)),
        "rfftn": fft.rfftn(x, (4, 4), norm="ortho"),
        "irfftn": fft.irfftn(z, (4, 9), (2, 1)),
        "hfftn": fft.hfftn(z),
        "ihfftn": fft.ihfftn(x, dim=(1, 0)),
        "hfft2": fft.hfft2(z),
        "ihfft2": fft.ihfft2(x),
        "fftfreq": fft.fftfreq(7, 0.5),
        "rfftfreq": fft.rfftfreq(8, 0.1, dtype=ut.float64),
        "fftshift": fft.fftshift(x),
        "ifftshift": fft.ifftshift(x, (1, 2)),
    }


def signals():
    x, window = numbers(2, 60).sin(), ut.hann_window(16)
    columns = ut.stft(x, 16, 4, window=window, return_complex=True)
    return {
        "hann": ut.hann_window(9),
        "hann_symmetric": ut.hann_window(9, False, dtype=ut.float64),
        "hamming": ut.hamming_window(8, True, 0.6, 0.4),
        "blackman": ut.blackman_window(6, False),
        "bartlett": ut.bartlett_window(7),
        "kaiser": ut.kaiser_window(10, True, 8.0),
        "one": ut.hann_window(1, dtype=ut.float64),
        "stft": columns,
        "stft_short_window": ut.stft(
            x[0], 12, win_length=8, pad_mode="constant", normalized=True, onesided=False, return_complex=True
        ),
        "stft_without_padding": ut.stft(x, 16, 8, window=window, center=False, return_complex=False),
        "istft": ut.istft(columns, 16, 4, window=window, length=60),
        "istft_complex": ut.istft(fft.fft(numbers(5, 8)).t(), 8, 2, center=False, onesided=False, return_complex=True),
    }


def images():
    line, image, volume = numbers(2, 3, 7), numbers(2, 3, 5, 4), numbers(1, 2, 3, 4, 5)
    grid = F.affine_grid(numbers(2, 2, 3), [2, 3, 4, 6], align_corners=False)
    return {
        "nearest1": F.interpolate(line, size=11),
        "nearest2": F.interpolate(image, scale_factor=(2, 1.7)),
        "nearest_exact": F.interpolate(image, size=(3, 9), mode="nearest-exact"),
        "linear": F.interpolate(line, scale_factor=1.6, mode="linear"),
        "bilinear": F.interpolate(image, size=(8, 3), mode="bilinear"),
        "bilinear_corners": F.interpolate(image, scale_factor=(1.5, 2.5), mode="bilinear", align_corners=True),
        "bilinear_recomputed": F.interpolate(image, scale_factor=(1.3, 2.6), mode="bilinear", recompute_scale_factor=True),
        "bilinear_antialias": F.interpolate(image, size=(2, 2), mode="bilinear", antialias=True),
        "bicubic": F.interpolate(image, size=(7, 7), mode="bicubic", align_corners=False),
        "trilinear": F.interpolate(volume, size=(4, 2, 7), mode="trilinear"),
        "area": F.interpolate(image, size=(2, 3), mode="area"),
        "upsample": nn.Upsample(scale_factor=2, mode="bilinear")(image),
        "affine_grid": grid,
        "affine_grid_3d": F.affine_grid(numbers(1, 3, 4), [1, 1, 2, 3, 4], align_corners=True),
        "grid_sample": F.grid_sample(image, grid, align_corners=False),
        "grid_sample_border": F.grid_sample(image, grid, padding_mode="border", align_corners=True),
        "grid_sample_nearest": F.grid_sample(image, grid, "nearest", "reflection", align_corners=False),
        "grid_sample_bicubic": F.grid_sample(image, grid, "bicubic", "reflection", align_corners=True),
        "grid_sample_3d": F.grid_sample(volume, numbers(1, 2, 3, 2, 3), align_corners=True),
        "unfold": F.unfold(image, (2, 3), padding=1, stride=(2, 1)),
        "fold": F.fold(numbers(1, 8, 12), (4, 5), 2),
    }


def poolings():
    line, image, volume = numbers(2, 3, 8), numbers(2, 3, 6, 6).sin(), numbers(1, 2, 4, 4, 4).cos()
    return {
        "unpool1": F.max_unpool1d(*F.max_pool1d(line, 2, return_indices=True), 2),
        "unpool2": F.max_unpool2d(*F.max_pool2d(image, 3, 2, return_indices=True), 3, 2, output_size=(6, 6)),
        "unpool3": F.max_unpool3d(*F.max_pool3d(volume, 2, return_indices=True), 2),
        "lp1": F.lp_pool1d(line, 4, 2),
        "lp2": F.lp_pool2d(image, 2, (2, 3), 1),
        "lp3_maximum": F.lp_pool3d(volume, float("inf"), 2),
    }


def losses():
    scores, labels, weight = numbers(4, 5).sin(), ut.tensor([0, 3, 4, 1]), ut.linspace(0.5, 2, 5)
    listed = ut.tensor([[3, 0, -1, 1, 2], [-1, 0, 0, 0, 0], [1, 2, 3, 4, 0], [2, -1, 2, -1, 2]])
    log_probs, targets = numbers(6, 3, 4).cos().log_softmax(-1), ut.tensor([[1, 2, 3], [2, 2, 1], [3, 1, 1]])
    steps, counts = ut.tensor([6, 5, 4]), ut.tensor([3, 2, 1])
    leaf = log_probs.detach().clone().requires_grad_()
    F.ctc_loss(leaf, targets, steps, counts, reduction="sum").backward()
    return {
        "multi_margin": F.multi_margin_loss(scores, labels),
        "multi_margin_options": F.multi_margin_loss(scores, labels, 2, 0.4, weight, reduction="none"),
        "multilabel_margin": F.multilabel_margin_loss(scores, listed),
        "multilabel_soft_margin": F.multilabel_soft_margin_loss(scores, (scores > 0).float(), weight),
        "triplet": F.triplet_margin_with_distance_loss(
            scores, scores.cos(), scores.flip(0), distance_function=lambda a, b: (a - b).abs().sum(-1), swap=True, reduction="sum"
        ),
        "ctc": F.ctc_loss(log_probs, targets, steps, counts),
        "ctc_sum": F.ctc_loss(log_probs, targets, [6, 6, 2], [3, 3, 3], reduction="sum", zero_infinity=True),
        "ctc_gradient": leaf.grad,
    }


def bags():
    ut.manual_seed(3)
    bag = nn.EmbeddingBag(7, 3, mode="sum", padding_idx=2)
    rows = ut.arange(12).reshape(3, 4) % 7
    return {
        "bag_weight": bag.weight,
        "bag": bag(rows, per_sample_weights=numbers(3, 4)),
        "bag_mean": F.embedding_bag(rows.reshape(-1), bag.weight, ut.tensor([0, 5, 5])),
        "bag_max": F.embedding_bag(rows, bag.weight, mode="max"),
    }


def samples():
    ut.manual_seed(5)
    return {
        "gumbel": F.gumbel_softmax(numbers(3, 4)),
        "gumbel_hard": F.gumbel_softmax(numbers(3, 4), tau=0.5, hard=True, dim=0),
        "pdist": F.pdist(numbers(4, 3).sin(), 3),
        "padded": pad_sequence([numbers(2, 3), numbers(4, 3), numbers(1, 3)], True, -1),
        "padded_left": pad_sequence([ut.arange(2), ut.arange(4)], padding_side="left"),
    }


FAMILIES = [transforms, signals, images, poolings, losses, bags, samples]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the C++ test program computes."""
    path = tmp_path_factory.mktemp("functions") / "results.pt"
    subprocess.run([frontend_program("test_functions"), path], check=True)
    return ut.load(path)


@pytest.mark.parametrize("family", FAMILIES)
def test_functions_that_headers_compose_equal_those_of_python(written, family):
    expected = family()
    different = [name for name, value in expected.items() if value.dtype != written[name].dtype or not ut.equal(value, written[name])]
    assert not different


def test_every_result_of_the_program_is_compared(written):
    assert {name for family in FAMILIES for name in family()} == set(written)
