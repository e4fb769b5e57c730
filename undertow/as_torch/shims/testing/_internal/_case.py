"""`TestCase`: unittest's class, with an assertEqual for tensors, numbers, arrays and containers of them.

It is more lenient than `assert_close`: a number may be compared with a one-element tensor, and an array with a tensor.
"""

from __future__ import annotations

import contextlib
import unittest
import warnings
from collections.abc import Mapping, Sequence

import undertow as ut
from undertow.as_torch.shims.testing._internal._contexts import set_rng_seed
from undertow.testing._comparison import _Comparison, _is_number, _Mismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FLOAT_TOLERANCES = (1.3e-6, 1e-5)  # Python numbers are compared with the tolerances of float32


class _Relaxed(_Comparison):
    """Compares arbitrary values: those that are neither tensors nor numbers must be equal."""

    def compare(self, actual: Any, expected: Any, at: tuple = ()) -> None:
        import numpy as np

        tensor_like = (ut.Tensor, np.ndarray)
        if isinstance(actual, tensor_like) or isinstance(expected, tensor_like):
            self._with_tensor(actual, expected, at)
        elif isinstance(actual, (str, bytes, type)) or isinstance(expected, (str, bytes, type)):
            self._equal(actual, expected, at)
        elif isinstance(actual, Sequence) and isinstance(expected, Sequence):
            self._sequences(actual, expected, at)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self._mappings(actual, expected, at)
        elif isinstance(actual, bool) or isinstance(expected, bool):
            self._equal(actual, expected, at)
        elif _is_number(actual) and _is_number(expected):
            self._numbers(actual, expected, at)
        else:
            self._equal(actual, expected, at)

    def _with_tensor(self, actual: Any, expected: Any, at: tuple) -> None:
        numbers = [_is_number(x) or isinstance(x, bool) for x in (actual, expected)]
        if any(numbers):
            a, e = (x.item() if hasattr(x, "item") and hasattr(x, "shape") and self._numel(x) == 1 else x for x in (actual, expected))
            if all(_is_number(v) or isinstance(v, bool) for v in (a, e)):
                return self.compare(a, e, at) if any(isinstance(v, bool) for v in (a, e)) else self._numbers(a, e, at)
        if any(not hasattr(x, "shape") and isinstance(x, Sequence) and not isinstance(x, str) for x in (actual, expected)):
            actual, expected = (x if hasattr(x, "shape") else ut.tensor(x) for x in (actual, expected))
        if not all(hasattr(x, "shape") for x in (actual, expected)):
            raise _Mismatch(AssertionError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", at)
        return self._tensors(self._as_tensor(actual), self._as_tensor(expected), at)

    @staticmethod
    def _numel(x: Any) -> int:
        return x.numel() if isinstance(x, ut.Tensor) else x.size

    def _numbers(self, actual: Any, expected: Any, at: tuple) -> None:
        given = self.rtol, self.atol
        if self.rtol is None and not all(isinstance(x, int) for x in (actual, expected)):
            self.rtol, self.atol = _FLOAT_TOLERANCES
        try:
            before, self.checks = self.checks, {**self.checks, "dtype": False}
            super()._numbers(actual, expected, at)
        finally:
            self.rtol, self.atol = given
            self.checks = before

    @staticmethod
    def _equal(actual: Any, expected: Any, at: tuple) -> None:
        if not (actual is expected or actual == expected):
            raise _Mismatch(AssertionError, f"{type(actual).__name__} mismatch: {actual!r} != {expected!r}", at)


class TestCase(unittest.TestCase):
    """A unittest case that resets the random seeds before every test."""

    precision: float = 0
    rel_tol: float = 0
    maxDiff = None
    longMessage = True

    def setUp(self) -> None:
        set_rng_seed()

    @contextlib.contextmanager
    def _mismatch_message(self, msg: Any) -> Iterator[None]:
        try:
            yield
        except _Mismatch as found:
            text = found.error(None)
            said = msg(str(text)) if callable(msg) else str(text) if msg is None else f"{text}\n{msg}"
            raise self.failureException(said) from None

    def assertEqual(
        self,
        x: Any,
        y: Any,
        msg: str | Callable[[str], str] | None = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """Fail unless x and y are close; `precision` and `rel_tol` of the class widen the default tolerances."""
        if (atol is None) != (rtol is None):
            atol, rtol = atol or 0.0, rtol or 0.0
        checks = {"device": exact_device, "dtype": exact_dtype, "layout": exact_layout, "stride": exact_stride}
        comparison = _Relaxed(True, rtol, atol, equal_nan, checks)
        if rtol is None and (self.precision or self.rel_tol):
            own = comparison.tolerances
            wider: Any = lambda *inputs: tuple(map(max, own(*inputs), (self.rel_tol, self.precision)))
            comparison.tolerances = wider  # type: ignore[method-assign]  # of this one comparison
        with self._mismatch_message(msg):
            comparison.compare(x, y)

    def assertNotEqual(  # type: ignore[override]  # the names of torch's arguments
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None, **kwargs: Any
    ) -> None:
        try:
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **kwargs)
        except AssertionError:
            return
        raise self.failureException(f"{x!r} and {y!r} are equal{'' if msg is None else f': {msg}'}")

    def assertEqualIgnoreType(self, *args: Any, **kwargs: Any) -> None:
        self.assertEqual(*args, exact_dtype=False, **kwargs)

    def assertEqualBroadcasting(self, x: Any, y: Any, *args: Any, **kwargs: Any) -> None:
        """Compare after expanding y, a number or a smaller tensor, to the shape of x."""
        y = ut.as_tensor(y, dtype=x.dtype, device=x.device) if not isinstance(y, ut.Tensor) else y
        self.assertEqual(x, y.expand_as(x), *args, **kwargs)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        self.assertEqual((x.device, x.dtype), (y.device, y.dtype))

    def assertObjectIn(self, obj: Any, iterable: Any) -> None:
        if not any(each is obj for each in iterable):
            raise self.failureException("object not found in iterable")

    def assertNotWarn(self, callable: Callable[[], Any], msg: str = "") -> None:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            callable()
        self.assertTrue(len(found) == 0, msg)

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
        """Check that the block issues at least one warning, and that all its warnings have this category and match `regex`."""
        import re

        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            yield
        if not found:
            self.fail(msg="no warning caught")
        fitting = [w for w in found if issubclass(w.category, category) and re.search(regex, str(w.message))]
        self.assertTrue(fitting, f"{category} with {regex!r} expected, got {[str(w.message) for w in found]}")

    def assertExpectedInline(self, actual: str, expect: str, skip: int = 0) -> None:
        """Compare with the expected text, ignoring its common indentation."""
        import textwrap

        self.assertMultiLineEqual(textwrap.dedent(actual).strip(), textwrap.dedent(expect).strip())

    def assertExpectedRaisesInline(self, exc_type: type[Exception], callable: Callable[..., Any], expect: str, *args: Any, **kwargs: Any) -> None:
        try:
            callable(*args, **kwargs)
        except exc_type as error:
            self.assertExpectedInline(str(error), expect)
            return
        self.fail(msg=f"Did not raise when expected to: {exc_type.__name__}")

    def compare_with_numpy(self, torch_fn: Callable[..., Any], np_fn: Callable[..., Any], tensor_like: Any, device: Any = None, dtype: Any = None,
                           **kwargs: Any) -> None:
        """Compare a function of each library on the same values."""
        t = tensor_like if isinstance(tensor_like, ut.Tensor) else ut.tensor(tensor_like, dtype=dtype)
        self.assertEqual(torch_fn(t), np_fn(t.detach().cpu().numpy()), **{"exact_dtype": False, **kwargs})
