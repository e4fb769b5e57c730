"""Functions and methods of torch's that few programs use, written with the others."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn


def vander(x: Tensor, N: int | None = None, *, increasing: bool = False) -> Tensor:  # noqa: N803
    """The powers of each element, highest first: its rows are those of a Vandermonde matrix.

    >>> import undertow as ut
    >>> ut.vander(ut.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    powers = undertow.linalg.vander(x, N=N)
    return powers if increasing else powers.flip(-1)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms of the slices along `dim`, in a shape that divides `v`; of all of `v` for -1."""
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow, others, keepdim=True)


def frobenius_norm(input: Tensor, dim: Sequence[int] | int = (), keepdim: bool = False) -> Tensor:
    """The root of the sum of squares."""
    return undertow.linalg.vector_norm(input, 2, dim or None, keepdim)


def nuclear_norm(input: Tensor, dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values."""
    return undertow.linalg.matrix_norm(input, "nuc", dim, keepdim)


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """Uninitialised, with the dimensions in memory in the order of `physical_layout`, slowest first.

    >>> import undertow as ut
    >>> ut.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    if len(physical_layout) == len(size):
        for place, d in enumerate(physical_layout):
            if not 0 <= d < len(size):
                raise RuntimeError(f"Dimension out of range (expected to be in range of [0, {len(size) - 1}], but got {d} at index {place})")
        if len(set(physical_layout)) < len(size):
            raise RuntimeError(f"Duplicate dim not allowed: got physical_layout={tuple(physical_layout)}")
    else:
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout: {tuple(size)} and {tuple(physical_layout)}"
        )
    back = [list(physical_layout).index(d) for d in range(len(size))]
    return undertow.empty([size[d] for d in physical_layout], **options).permute(back)


def _written(name: str) -> Callable[..., Tensor]:
    """The function of a method that writes into its tensor."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"See `Tensor.{name}`."
    return function


addmv_, detach_, embedding_renorm_, index_put_, resize_as_ = (
    _written(name) for name in ("addmv_", "detach_", "embedding_renorm_", "index_put_", "resize_as_")
)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:  # noqa: N803
    """The factors of P L U in one matrix, and the pivots: the older name of `linalg.lu_factor`.

    >>> import undertow as ut
    >>> ut.lu(ut.eye(2) * 3)[1]
    tensor([1, 2], dtype=undertow.int32)
    """
    parts = undertow.linalg.lu_factor_ex(A, pivot=pivot)
    if not get_infos:
        parts = tuple(parts[:2])
    if out is None:
        return parts
    return tuple(o.resize_(p.shape).copy_(p) for o, p in zip(out, parts, strict=True))


def get_device_module(device: Any = None) -> Any:
    """The module of a device: `undertow.cpu`."""
    kind = undertow.device(device).type if device is not None else "cpu"
    return getattr(undertow, kind)


def is_vulkan_available() -> bool:
    """False: there is no Vulkan here."""
    return False


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """See `autograd.set_detect_anomaly`, which is also a context."""
    undertow.autograd.set_detect_anomaly(mode, check_nan)


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the tensor's memory; see `utils.dlpack`."""
    return tensor.__dlpack__()


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in the order they have in memory, slowest first.

    With `ambiguity_check` it raises where another order describes the memory as well: always, or for memory formats in a list.
    """
    if isinstance(ambiguity_check, (list, tuple)) and all(isinstance(f, undertow.memory_format) for f in ambiguity_check):
        unclear = sum(self.is_contiguous(memory_format=f) for f in ambiguity_check) != 1
    elif isinstance(ambiguity_check, bool):
        steps = [s for s, n in zip(self.stride(), self.shape, strict=True) if n != 1]
        unclear = ambiguity_check and (len(set(steps)) < len(steps) or len(steps) < self.dim())
    else:
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if unclear:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return tuple(sorted(range(self.dim()), key=lambda d: (-self.stride(d), d)))


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Sets the main diagonal, going on after a gap of one row in a tall matrix with `wrap`.

    >>> import undertow as ut
    >>> ut.zeros(2, 3).fill_diagonal_(5)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
    """
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    short = min(self.shape)
    start = self.storage_offset()
    with undertow.no_grad():
        self.as_strided((short,), (step,), start).fill_(fill_value)
        if wrap and self.dim() == 2 and self.size(0) > self.size(1) + 1:
            width = self.size(1)
            rows = self.size(0)
            for first in range(width + 1, rows, width + 1):
                count = min(width, rows - first)
                self.as_strided((count,), (step,), start + first * self.stride(0)).fill_(fill_value)
    return self


def new(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """A tensor of this one's dtype: of sizes, uninitialised; or of data."""
    from undertow import _C

    return _C._legacy_tensor(self.dtype, args)


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, or converted: every tensor is dense."""
    return self if dtype is None else self.to(dtype)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Refused: there is no such device."""
    return self.to("cuda")


def xpu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Refused: there is no such device."""
    return self.to("xpu")


def record_stream(self: Tensor, stream: Any) -> NoReturn:
    """Refused: there are no streams."""
    raise AssertionError("Torch not compiled with CUDA enabled; record_stream: this build of Undertow computes on the CPU only")


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `load_state_dict` puts in this tensor's place under swapping: `other`, as a tensor of its own."""
    return other if assign else self.detach().copy_(other)


def storage_type(self: Tensor) -> type:
    """The class of the typed storage."""
    from undertow.storage import TypedStorage

    return TypedStorage


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The greatest of each of `output_size` parts of a line, and where it is; `nn.functional` has the one that gives no places.

    >>> import undertow as ut
    >>> ut.adaptive_max_pool1d(ut.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    from undertow.nn._pooling import adaptive_max_pool1d_with_indices

    return adaptive_max_pool1d_with_indices(input, output_size)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of signals that lie as (time, batch, channels), by a weight of (width, in, out)."""
    result = undertow.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1)


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The sum, mean, max, min or prod of consecutive rows: `lengths` rows each, or from one of `offsets` to the next.

    >>> import undertow as ut
    >>> ut.segment_reduce(ut.arange(6.0), "sum", lengths=ut.tensor([2, 4]))
    tensor([ 1., 14.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined, and not both")
    if lengths is None:
        lengths = offsets.diff()  # type: ignore[union-attr]
    if lengths.dim() != 1 or axis not in (0, -data.dim()):
        raise NotImplementedError(
            f"segment_reduce: along axis 0 and with lengths of one dimension alone; got axis {axis} and {lengths.dim()} dimensions"
        )
    if not unsafe and ((lengths < 0).any() or lengths.sum().item() != data.size(0)):
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")
    at = undertow.repeat_interleave(undertow.arange(lengths.numel()), lengths)
    start = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -float("inf"), "min": float("inf")}
    if reduce not in start:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {', '.join(start)}, got {reduce!r}")
    first = data.new_full((lengths.numel(), *data.shape[1:]), start[reduce] if initial is None else initial)
    if reduce in ("sum", "mean"):
        total = first.index_add(0, at, data)
        if reduce == "sum":
            return total
        counts = lengths.to(data.dtype).reshape([-1] + [1] * (data.dim() - 1))
        mean = total / counts
        return mean if initial is None else undertow.where(counts > 0, mean, first)
    return first.index_reduce(0, at, data, {"max": "amax", "min": "amin"}.get(reduce, reduce))
