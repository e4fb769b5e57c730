"""`assert_close`: compare two tensors, numbers, or nested containers of them up to rounding.

The comparison uses NumPy, so that a faulty operator cannot hide its own error. Does not use autograd.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping, Sequence

import undertow as ut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy as np

__all__ = ["assert_close", "default_tolerances"]

# Per dtype: rtol, atol. All other dtypes must be exactly equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class _Mismatch(Exception):
    """A mismatch, with the item of the containers where it occurred."""

    def __init__(self, kind: type[Exception], text: str, at: tuple[Any, ...] = ()) -> None:
        super().__init__(text)
        self.kind, self.text, self.at = kind, text, at

    def error(self, msg: str | Callable[[str], str] | None) -> Exception:
        if isinstance(msg, str):
            return self.kind(msg)
        text = self.text
        if self.at:
            text += f"\n\nThe failure occurred for item {''.join(f'[{item!r}]' for item in self.at)}"
        return self.kind(msg(text) if msg else text)


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def default_tolerances(*inputs: Any) -> tuple[float, float]:
    """Return the largest (rtol, atol) of the given dtypes or tensors.

    >>> import undertow as ut
    >>> default_tolerances(ut.float32, ut.float64)
    (1.3e-06, 1e-05)
    """
    dtypes = [x.dtype if isinstance(x, ut.Tensor) else x for x in inputs]
    found = [_TOLERANCES.get(_name(d), (0.0, 0.0)) for d in dtypes]
    return max(r for r, _ in found), max(a for _, a in found)


def _array(t: ut.Tensor) -> np.ndarray:
    t = t.detach().cpu()
    if t.layout is not ut.strided:
        t = t.to_dense()
    t = t.resolve_conj().resolve_neg()
    if t.dtype.is_complex:
        return (t.to(ut.complex64) if t.dtype is ut.complex32 else t).numpy()
    return (t.to(ut.float32) if t.dtype.is_floating_point and t.dtype not in (ut.float16, ut.float64) else t).numpy()


def _difference_lines(absolute: Any, relative: Any, where: Sequence[Any], rtol: float, atol: float) -> str:
    """Return the lines about the greatest differences; tolerances are shown unless both are zero."""
    exact = rtol == 0 and atol == 0
    lines = []
    for kind, value, place, allowed in (("absolute", absolute, where[0], atol), ("relative", relative, where[1], rtol)):
        line = f"{kind.title()} difference: {value}" if place is None else f"Greatest {kind} difference: {value} at index {place}"
        lines.append(line if exact else f"{line} (up to {allowed} allowed)")
    return "\n".join(lines)


def _verdict(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'equal' if rtol == 0 and atol == 0 else 'close'}!\n\n"


def _compare_arrays(actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float, equal_nan: bool, at: tuple) -> None:
    import numpy as np

    with np.errstate(all="ignore"):
        if actual.dtype.kind == "b":
            a, e = actual.astype(np.int64), expected.astype(np.int64)
        elif actual.dtype.kind in "iu":
            a, e = actual, expected
        else:
            wide = np.complex128 if actual.dtype.kind == "c" else np.float64
            a, e = actual.astype(wide), expected.astype(wide)
        if rtol == 0 and atol == 0:
            same = (a == e) | (equal_nan & np.isnan(a) & np.isnan(e)) if a.dtype.kind in "fc" else a == e
        else:
            same = np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
        same = np.asarray(same)
        if same.all():
            return
        # The difference of integers may not fit into their dtype.
        difference = np.abs(a.astype(object) - e.astype(object)).astype(np.float64) if a.dtype.kind in "iu" else np.abs(a - e)
        relative = difference / np.abs(e)
        difference, relative = (np.where(same, 0.0, x) for x in (difference, relative))
    if actual.ndim == 0:
        head = _verdict("Scalars", rtol, atol) + f"Expected {expected.item()} but got {actual.item()}.\n"
        raise _Mismatch(AssertionError, head + _difference_lines(difference.item(), relative.item(), (None, None), rtol, atol), at)
    count, total = int((~same).sum()), same.size
    head = _verdict("Tensor-likes", rtol, atol) + f"Mismatched elements: {count} / {total} ({count / total:.1%})\n"
    places = [np.unravel_index(int(_argmax(x)), same.shape) for x in (difference, relative)]
    values = [x[p].item() for x, p in zip((difference, relative), places, strict=True)]
    if a.dtype.kind in "iu":
        values[0] = int(values[0])
    where = tuple(tuple(int(i) for i in p) for p in places)
    raise _Mismatch(AssertionError, head + _difference_lines(values[0], values[1], where, rtol, atol), at)


def _argmax(x: np.ndarray) -> int:
    """Return the index of the greatest element; nan counts as the greatest."""
    import numpy as np

    return int(np.argmax(np.where(np.isnan(x), np.inf, x)))


class _Comparison:
    """The options of one call, and the traversal of containers."""

    def __init__(self, allow_subclasses: bool, rtol: float | None, atol: float | None, equal_nan: bool, checks: dict[str, bool]) -> None:
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        self.allow_subclasses, self.rtol, self.atol, self.equal_nan, self.checks = allow_subclasses, rtol, atol, equal_nan, checks

    def tolerances(self, *inputs: Any) -> tuple[float, float]:
        return default_tolerances(*inputs) if self.rtol is None or self.atol is None else (self.rtol, self.atol)

    def compare(self, actual: Any, expected: Any, at: tuple = ()) -> None:
        import numpy as np

        if isinstance(actual, ut.Tensor) or isinstance(expected, ut.Tensor):
            if self._both_tensor_like(actual, expected):
                return self._tensors(self._as_tensor(actual), self._as_tensor(expected), at)
        elif isinstance(actual, (str, bytes)) or isinstance(expected, (str, bytes)):
            pass
        elif isinstance(actual, Sequence) and isinstance(expected, Sequence):
            return self._sequences(actual, expected, at)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            return self._mappings(actual, expected, at)
        elif actual is None or expected is None:
            if actual is expected:
                return None
            raise _Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}", at)
        elif isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
            if bool(actual) is not bool(expected):
                raise _Mismatch(AssertionError, f"Booleans mismatch: {actual} is not {expected}", at)
            return None
        elif isinstance(actual, np.ndarray) or isinstance(expected, np.ndarray):
            if self._both_tensor_like(actual, expected):
                return self._tensors(self._as_tensor(actual), self._as_tensor(expected), at)
        elif _is_number(actual) and _is_number(expected):
            return self._numbers(actual, expected, at)
        raise _Mismatch(TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", at)

    def _both_tensor_like(self, actual: Any, expected: Any) -> bool:
        import numpy as np

        like = (ut.Tensor, np.ndarray) + (() if self.checks["dtype"] else (int, float, complex))
        if not (isinstance(actual, like) and isinstance(expected, like)):
            return False
        if type(actual) is type(expected) or not self.checks["dtype"]:
            return True
        return self.allow_subclasses and (isinstance(actual, type(expected)) or isinstance(expected, type(actual)))

    @staticmethod
    def _as_tensor(x: Any) -> ut.Tensor:
        import numpy as np

        if isinstance(x, ut.Tensor):
            return x
        return ut.from_numpy(np.array(x)) if isinstance(x, np.ndarray) and x.ndim else ut.tensor(x.item() if isinstance(x, np.ndarray) else x)

    def _sequences(self, actual: Sequence, expected: Sequence, at: tuple) -> None:
        if len(actual) != len(expected):
            raise _Mismatch(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", at)
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            self.compare(a, e, (*at, i))

    def _mappings(self, actual: Mapping, expected: Mapping, at: tuple) -> None:
        if actual.keys() != expected.keys():
            missing, additional = (sorted(x, key=repr) for x in (expected.keys() - actual.keys(), actual.keys() - expected.keys()))
            raise _Mismatch(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}",
                at,
            )
        for key in sorted(actual, key=repr):
            self.compare(actual[key], expected[key], (*at, key))

    def _numbers(self, actual: Any, expected: Any, at: tuple) -> None:
        if self.checks["dtype"] and type(actual) is not type(expected):
            raise _Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.", at)
        kinds = {int: ut.int64, float: ut.float64, complex: ut.complex128}
        rtol, atol = self.tolerances(*(kinds[_number_kind(x)] for x in (actual, expected)))
        if actual == expected or (self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        difference = abs(actual - expected)
        if cmath.isfinite(actual) and cmath.isfinite(expected) and difference <= atol + rtol * abs(expected):
            return
        relative = float("inf") if expected == 0 else difference / abs(expected)
        head = _verdict("Scalars", rtol, atol) + f"Expected {expected} but got {actual}.\n"
        raise _Mismatch(AssertionError, head + _difference_lines(difference, relative, (None, None), rtol, atol), at)

    def _tensors(self, actual: ut.Tensor, expected: ut.Tensor, at: tuple) -> None:
        import numpy as np

        def differ(attribute: str, a: Any, e: Any) -> None:
            if a != e:
                raise _Mismatch(AssertionError, f"The values for attribute '{attribute}' do not match: {a} != {e}.", at)

        differ("shape", actual.shape, expected.shape)
        if self.checks["layout"]:
            differ("layout", actual.layout, expected.layout)
        if self.checks["stride"]:
            differ("stride()", actual.stride(), expected.stride())
        if self.checks["device"]:
            differ("device", actual.device, expected.device)
        if self.checks["dtype"]:
            differ("dtype", actual.dtype, expected.dtype)
        rtol, atol = self.tolerances(actual, expected)
        a, e = _array(actual), _array(expected)
        if a.dtype != e.dtype:
            a, e = (x.astype(np.promote_types(a.dtype, e.dtype)) for x in (a, e))
        _compare_arrays(a, e, rtol, atol, self.equal_nan, at)


def _is_number(x: Any) -> bool:
    import numpy as np

    return isinstance(x, (int, float, complex, np.number)) and not isinstance(x, bool)


def _number_kind(x: Any) -> type:
    import numpy as np

    return int if isinstance(x, (int, np.integer)) else float if isinstance(x, (float, np.floating)) else complex


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise an AssertionError unless `actual` and `expected` agree within tolerances.

    |actual - expected| <= atol + rtol * |expected|, elementwise. The default tolerances depend on the dtype: rtol
    1.3e-6 and atol 1e-5 for float32, 1e-7 for both for float64, zero for integers. Sequences and mappings are compared item by item.
    `msg` replaces the message; if it is a function, it gets the message and returns the one to use.

    >>> import undertow as ut
    >>> ut.testing.assert_close(ut.tensor([1.0, 2.0]), ut.tensor([1.0, 2.0 + 1e-7]))
    >>> ut.testing.assert_close(ut.tensor([1.0, 2.0]), ut.tensor([1.0, 3.0]))
    Traceback (most recent call last):
    ...
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 1.0 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.3333333333333333 at index (1,) (up to 1.3e-06 allowed)
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    comparison = _Comparison(allow_subclasses, rtol, atol, equal_nan, checks)
    try:
        comparison.compare(actual, expected)
    except _Mismatch as mismatch:
        raise mismatch.error(msg) from None
