"""PipelineStage: the layers of one process, and the messages to the stages before and after it."""

from __future__ import annotations

import undertow
from undertow import distributed
from undertow.distributed._groups.groups import chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._transports.work import Work
    from undertow.nn import Module

__all__ = ["PipelineStage"]
_FORWARD_TAG, _BACKWARD_TAG = 1, 2


class PipelineStage:
    """Stage `stage_index` of `num_stages`, on the process of that rank in the group.

    Shapes and dtypes of activations are sent once, with the first part of the first batch; they must stay the same after that.
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
        # The messages of 1F1B wait for each other if they share a stream, as those of one group do.
        if self.device.type == "cuda" and self.group.links.gpu is not None:
            raise NotImplementedError("PipelineStage: NCCL is not supported; give a group that copies through the host: new_group(backend='gloo')")
        self._shapes: list[tuple[Any, Any]] | None = None  # of what the stage before sends
        self._told = False  # the next stage knows the shapes of the outputs
        self._inputs: dict[int, tuple[Tensor, ...]] = {}
        self._outputs: dict[int, tuple[Tensor, ...]] = {}
        self._sent: list[Work] = []

    @property
    def is_first(self) -> bool:
        """Whether this stage gets the batch."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether this stage computes the loss."""
        return self.stage_index == self.num_stages - 1

    def _send(self, tensors: tuple[Tensor, ...], to: int, tag: int) -> None:
        for tensor in tensors:
            work = distributed.isend(tensor.detach(), group=self.group, tag=tag, group_dst=to)
            assert work is not None
            self._sent.append(work)

    def forward(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the layers on one part of the batch, from the stage before if there is one, and send the outputs on."""
        if not self.is_first:
            args = self._received()
        self._inputs[number] = tuple(a for a in args if isinstance(a, undertow.Tensor))
        result = self.submod(*args, **kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        self._outputs[number] = outputs
        if not self.is_last:
            if not self._told:
                shapes = [(tuple(t.shape), str(t.dtype).rpartition(".")[2], t.requires_grad) for t in outputs]
                distributed.send_object_list(shapes, group=self.group, group_dst=self.stage_index + 1)
                self._told = True
            self._send(outputs, self.stage_index + 1, _FORWARD_TAG)
        return result

    def _received(self) -> tuple[Tensor, ...]:
        before = self.stage_index - 1
        if self._shapes is None:
            found: list[Any] = []
            distributed.recv_object_list(found, group=self.group, group_src=before)
            self._shapes = found
        tensors = []
        for shape, dtype, differentiable in self._shapes:  # type: ignore[misc]
            tensor = undertow.empty(shape, dtype=getattr(undertow, dtype), device=self.device)
            distributed.recv(tensor, group=self.group, tag=_FORWARD_TAG, group_src=before)
            tensors.append(tensor.requires_grad_(differentiable))
        return tuple(tensors)

    def backward(self, number: int, loss: Tensor | None) -> None:
        """Run the backward pass of one part, from the loss or from the gradients of the next stage, and send the gradients back."""
        outputs, inputs = self._outputs.pop(number), self._inputs.pop(number)
        if loss is not None:
            loss.backward()
        else:
            wanted = [t for t in outputs if t.requires_grad]
            grads = []
            for output in wanted:
                grad = undertow.empty_like(output)
                distributed.recv(grad, group=self.group, tag=_BACKWARD_TAG, group_src=self.stage_index + 1)
                grads.append(grad)
            undertow.autograd.backward(wanted, grads)
        if not self.is_first:
            back = tuple(t.grad if t.grad is not None else undertow.zeros_like(t) for t in inputs if t.requires_grad)
            self._send(back, self.stage_index - 1, _BACKWARD_TAG)

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
