"""NVIDIA's NCCL, opened when it is first used: its functions by ctypes, and its numbers for dtypes and reductions.

The library comes from `UNDERTOW_NCCL`, from NVIDIA's wheels or from the system. Knows no groups; nccl.py does.
"""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_size_t, c_void_p

import undertow
from undertow.distributed._groups.links import UNIQUE_ID_BYTES
from undertow.distributed._transports.interface import DistBackendError
from undertow.distributed._transports.reduce_ops import ReduceOp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAME = "libnccl.so.2"
_FIRST_WITH_FLOAT8 = 22400  # version 2.24
BYTES = 1  # the number of uint8, by which copies of any dtype are moved

OPS = {ReduceOp.SUM: 0, ReduceOp.PRODUCT: 1, ReduceOp.MAX: 2, ReduceOp.MIN: 3, ReduceOp.AVG: 4}
_DTYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2")
_FLOAT8 = _DTYPES[-2:]


class _UniqueId(ctypes.Structure):
    _fields_ = (("internal", c_char * UNIQUE_ID_BYTES),)


# Parameters between the buffers and the stream, by function; `c_size_t` counts elements.
_COLLECTIVES = {
    "ncclAllReduce": (c_void_p, c_void_p, c_size_t, c_int, c_int),
    "ncclReduce": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_int),
    "ncclReduceScatter": (c_void_p, c_void_p, c_size_t, c_int, c_int),
    "ncclBroadcast": (c_void_p, c_void_p, c_size_t, c_int, c_int),
    "ncclAllGather": (c_void_p, c_void_p, c_size_t, c_int),
    "ncclSend": (c_void_p, c_size_t, c_int, c_int),
    "ncclRecv": (c_void_p, c_size_t, c_int, c_int),
}
_OTHERS = {
    "ncclGetVersion": (POINTER(c_int),),
    "ncclGetUniqueId": (POINTER(_UniqueId),),
    "ncclCommInitRank": (POINTER(c_void_p), c_int, _UniqueId, c_int),
    "ncclCommDestroy": (c_void_p,),
    "ncclCommAbort": (c_void_p,),
    "ncclCommGetAsyncError": (c_void_p, POINTER(c_int)),
    "ncclGroupStart": (),
    "ncclGroupEnd": (),
}


class Library:
    """The functions of NCCL. Each raises DistBackendError with NCCL's message if it fails."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, parameters in (*_OTHERS.items(), *((name, (*given, c_void_p, c_void_p)) for name, given in _COLLECTIVES.items())):
            getattr(library, name).argtypes = parameters
        library.ncclGetErrorString.argtypes, library.ncclGetErrorString.restype = (c_int,), c_char_p
        found = c_int()
        self.call("ncclGetVersion", byref(found))
        self.version = found.value
        kept = [name for name in _DTYPES if self.version >= _FIRST_WITH_FLOAT8 or name not in _FLOAT8]
        self.dtypes = {getattr(undertow, name): number for number, name in enumerate(kept)}

    def call(self, name: str, *args: Any) -> None:
        """Call a function of NCCL."""
        result = getattr(self._library, name)(*args)
        if result:
            raise DistBackendError(f"NCCL: {name} failed: {self.message(result)}")

    def message(self, result: int) -> str:
        """Return what NCCL says about a result."""
        text = self._library.ncclGetErrorString(result).decode()
        if (last := getattr(self._library, "ncclGetLastError", None)) is not None:  # not in old versions
            last.argtypes, last.restype = (c_void_p,), c_char_p
            text += f" ({said.decode().strip()})" if (said := last(None)) else ""
        return text

    def unique_id(self) -> bytes:
        """Return the name of a new communicator, which one rank gives to the others."""
        made = _UniqueId()
        self.call("ncclGetUniqueId", byref(made))
        return bytes(made)

    def join(self, unique_id: bytes, rank: int, size: int) -> c_void_p:
        """Return the communicator of `size` ranks on the current device; waits for all of them."""
        made = c_void_p()
        self.call("ncclCommInitRank", byref(made), size, _UniqueId.from_buffer_copy(unique_id), rank)
        return made

    def failure_of(self, communicator: c_void_p) -> str:
        """Return the error that a communicator met in the background, or an empty text."""
        state = c_int()
        self.call("ncclCommGetAsyncError", communicator, byref(state))
        return self.message(state.value) if state.value else ""


@functools.cache
def _opened() -> tuple[Library | None, str]:
    """Return the library, or why it could not be opened."""
    from undertow.cuda._wheels import library_folders

    given = os.environ.get("UNDERTOW_NCCL")
    folders = [folder for folder in library_folders().split(":") if folder]
    why = ""
    for path in [given] if given else [*(os.path.join(folder, _NAME) for folder in folders), _NAME]:
        try:
            return Library(ctypes.CDLL(path)), ""
        except OSError as error:
            if not why or not os.path.isabs(path):
                why = str(error)
    return None, why


def is_found() -> bool:
    """Return True if NCCL can be opened."""
    return _opened()[0] is not None


def library() -> Library:
    """Return NCCL; raise with the remedy if it is not installed."""
    found, why = _opened()
    if found is None:
        raise RuntimeError(
            f"Distributed package doesn't have NCCL built in: it is opened at run time, and was not found: pip install nvidia-nccl-cu13 ({why})"
        )
    return found
