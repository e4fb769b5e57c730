"""A story told to both libraries, and whether they answer the same: values to rounding, words and warnings exactly."""

from __future__ import annotations

import warnings

import numpy as np


def plain(value):
    """A result without its library."""
    if hasattr(value, "detach"):
        return np.asarray(value.detach().double().numpy() if value.dtype.is_floating_point else value.detach().numpy())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.replace("undertow.", "torch.") if isinstance(value, str) else value


def outcome(L, story):
    """What comes out, or what is raised; and what is warned of."""
    L.manual_seed(7)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = plain(story(L))
        except Exception as error:  # noqa: BLE001 - what it is, is compared
            result = f"{type(error).__name__}: {error}".replace("undertow.", "torch.")
    return result, [w.category.__name__ for w in seen]


def assert_same(ours, theirs, tolerance: float = 1e-5, where: str = "") -> None:
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), f"{where}: {ours!r}, torch {theirs!r}"
        assert ours.shape == theirs.shape, where
        np.testing.assert_allclose(ours, theirs, rtol=tolerance * 10, atol=tolerance, err_msg=where)
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple)), f"{where}: {ours!r}, torch {theirs!r}"
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, tolerance, f"{where}[{i}]")
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for k in theirs:
            assert_same(ours[k], theirs[k], tolerance, f"{where}[{k!r}]")
    elif isinstance(theirs, float):
        assert ours == theirs or abs(ours - theirs) <= tolerance, where
    elif isinstance(theirs, str) and "Error: " in theirs:  # torch's first clause; our facts may follow
        assert ours.startswith(theirs.rstrip(".")), f"{where}: {ours!r}, torch {theirs!r}"
    else:
        assert ours == theirs, where


def agree(ours, theirs, story, tolerance: float = 1e-5) -> None:
    """Asserts that the two libraries end the story alike."""
    assert_same(outcome(ours, story), outcome(theirs, story), tolerance)
