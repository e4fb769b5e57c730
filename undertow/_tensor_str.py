"""The printed form of a tensor, equal to torch's character for character.

Uses only cheap methods of a tensor (shape, dtype, slicing, tolist). The elements to print become nested
lists, and these are formatted. Does not depend on storage, strides or kernels.
"""

from __future__ import annotations

from math import ceil, inf, isfinite

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from undertow import Tensor

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": inf, "edgeitems": 3, "linewidth": 80},
}


class _Options:
    """The print options of this process: one instance, changed only by `set_printoptions`."""

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    precision: int
    threshold: float
    edgeitems: int
    linewidth: int
    sci_mode: bool | None

    def __init__(self) -> None:
        self.sci_mode = None
        self.update(_PROFILES["default"])

    def update(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)


_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set the print options of tensors.

    `precision` is the number of digits after the decimal point. Tensors of more than `threshold` elements
    are summarised to `edgeitems` at each end of each dimension. Lines have at most `linewidth` characters.
    `profile` is "default", "short" or "full" and is applied before the others. `sci_mode` forces scientific
    notation on or off; None (the default) decides by the values.

    >>> import undertow as ut
    >>> ut.set_printoptions(precision=2)
    >>> ut.tensor([1.12345])
    tensor([1.12])
    >>> ut.set_printoptions(profile="default")
    """
    if profile is not None:
        _options.update(_PROFILES.get(profile, {}))
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    _options.update({name: value for name, value in given.items() if value is not None})
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the current options as keyword arguments for `set_printoptions`.

    >>> from undertow._tensor_str import get_printoptions
    >>> get_printoptions()["edgeitems"]
    3
    """
    names = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")
    return {name: getattr(_options, name) for name in names}


class printoptions:
    """Context manager that changes the print options; takes the arguments of `set_printoptions`.

    >>> import undertow as ut
    >>> from undertow._tensor_str import printoptions
    >>> with printoptions(precision=1):
    ...     print(ut.tensor([0.25, 1.5]))
    tensor([0.2, 1.5])
    """

    def __init__(self, **options: Any) -> None:
        self.options = options

    def __enter__(self) -> None:
        self.saved = get_printoptions()
        set_printoptions(**self.options)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        set_printoptions(**self.saved)


class _IntegerFormat:
    """Format integers or booleans, right-aligned."""

    def __init__(self, values: list[Any]) -> None:
        self.width = max((len(str(value)) for value in values), default=1)

    def format(self, value: Any) -> str:
        return str(value).rjust(self.width)


class _FloatFormat:
    """Format floats, right-aligned: all as 3. or as 3.1400 or as 3.1400e+00, depending on the values."""

    def __init__(self, values: list[float]) -> None:
        self.precision = _options.precision
        self.integral = True
        self.scientific = False
        self.width = 1
        # Zeros, infinities and nans do not affect the notation or the width, so a nan among single digits is not aligned: torch does the
        # same.
        shown = [value for value in values if value != 0 and isfinite(value)]
        if not shown:
            return
        magnitudes = [abs(value) for value in shown]
        low, high = min(magnitudes), max(magnitudes)
        self.integral = all(value == ceil(value) for value in shown)
        if _options.sci_mode is not None:
            self.scientific = _options.sci_mode
        else:
            too_small = not self.integral and low < 1.0e-4
            self.scientific = high / low > 1000.0 or high > 1.0e8 or too_small
        self.width = max(len(self._text(value)) for value in shown)

    def _text(self, value: float) -> str:
        if self.scientific:
            return f"{value:.{self.precision}e}"
        if not self.integral:
            return f"{value:.{self.precision}f}"
        return f"{value:.0f}." if isfinite(value) else f"{value:.0f}"

    def format(self, value: float) -> str:
        return self._text(value).rjust(self.width)


