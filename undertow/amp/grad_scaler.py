"""`GradScaler`: scales the loss so that small gradients do not underflow in half precision, and skips steps whose gradients overflow."""

from __future__ import annotations

import warnings

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["GradScaler"]


class GradScaler:
    """Scales losses, unscales gradients, and adapts the scale: by default doubled after 2000 steps without overflow, halved after an overflow.

    >>> import undertow as ut
    >>> w = ut.nn.Parameter(ut.ones(1))
    >>> optimizer, scaler = ut.optim.SGD([w], lr=0.5), ut.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale((w * w).sum()).backward()
    >>> w.grad
    tensor([8.])
    >>> scaler.step(optimizer); scaler.update(); w.data
    tensor([0.])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and device != "cpu" and not (device == "cuda" and undertow.cuda.is_available()):
            warnings.warn(f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.", stacklevel=2)
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._init_scale = self._scale_now = float(init_scale)
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._growth_tracker = 0
        self._seen: dict[int, str] = {}  # per optimizer, since the last update: "unscaled" or "stepped"
        self._overflows: dict[int, bool] = {}

    def is_enabled(self) -> bool:
        """Return True if scaling is enabled."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or the tensors of a list or tuple, by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, undertow.Tensor):
            return outputs * undertow.tensor(self._scale_now)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(o) for o in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, for example to clip them before `step`."""
        if not self._enabled:
            return
        state = self._seen.get(id(optimizer))
        if state == "unscaled":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        finite = []  # read at once: each reading waits for a GPU
        with undertow.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is None:
                        continue
                    if parameter.grad.dtype is undertow.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    parameter.grad.mul_(1.0 / self._scale_now)
                    finite.append(parameter.grad.isfinite().all())
        self._overflows[id(optimizer)] = bool(finite) and not undertow.stack([f.to(finite[0].device) for f in finite]).all().item()
        self._seen[id(optimizer)] = "unscaled"

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call `optimizer.step()`, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        state = self._seen.get(id(optimizer))
        if state == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if state is None:
            self.unscale_(optimizer)
        self._seen[id(optimizer)] = "stepped"
        return None if self._overflows[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Any = None) -> None:
        """Set the scale: to `new_scale`, or adapted to whether gradients overflowed since the last update."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale_now = float(new_scale)
        elif not self._overflows:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._overflows.values()):
            self._scale_now *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale_now *= self._growth_factor
                self._growth_tracker = 0
        self._seen.clear()
        self._overflows.clear()

    def get_scale(self) -> float:
        """Return the scale, 1.0 if disabled."""
        return self._scale_now if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows after `growth_interval` steps without overflow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale is multiplied after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of consecutive steps without overflow after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the growth interval."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a dict; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale_now,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state returned by `state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._scale_now = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
