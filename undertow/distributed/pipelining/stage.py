"""PipelineStage: the layers of one process, and the messages to the stages before and after it."""

from __future__ import annotations

import undertow
from undertow import distributed
from undertow.distributed._collectives.messages import P2POp, batch_isend_irecv, irecv, isend
from undertow.distributed._groups.groups import chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._transports.work import Work
    from undertow.nn import Module

__all__ = ["PipelineStage"]
_FORWARD_TAG, _BACKWARD_TAG = 1, 2

# Note [Messages Between Stages]
# NCCL runs the messages of a group in their order, and a message waits for the other side. In 1F1B two neighbors send to each other at the same
# time, activations one way and gradients the other, and each would wait for the other to receive first. So what leaves before something arrives
# from the same neighbor is started together with that, as one operation. Two communicators with a stream each would not wait for each other
# either, but then a call that waits for the whole GPU, such as an allocation, may wait for a message that the other side cannot answer.


class PipelineStage:
    """Stage `stage_index` of `num_stages`, on the process of that rank in the group.

    Shapes and dtypes of activations are sent once, with the first part of the first batch that trains and of the first that does not; they must
    stay the same after that.
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any = None,
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
        dw_builder: Any = None,
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages, self.group = submodule, stage_index, num_stages, chosen(group)
        if num_stages > self.group.size():
            raise ValueError(f"Pipeline group size {self.group.size()} cannot be smaller than the number of stages {num_stages}")
        if self.group.rank() != stage_index:
            raise ValueError(f"PipelineStage: stage {stage_index} must be on rank {stage_index} of the group, but this is rank {self.group.rank()}")
        first = next(submodule.parameters(), None)
        self.device = undertow.device(device) if device is not None else first.device if first is not None else undertow.device("cpu")
        # With and without derivatives: the shapes of what the stage before sends, and whether the next stage knows those of the outputs.
        self._shapes: dict[bool, list[tuple[Any, str, bool]]] = {}
        self._told: set[bool] = set()
        self._inputs: dict[int, tuple[Tensor, ...]] = {}
        self._outputs: dict[int, tuple[Tensor, ...]] = {}
        self._leaving: list[P2POp] = []
        self._sent: list[Work] = []

    @property
    def is_first(self) -> bool:
        """Whether this stage gets the batch."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether this stage computes the loss."""
        return self.stage_index == self.num_stages - 1

    def _messages(self, op: Callable[..., Any], tensors: Sequence[Tensor], peer: int, tag: int) -> list[P2POp]:
        return [P2POp(op, tensor.detach(), group=self.group, tag=tag, group_peer=peer) for tensor in tensors]

    def _receive(self, tensors: Sequence[Tensor], peer: int, tag: int) -> None:
        """Receive, together with the messages that leave; see Note [Messages Between Stages]."""
        arriving = self._messages(irecv, tensors, peer, tag)
        started = batch_isend_irecv([*arriving, *self._leaving])
        self._leaving.clear()
        for work in started[: len(arriving)]:
            work.wait()
        self._sent += started[len(arriving) :]

    def send(self) -> None:
        """Start to send what the last pass has computed. Without this call it is sent together with what the next pass receives."""
        if self._leaving:
            self._receive((), 0, 0)

    def forward(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the layers on one part of the batch, from the stage before if there is one. The outputs are to be sent on."""
        if not self.is_first:
            args = self._received()
        self._inputs[number] = tuple(a for a in args if isinstance(a, undertow.Tensor))
        result = self.submod(*args, **kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        self._outputs[number] = outputs
        if not self.is_last:
            if (mode := undertow.is_grad_enabled()) not in self._told:
                shapes = [(tuple(t.shape), str(t.dtype).rpartition(".")[2], t.requires_grad) for t in outputs]
                distributed.send_object_list(shapes, group=self.group, group_dst=self.stage_index + 1)
                self._told.add(mode)
            self._leaving += self._messages(isend, outputs, self.stage_index + 1, _FORWARD_TAG)
        return result

    def _received(self) -> tuple[Tensor, ...]:
        before, mode = self.stage_index - 1, undertow.is_grad_enabled()
        if mode not in self._shapes:
            found: list[Any] = []
            distributed.recv_object_list(found, group=self.group, group_src=before)
            self._shapes[mode] = found
        shapes = self._shapes[mode]
        tensors = [undertow.empty(shape, dtype=getattr(undertow, dtype), device=self.device) for shape, dtype, _ in shapes]
        self._receive(tensors, before, _FORWARD_TAG)
        return tuple(tensor.requires_grad_(differentiable) for tensor, (_, _, differentiable) in zip(tensors, shapes))

    def backward(self, number: int, loss: Tensor | None) -> None:
        """Run the backward pass of one part, from the loss or from the next stage's gradients. The gradients of its inputs are to be sent back."""
        outputs, inputs = self._outputs.pop(number), self._inputs.pop(number)
        if loss is not None:
            loss.backward()
        else:
            wanted = [t for t in outputs if t.requires_grad]
            grads = [undertow.empty_like(output) for output in wanted]
            self._receive(grads, self.stage_index + 1, _BACKWARD_TAG)
            undertow.autograd.backward(wanted, grads)
        if not self.is_first:
            back = tuple(t.grad if t.grad is not None else undertow.zeros_like(t) for t in inputs if t.requires_grad)
            self._leaving += self._messages(isend, back, self.stage_index - 1, _BACKWARD_TAG)

    def finish(self) -> None:
        """Wait until everything that was sent has left."""
        for work in self._sent:
            work.wait()
        self._sent.clear()
        self._inputs.clear()
        self._outputs.clear()

    def scale_grads(self, divisor: int) -> None:
        """Divide the gradients, so that they are those of the mean over the parts."""
        with undertow.no_grad():
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(divisor)
