"""Short-time Fourier transforms and their inverse, composed of differentiable operators."""

from __future__ import annotations

import warnings

import undertow as ut
from undertow import fft
from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["istft", "stft"]


def _window(window: Tensor | None, win_length: int, n_fft: int, like: Tensor, name: str) -> Tensor | None:
    """Return the window padded with zeros on both sides to n_fft elements."""
    if window is None:
        if win_length == n_fft:
            return None
        window = ut.ones(win_length, dtype=ut.zeros((), dtype=like.dtype).abs().dtype)
    if window.dim() != 1 or window.shape[0] != win_length:
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size {list(window.shape)}"
        )
    left = (n_fft - win_length) // 2
    return window if win_length == n_fft else ut.constant_pad_nd(window, [left, n_fft - win_length - left])


@overridable
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Compute the short-time Fourier transform: the transforms of overlapping frames of a signal, as columns.

    >>> import undertow as ut
    >>> stft(ut.ones(8), 4, return_complex=True).shape
    undertow.Size([3, 9])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft: align_to_window should only be set when center = false.")
        lead = [1] * (3 - input.dim()) + list(input.shape)
        pad = n_fft // 2
        padded = ut.nn.functional.pad(input.reshape(lead), [pad, pad], pad_mode)
        input = padded.reshape(padded.shape[-input.dim() :])
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, got {input.dtype}")
    if input.dim() not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, got shape {list(input.shape)}")
    length = input.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"stft: expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"stft: expected 0 < win_length <= n_fft, but got win_length={win}")
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True "
                "in a future PyTorch release."
            )
        return_complex = True
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    half = not is_complex if onesided is None else onesided
    factor = _window(window, win, n_fft, input, "stft")
    single = input.dim() == 1
    frames = (input.unsqueeze(0) if single else input).unfold(-1, n_fft, hop)
    if factor is not None:
        frames = frames * factor
    kind = 1 if normalized else 0
    if is_complex:
        spectrum = _ops["_fft_c2c"](frames, [frames.dim() - 1], kind, True)
    else:
        spectrum = _ops["_fft_r2c"](frames, [frames.dim() - 1], kind, half)
    # In place, so that the result is no view, as in torch.
    spectrum.transpose_(-1, -2)
    if single:
        spectrum.squeeze_(0)
    return spectrum if return_complex else ut.view_as_real(spectrum)


def _overlapped(frames: Tensor, hop: int, length: int) -> Tensor:
    """Overlap-add frames (batch, frame, time), each shifted by `hop` from the previous one."""
    count, size = frames.shape[-2:]
    places = (ut.arange(count).unsqueeze(1) * hop + ut.arange(size)).reshape(-1)
    return ut.zeros(frames.shape[0], length, dtype=frames.dtype).index_add(1, places, frames.reshape(frames.shape[0], -1))


def _check_istft(input: Tensor, n_fft: int, hop: int, win: int, window: Tensor | None, onesided: bool) -> None:
    if not input.numel():
        raise RuntimeError("istft: input tensor cannot be empty.")
    if input.dim() not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {input.dim()}")
    bins = input.shape[-2]
    if onesided and n_fft // 2 + 1 != bins:
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when onesided=True, "
            f"but got {bins}"
        )
    if not onesided and n_fft != bins:
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when onesided=False, "
            f"but got {bins}"
        )
    if not 0 < hop <= win:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, got hop_length={hop} and win_length={win}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"istft: expected 0 < win_length <= n_fft, got win_length={win} and n_fft={n_fft}")
    if window is not None and (window.dim() != 1 or window.shape[0] != win):
        raise RuntimeError(f"istft: Invalid window shape. window has to be 1D and length of `win_length`, got {list(window.shape)}")


@overridable
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Invert `stft`: return the signal whose transforms are closest to the columns of `input` (least squares)."""
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    half = input.shape[-2] != n_fft if onesided is None else onesided
    _check_istft(input, n_fft, hop, win, window, half)
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if window is None:
        window = ut.ones(win, dtype=input.real.dtype)
    factor = _window(window, win, n_fft, input, "istft")
    assert factor is not None
    columns = input.unsqueeze(0) if input.dim() == 2 else input
    rows = columns.transpose(1, 2)
    norm: Any = "ortho" if normalized else "backward"
    if return_complex:
        frames = fft.ifft(rows, norm=norm)
    else:
        frames = fft.irfft(rows if half else rows.narrow(-1, 0, n_fft // 2 + 1), n_fft, norm=norm)
    count = frames.shape[1]
    whole = n_fft + hop * (count - 1)
    signal = _overlapped(frames * factor, hop, whole)
    weight = _overlapped((factor * factor).expand(1, count, n_fft), hop, whole)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - start
    stop = min(end, whole)
    signal, weight = signal[:, start:stop], weight[:, start:stop]
    if not bool((weight.abs() > 1e-11).all()):
        raise RuntimeError(
            f"istft: window overlap add min: 1: the windows of length {win}, {hop} apart, leave parts of the signal without weight"
        )
    signal = signal / weight
    if end > whole:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please check "
            "your center and hop_length settings.",
            stacklevel=3,
        )
        signal = ut.constant_pad_nd(signal, [0, end - whole])
    return signal.squeeze(0) if input.dim() == 2 else signal
