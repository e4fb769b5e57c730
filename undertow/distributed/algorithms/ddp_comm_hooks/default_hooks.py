"""Hooks that average gradients, in their own dtype or compressed to a half type."""

from __future__ import annotations

import undertow
from undertow import distributed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._data_parallel.reducer import GradBucket
    from undertow.futures import Future

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]


def _average(tensor: Tensor, group: Any) -> Future[Tensor]:
    """Return a future of the mean of a tensor over the ranks; the tensor is overwritten."""
    tensor.div_(distributed.get_world_size(group))
    work = distributed.all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients: the reduction without a hook."""
    return _average(bucket.buffer(), process_group)


def _compressed(dtype: Any, group: Any, bucket: GradBucket) -> Future[Tensor]:
    buffer = bucket.buffer()
    return _average(buffer.to(dtype), group).then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients in float16, which halves the bytes of float32."""
    return _compressed(undertow.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients in bfloat16, which halves the bytes of float32 and keeps its range."""
    return _compressed(undertow.bfloat16, process_group, bucket)


def _wrapped(dtype: Any, hook: Callable[[Any, GradBucket], Future[Tensor]]) -> Callable[[Any, GradBucket], Future[Tensor]]:
    def compressing(state: Any, bucket: GradBucket) -> Future[Tensor]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda done: buffer.copy_(done.value()))

    return compressing


def fp16_compress_wrapper(hook: Callable[[Any, GradBucket], Future[Tensor]]) -> Callable[[Any, GradBucket], Future[Tensor]]:
    """Return a hook that gives another hook the gradients in float16."""
    return _wrapped(undertow.float16, hook)


def bf16_compress_wrapper(hook: Callable[[Any, GradBucket], Future[Tensor]]) -> Callable[[Any, GradBucket], Future[Tensor]]:
    """Return a hook that gives another hook the gradients in bfloat16."""
    return _wrapped(undertow.bfloat16, hook)
