"""Runs one collective: notes it for the other ranks, compares it with theirs, hands it to the group's queue.

Also turns the tensors of a program (strided, conjugate, in lists) into contiguous ones for the transport and back.
"""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.distributed._collectives import debug
from undertow.distributed._groups.groups import ProcessGroup, chosen, get_group_rank
from undertow.distributed._processes import process, status
from undertow.distributed._transports.interface import DistBackendError
from undertow.distributed._transports.single import SingleTransport
from undertow.distributed._transports.work import Work, completed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow.distributed._groups.links import Link
    from undertow.distributed._transports.interface import Transport


def check_tensor(tensor: Any, name: str) -> None:
    """Raise torch's error if an argument is not a dense tensor."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor but got {type(tensor)} instead.")
    if tensor.layout != undertow.strided:
        raise ValueError(f"Invalid function argument. Expected parameter `{name}` to be a dense tensor, but its layout is {tensor.layout}.")
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(f"Invalid function argument. Expected parameter `{name}` on the CPU or a GPU, but it is on {tensor.device}.")


def check_list(tensors: Any, name: str, call: str, length: int) -> None:
    """Raise torch's error if an argument is not a list of `length` tensors."""
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] but got {type(tensors)} instead.")
    if len(tensors) != length:
        raise RuntimeError(f"ProcessGroupGloo::{call}: invalid {name} at index 0 (expected length {length}, got {len(tensors)})")


def check_like(tensors: Sequence[Tensor], model: Tensor, call: str) -> None:
    """Raise torch's error unless all tensors have the model's dtype and shape."""
    for place, tensor in enumerate(tensors):
        if tensor.dtype != model.dtype:
            raise RuntimeError(f"ProcessGroupGloo::{call}: invalid tensor type at index {place} (expected {model.dtype}, got {tensor.dtype})")
        if tensor.shape != model.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{call}: invalid tensor size at index {place} (expected {tuple(model.shape)}, got {tuple(tensor.shape)})"
            )


def root_in_group(group: ProcessGroup, root: int | None, group_root: int | None, call: str) -> int:
    """Return a root's rank in the group; it is given as a global rank or as a rank in the group."""
    if root is not None and group_root is not None:
        raise ValueError("Can't specify both group_src and src, or group_dst and dst")
    if group_root is not None:
        found = group_root
    else:
        given = 0 if root is None else root
        if group is chosen(None):
            found = given
        else:
            found = get_group_rank(group, given)
    if not 0 <= found < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{call}: invalid root rank: {found}")
    return found


def dense(tensor: Tensor, transport: Transport) -> Tensor:
    """Return the tensor itself if the transport can move it as it is, otherwise a contiguous copy on the transport's device."""
    plain = tensor.detach()
    if plain.is_complex():
        plain = plain.resolve_conj()
    if transport.device is not None and plain.device.type != transport.device.type:
        plain = plain.to(transport.device)
    return plain.contiguous()


def stored(target: Tensor, value: Tensor) -> None:
    """Copy a result back into a strided tensor; a contiguous one has it already."""
    if target.data_ptr() != value.data_ptr() or not target.is_contiguous():
        target.detach().copy_(value.view(target.shape))


def shown(tensor: Tensor) -> str:
    """Return dtype and shape, for messages."""
    return f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)}"


def run(
    group: ProcessGroup,
    call: str,
    job: Callable[[Transport], None],
    written: Sequence[Tensor],
    async_op: bool,
    read: Sequence[Tensor] = (),
    link: Link | None = None,
) -> Work | None:
    """Run `job`, the collective `call` of a group, now or in the background. It writes some tensors and reads others.

    `call` is compared between ranks and appears in messages: name, shapes, reduction, root. `link` is by default that of the tensors.
    """
    link = group.links.of((*written, *read)) if link is None else link
    transport, queue = link.transport, link.queue
    if isinstance(transport, SingleTransport):
        with undertow.no_grad():
            job(transport)
        return completed(written) if async_op else None
    group.collectives += 1
    text = f"{call} (number {group.collectives} of the group)"
    process.began(text)
    compared = group.size() > 1 and debug.get_debug_level() is debug.DebugLevel.DETAIL
    line = status.line_of_caller() if compared else ""

    def guarded() -> None:
        try:
            if compared:
                debug.compare(group, transport, text, line)
            job(transport)
        except DistBackendError as error:
            process.broke()
            raise DistBackendError(f"{call}: {error}") from None

    if async_op and transport.overlaps:
        return queue.start(guarded, written, read)
    queue.run(guarded)
    return completed(written) if async_op else None
