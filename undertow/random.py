"""Seeds and states of the default generator, like `torch.random`."""

from __future__ import annotations

import contextlib

from undertow._C import Generator, Tensor, _cuda_is_open, default_generator
from undertow._lazy import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "fork_rng"]


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, and those of all GPUs; 2**64 is added to negative seeds."""
    generator = default_generator.manual_seed(int(seed))
    if _cuda_is_open():  # otherwise the generators of GPUs will start from this seed
        from undertow import cuda

        cuda.manual_seed_all(seed)
    return generator


def seed() -> int:
    """Seed the default generator from the system's entropy, and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """Return the current seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the default generator's state as a uint8 tensor in torch's layout."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator to one returned by `get_rng_state`."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[int] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cpu",
) -> Iterator[None]:
    """Context manager that restores the states of the CPU's default generator and of GPUs (those in `devices`, or all) at the end of the block."""
    if not enabled:
        yield
        return
    state, of_devices = get_rng_state(), {}
    if _cuda_is_open():
        from undertow import cuda

        of_devices = {i: cuda.get_rng_state(i) for i in (range(cuda.device_count()) if devices is None else devices)}
    try:
        yield
    finally:
        set_rng_state(state)
        for i, of_device in of_devices.items():
            cuda.set_rng_state(of_device, i)

if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