class _ComplexFormat:
    """Format complex numbers; the real and imaginary parts are aligned separately."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _FloatFormat([value.real for value in values])
        self.imag = _FloatFormat([value.imag for value in values])
        self.width = self.real.width + self.imag.width + 1  # one for the j

    def format(self, value: complex) -> str:
        real = self.real.format(value.real)
        imag = self.imag.format(value.imag).lstrip() + "j"
        return real + imag if imag[0] in "+-" else f"{real}+{imag}"


def _joined(low: list[Any], high: list[Any], depth: int) -> list[Any]:
    """Concatenate two nested lists along dimension `depth`."""
    if depth == 0:
        return low + high
    return [_joined(a, b, depth - 1) for a, b in zip(low, high, strict=True)]


def _edges(t: Tensor, dim: int = 0) -> Any:
    """Return `t.tolist()` without the middle of each dimension that is longer than twice `edgeitems`.

    Only the corners are read, so the cost does not depend on the size of the tensor.
    """
    while dim < t.dim() and t.shape[dim] <= 2 * _options.edgeitems:
        dim += 1
    if dim == t.dim():
        return t.tolist()
    before = (slice(None),) * dim
    low = _edges(t[(*before, slice(0, _options.edgeitems))], dim + 1)
    high = _edges(t[(*before, slice(t.shape[dim] - _options.edgeitems, None))], dim + 1)
    return _joined(low, high, dim)


def _flat(nested: Any, depth: int) -> list[Any]:
    """Return the elements of a list nested `depth` deep."""
    if depth == 0:
        return [nested]
    for _ in range(depth - 1):
        nested = [element for row in nested for element in row]
    return nested


def _row(values: list[Any], formatter: Any, indent: int, elided: bool) -> str:
    """Format one innermost row, wrapped to the line width."""
    texts = [formatter.format(value) for value in values]
    if elided:
        texts.insert(_options.edgeitems, " ...")
    per_line = max(1, (_options.linewidth - indent) // (formatter.width + 2))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _layout(
    nested: Any, shape: tuple[int, ...], formatter: Any, indent: int, summarise: bool
) -> str:
    """Format nested lists; `shape` is the shape of the whole tensor, which shows the elided dimensions."""
    if not shape:
        return formatter.format(nested)
    elided = summarise and shape[0] > 2 * _options.edgeitems
    if len(shape) == 1:
        return _row(nested, formatter, indent, elided)
    parts = [_layout(row, shape[1:], formatter, indent + 1, summarise) for row in nested]
    if elided:
        parts.insert(_options.edgeitems, "...")
    separator = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
    return "[" + separator.join(parts) + "]"


def _contents(t: Tensor, indent: int) -> str:
    """Format the elements in brackets, without name and suffixes."""
    if t.is_meta:
        return "..."
    if t.numel() == 0:
        return "[]"
    summarise = t.numel() > _options.threshold
    if summarise and t.dim() > 0 and _options.edgeitems == 0:
        return "[...]"
    if summarise and t.requires_grad:
        t = t.detach()  # slicing must not record nodes
    nested = _edges(t) if summarise else t.tolist()
    values = _flat(nested, t.dim())
    formatter: Any
    if t.dtype.is_complex:
        formatter = _ComplexFormat(values)
    elif t.dtype.is_floating_point:
        formatter = _FloatFormat(values)
    else:
        formatter = _IntegerFormat(values)
    return _layout(nested, tuple(t.shape), formatter, indent, summarise)


def _names_its_dtype(t: Tensor) -> bool:
    """Return True if the printed elements do not imply the dtype."""
    import undertow as ut

    default = ut.get_default_dtype()
    if t.dtype == default:
        return False
    if t.numel() == 0 or t.is_meta:
        return True
    if t.dtype.is_complex:
        return t.dtype != (ut.complex128 if default == ut.float64 else ut.complex64)
    return t.dtype not in (ut.int64, ut.bool)


def _history(t: Tensor) -> str | None:
    """Return the autograd part of the output: `grad_fn=<MulBackward0>` or `requires_grad=True`."""
    try:
        node = t.grad_fn
    except RuntimeError:
        return "grad_fn=<Invalid>"  # a view whose base was changed in a way that has no derivative
    if node is not None:
        return f"grad_fn=<{type(node).__name__}>"
    return "requires_grad=True" if t.requires_grad else None


def _suffixes(t: Tensor) -> list[str]:
    found = []
    if t.device.type != "cpu":
        found.append(f"device='{t.device}'")
    if t.is_meta or (t.dim() != 1 if t.numel() == 0 else _options.edgeitems == 0):
        found.append(f"size={tuple(t.shape)}")
    if _names_its_dtype(t):
        found.append(f"dtype={t.dtype}")
    history = _history(t)
    if history is not None:
        found.append(history)
    tangent = _C._unpack_dual(t)[1]
    if tangent is not None:
        found.append(f"tangent={tangent}")
    return found


def _with_suffixes(text: str, suffixes: list[str], indent: int, on_new_line: bool = False) -> str:
    """Append the suffixes and a closing bracket, on new lines where they do not fit."""
    last_line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if on_new_line or last_line + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            last_line = indent + len(suffix)
            on_new_line = False
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"


def tensor_repr(t: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of `repr(t)`; a class that has no elements of its own gives the text between the brackets.

    >>> import undertow as ut
    >>> from undertow._tensor_str import tensor_repr
    >>> tensor_repr(ut.tensor([[1.0, -2.5], [0.0, 3.0]]))
    'tensor([[ 1.0000, -2.5000],\\n        [ 0.0000,  3.0000]])'
    """
    from undertow import Tensor
    from undertow._C import Parameter

    if _C._has_torch_function_unary(t):
        from undertow.overrides import handle_torch_function

        return handle_torch_function(Tensor.__repr__, (t,), t, **({} if tensor_contents is None else {"tensor_contents": tensor_contents}))
    if _C._batched_level(t) >= 0:
        return _batched_repr(t)
    if t.layout is not _C.strided:
        from undertow.sparse._printing import sparse_repr

        return sparse_repr(t)
    kind = type(t)
    name = "tensor" if kind is Tensor or kind is Parameter else kind.__name__
    indent = len(name) + 1
    text = _with_suffixes(f"{name}({_contents(t, indent) if tensor_contents is None else tensor_contents}", _suffixes(t), indent)
    if name != "tensor" and isinstance(t, Parameter):
        text = f"Parameter({text})"
    return "Parameter containing:\n" + text if issubclass(kind, Parameter) else text


def _batched_repr(t: Tensor) -> str:
    """Format a tensor under vmap: the level, counted from the outermost, and all samples."""
    from undertow._vmap._levels import alive

    level = alive.get(_C._batched_level(t))
    value = tensor_repr(_C._batched_value(t)).replace("\n", "\n    ")
    return f"BatchedTensor(lvl={level.depth if level else -2}, bdim=0, value=\n    {value}\n)"
