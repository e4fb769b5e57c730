"""Objects through a socket between processes: a pickle, and the memory of tensors and arrays beside it, uncopied.

Note [How Batches Cross]: Measured per batch of 4 MB on two cores, as time and as work of the receiving process: a pickle
with the bytes in it 15 and 3.4 ms; the bytes beside it 1.9 and 1.7; a fresh memfd mapped by the receiver 5.5 and 2.3
(faulting pages in costs more than copying them); a memfd kept and copied from 1.5 and 1.7. So the bytes go through the
socket. There is no shared memory to leak, and a worker that is killed takes nothing with it.
"""

from __future__ import annotations

import io
import pickle
import struct

from undertow._C import Tensor, UntypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

_IN_BAND = 4096  # a buffer below this costs less inside the pickle
_JOINED = 65536


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, Tensor):
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process boundaries. "
                "If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
            )
        if type(obj) is Tensor and obj.untyped_storage().nbytes() > 2 * obj.numel() * obj.itemsize + _IN_BAND:
            part = obj.detach().clone().requires_grad_(obj.requires_grad)  # a row must not take its whole dataset along
            part.__dict__.update(obj.__dict__)
            return part.__reduce_ex__(5)
        return NotImplemented


def packed(obj: Any) -> list[Any]:
    """The parts of a message, to be sent one after the other."""
    out = io.BytesIO()
    buffers: list[memoryview] = []

    def beside(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < _IN_BAND:
            return True
        buffers.append(view)
        return False

    _Pickler(out, protocol=5, buffer_callback=beside).dump(obj)
    sizes = [b.nbytes for b in buffers]
    header = struct.pack(f"<QQ{len(sizes)}Q", out.tell(), len(sizes), *sizes)
    return [header + out.getvalue(), *buffers]


def send(sock: socket.socket, parts: list[Any]) -> None:
    """Send a message, the small parts of it in one go."""
    first, *rest = parts
    if rest and len(first) + rest[0].nbytes <= _JOINED:
        first = b"".join([first, rest.pop(0)])
    for part in (first, *rest):
        sock.sendall(part)


def _fill(sock: socket.socket, view: memoryview) -> None:
    while len(view):
        count = sock.recv_into(view)
        if not count:
            raise EOFError("the other process has closed its end")
        view = view[count:]


def _take(sock: socket.socket, count: int) -> bytearray:
    data = bytearray(count)
    _fill(sock, memoryview(data))
    return data


def receive(sock: socket.socket) -> Any:
    """The next message; EOFError when there will be none."""
    length, count = struct.unpack("<QQ", _take(sock, 16))
    sizes = struct.unpack(f"<{count}Q", _take(sock, 8 * count))
    pickled = _take(sock, length)
    buffers = []
    for size in sizes:
        view = memoryview(UntypedStorage(size))
        _fill(sock, view)
        buffers.append(view)
    return pickle.loads(pickled, buffers=buffers)
