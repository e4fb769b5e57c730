"""`autocast`: in its block, matrix products and convolutions compute in a half-precision dtype, losses in float32.

It is a function mode, which intercepts every operator that Python calls and converts its float32 arguments first. The lists of
operators are those of torch, for the CPU and for CUDA.
"""

from __future__ import annotations

import functools
import threading
import warnings

import undertow
from undertow.overrides import TorchFunctionMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import dtype as _dtype

__all__ = ["autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled"]

_LOWER = (
    "addbmm addmm baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d einsum "
    "linear matmul __matmul__ __rmatmul__ mm multi_dot scaled_dot_product_attention vecdot"
)
_FLOAT32 = (
    "avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist cosine_embedding_loss cross_entropy ctc_loss gaussian_nll_loss "
    "grid_sample hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss "
    "poisson_nll_loss prod smooth_l1_loss soft_margin_loss trace triplet_margin_loss multilabel_soft_margin_loss renorm quantile nanquantile stft "
    "cholesky inverse det slogdet pinverse qr svd geqrf orgqr ormqr eigh eigvalsh eig eigvals solve inv matrix_rank lstsq matrix_power"
)
_PROMOTE = "cat concat concatenate stack hstack vstack dstack index_copy"
_LOWER_ON_CUDA = (
    "addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d einsum "
    "linear matmul __matmul__ __rmatmul__ mm mv multi_dot prelu scaled_dot_product_attention vecdot"
)
_FLOAT32_ON_CUDA = (
    "acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity cross_entropy ctc_loss cumprod cumsum dist "
    "erfinv exp expm1 group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm log log10 log1p log2 log_softmax logsumexp "
    "margin_ranking_loss mse_loss "
    "multi_margin_loss multilabel_margin_loss nll_loss norm normalize pdist poisson_nll_loss pow prod reciprocal renorm rsqrt sinh smooth_l1_loss "
    "soft_margin_loss softmax softmin softplus stft sum tan triplet_margin_loss"
)
_PROMOTE_ON_CUDA = "addcdiv addcmul atan2 bilinear cat concat concatenate cross dot grid_sample index_put scatter_add stack tensordot"
_SUPPORTED = ("cpu", "cuda")

_devices = threading.local()


