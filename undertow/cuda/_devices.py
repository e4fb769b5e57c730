"""The GPUs of this machine: how many, which one is current, and what they can do."""

from __future__ import annotations

from undertow import _C
from undertow.cuda._library import available, functions, index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

has_half = True
has_magma = False
_CAPABILITIES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def is_available() -> bool:
    """Return True if there is a GPU that can be used.

    >>> import undertow as ut
    >>> device = "cuda" if ut.cuda.is_available() else "cpu"
    """
    return available()


def is_initialized() -> bool:
    """Return True if the driver has been opened and sees a device."""
    return _C._cuda_is_open()


def init() -> None:
    """Open the driver. It is not needed: the first tensor on a GPU does it."""
    functions("init")


def device_count() -> int:
    """Return the number of GPUs; 0 if CUDA is not available."""
    return functions().device_count() if available() else 0


def current_device() -> int:
    """Return the number of the current GPU, on which "cuda" without a number is."""
    return functions("current_device").current_device()


def set_device(device: Any) -> None:
    """Make a GPU the current one of this thread. A negative number changes nothing."""
    index = index_of(device, "set_device")
    library = functions("set_device")
    if index >= 0:
        library.set_current_device(index)


def synchronize(device: Any = None) -> None:
    """Wait until all work issued to a GPU is done, and raise the errors that its kernels found."""
    library = functions("synchronize")
    library.synchronize(index_of(device))


def get_device_name(device: Any = None) -> str:
    """Return the name of a GPU."""
    return functions("get_device_name").device_name(index_of(device))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of a GPU, such as (9, 0)."""
    found = get_device_properties(device)
    return found.major, found.minor


class _CudaDeviceProperties:
    """What a GPU is: its name, memory, multiprocessors and limits."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    uuid: str

    def __init__(self, name: str, uuid: str, figures: dict[str, int]) -> None:
        self.name, self.uuid = name, uuid
        self.__dict__.update(figures)
        self.gcnArchName = name

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count}, uuid={self.uuid})"
        )


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    """Return the properties of a GPU as an object."""
    library = functions("get_device_properties")
    index = index_of(device)
    if not 0 <= index < library.device_count():
        raise AssertionError("Invalid device id")
    return _CudaDeviceProperties(library.device_name(index), library.device_uuid(index), library.device_properties(index))


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Return True if one GPU can read the memory of another directly."""
    library = functions("can_device_access_peer")
    one, other = index_of(device), index_of(peer_device)
    for index in (one, other):
        if not 0 <= index < library.device_count():
            raise AssertionError(f"Invalid device id: {index}" if index == one else f"Invalid peer device id: {index}")
    return library.can_access_peer(one, other)


def get_arch_list() -> list[str]:
    """Return the architectures that kernels can be compiled for; they are compiled when first used."""
    return list(_CAPABILITIES) if available() else []


def get_gencode_flags() -> str:
    """Return the flags with which NVIDIA's compiler would make kernels for these architectures."""
    return " ".join(f"-gencode compute={name.replace('sm', 'compute')},code={name}" for name in get_arch_list())


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return True if the current GPU computes with bfloat16."""
    return available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Return True if the current GPU has TF32 products."""
    return available() and get_device_capability()[0] >= 8


class device:
    """Context manager that makes a GPU the current one; a negative number or None changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else index_of(device) if not isinstance(device, (str, _C.device)) or available() else 0
        self.prev_idx = -1

    def __enter__(self) -> None:
        if available() and self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.prev_idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """Context manager that makes the GPU of a tensor or storage the current one; others change nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.is_cuda else None)


_sync_debug_mode = 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Store the setting. It has no effect: waiting for the device is not reported."""
    global _sync_debug_mode
    functions("set_sync_debug_mode")
    names = {"default": 0, "warn": 1, "error": 2}
    if isinstance(debug_mode, str) and debug_mode not in names:
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
    _sync_debug_mode = names[debug_mode] if isinstance(debug_mode, str) else debug_mode


def get_sync_debug_mode() -> int:
    """Return the setting of `set_sync_debug_mode`."""
    functions("get_sync_debug_mode")
    return _sync_debug_mode
