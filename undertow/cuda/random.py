"""Seeds and states of the random numbers of GPUs. Without a GPU, seeds do nothing, as in torch."""

from __future__ import annotations

from undertow import _C
from undertow.cuda._devices import current_device, device_count
from undertow.cuda._library import available, functions, index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = [
    "default_generators",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def _generator(device: Any, name: str = "") -> _C.Generator:
    functions(name)
    return _C._default_generator_of(_C.device("cuda", index_of(device)))


class _Generators:
    """The default generators of all GPUs, by number."""

    def __len__(self) -> int:
        return device_count()

    def __getitem__(self, i: int) -> _C.Generator:
        if not 0 <= i < len(self):
            raise IndexError(f"default_generators: there is no GPU {i}")
        return _generator(i)


default_generators = _Generators()


def get_rng_state(device: Any = "cuda") -> _C.Tensor:
    """Return the state of a GPU's random numbers as a uint8 tensor."""
    return _generator(device, "get_rng_state").get_state()


def get_rng_state_all() -> list[_C.Tensor]:
    """Return the states of all GPUs."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state(new_state: _C.Tensor, device: Any = "cuda") -> None:
    """Set the state of a GPU's random numbers to one that `get_rng_state` returned."""
    _generator(device, "set_rng_state").set_state(new_state.cpu())


def set_rng_state_all(new_states: Iterable[_C.Tensor]) -> None:
    """Set the states of all GPUs."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


def manual_seed(seed: int) -> None:
    """Seed the random numbers of the current GPU."""
    if available():
        _generator(current_device()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all GPUs."""
    for i in range(device_count()):
        _generator(i).manual_seed(int(seed))


def seed() -> None:
    """Seed the random numbers of the current GPU from the system's entropy."""
    if available():
        _generator(current_device()).seed()


def seed_all() -> None:
    """Seed the random numbers of all GPUs with one number from the system's entropy."""
    if available():
        manual_seed_all(_generator(current_device()).seed())


def initial_seed() -> int:
    """Return the seed of the current GPU."""
    return _generator(None, "initial_seed").initial_seed()