def _state() -> dict[str, tuple[bool, Any]]:
    """Return, for each device type, whether autocast is enabled in this thread, and its dtype."""
    if not hasattr(_devices, "now"):
        _devices.now = {}
    return _devices.now


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return True if autocast is enabled for the device type in this thread."""
    return _state().get(device_type, (False, None))[0]


def get_autocast_dtype(device_type: str = "cpu") -> Any:
    """Return the dtype autocast uses for the device type."""
    return _state().get(device_type, (False, undertow.bfloat16 if device_type == "cpu" else undertow.float16))[1]


def is_autocast_available(device_type: str) -> bool:
    """Return True if autocast is available for the device type: for "cpu" and "cuda", although other names are accepted."""
    undertow.device(device_type)
    return device_type in ("cpu", "cuda", "xpu", "mps", "meta", "hpu", "mtia", "xla", "ipu", "maia")


@functools.cache
def _kinds(device_type: str) -> dict[str, str]:
    """Return the list ("lower", "float32" or "promote") of each operator of a device type, by name."""
    lists = (_LOWER, _FLOAT32, _PROMOTE) if device_type == "cpu" else (_LOWER_ON_CUDA, _FLOAT32_ON_CUDA, _PROMOTE_ON_CUDA)
    return {name: kind for kind, names in zip(("lower", "float32", "promote"), lists, strict=True) for name in names.split()}


def _device_type_of(values: Any) -> str:
    """Return "cuda" if one of the tensors is there, otherwise "cpu"."""
    for value in values:
        if value.is_cuda if isinstance(value, undertow.Tensor) else type(value) in (list, tuple) and _device_type_of(value) == "cuda":
            return "cuda"
    return "cpu"


def _cast(value: Any, dtype: Any, sources: tuple[Any, ...]) -> Any:
    """Convert the tensors with one of the source dtypes in `value`."""
    if isinstance(value, undertow.Tensor):
        return value.to(dtype) if value.dtype in sources else value
    if type(value) in (list, tuple):
        return type(value)(_cast(v, dtype, sources) for v in value)
    return value


def _widest(values: Any) -> Any:
    """Return float32 if one of the tensors is float32, otherwise their dtype."""
    for value in values:
        if isinstance(value, (list, tuple)):
            if _widest(value) is undertow.float32:
                return undertow.float32
        elif isinstance(value, undertow.Tensor) and value.dtype is undertow.float32:
            return undertow.float32
    return None


class _Mode(TorchFunctionMode):
    """Converts arguments as the innermost block specifies. Outer blocks see the call too, and have nothing left to convert."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        device_type = _device_type_of((*args, *kwargs.values())) if "cuda" in _state() else "cpu"
        on, half = _state().get(device_type, (False, None))
        name = getattr(func, "__name__", "")
        kind = _kinds(device_type).get(name.removeprefix("linalg_"))
        if on and device_type == "cuda" and name == "binary_cross_entropy":
            raise RuntimeError(
                "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. Many models use a sigmoid layer right before "
                "the binary cross entropy layer. In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits"
            )
        if kind is None or not on:
            inner = getattr(func, "__wrapped__", None)
            if inner is None or not on:
                return func(*args, **kwargs)
            with self:  # a Python function composed of operators, which are handled one by one
                return inner(*args, **kwargs)
        sources: tuple[_dtype, ...]
        if kind == "lower":
            dtype, sources = half, (undertow.float32, undertow.bfloat16, undertow.float16)
        else:
            dtype, sources = undertow.float32 if kind == "float32" else _widest(args), (undertow.bfloat16, undertow.float16)
        if dtype is not None:
            args = tuple(_cast(a, dtype, sources) for a in args)
            kwargs = {k: _cast(v, dtype, sources) for k, v in kwargs.items()}
        return func(*args, **kwargs)


class autocast:
    """Compute matrix products in `dtype` (default bfloat16, on CUDA float16) in the `with` block or the decorated function.

    >>> import undertow as ut
    >>> x = ut.ones(2, 2)
    >>> with ut.autocast("cpu"):
    ...     (x @ x).dtype, (x + x).dtype
    (undertow.bfloat16, undertow.float32)
    """

    device: str
    fast_dtype: _dtype

    def __init__(self, device_type: str, dtype: _dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if enabled and (device_type not in _SUPPORTED or (device_type == "cuda" and not undertow.cuda.is_available())):
            warnings.warn(f"{device_type.upper()} is not available. Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled and device_type == "cpu" and self.fast_dtype not in (undertow.bfloat16, undertow.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = bool(enabled)
        self._entered: list[Any] = []

    def __enter__(self) -> autocast:
        before = _state().get(self.device)
        _state()[self.device] = (self._enabled, self.fast_dtype)
        mode = _Mode() if self.device in _SUPPORTED and self._enabled else None
        if mode is not None:
            mode.__enter__()
        self._entered.append((before, mode))
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        before, mode = self._entered.pop()
        if mode is not None:
            mode.__exit__(kind, error, trace)
        if before is None:
            del _state()[self.device]
        else:
            _state()[self.device] = before

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def with_autocast(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return with_autocast


def custom_fwd(fwd: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """Decorate the forward of a custom Function: store autocast's state, and convert the inputs if it is enabled."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        floats = (undertow.float16, undertow.bfloat16, undertow.float32)
        with autocast(device_type, enabled=False):
            return fwd(*(_cast(a, cast_inputs, floats) for a in args), **{k: _cast(v, cast_inputs, floats) for k, v in kwargs.items()})

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str = "cpu") -> Any:
    """Decorate the backward of a custom Function: run it with the autocast state of the forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated
