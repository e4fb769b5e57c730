"""PowerSGD (Vogels, Karimireddy, Jaggi 2019): gradients as products of two thin matrices, which are what is sent.

A gradient matrix M of n x m is approximated by P Qᵀ of rank r: P = M Q, averaged and orthogonalized, then Q = Mᵀ P, averaged. The part
that is lost is added to the next gradient (error feedback), and Q is the start of the next approximation (warm start).
"""

from __future__ import annotations

import undertow
from undertow import distributed
from undertow.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from undertow.futures import Future

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._data_parallel.reducer import GradBucket

__all__ = ["PowerSGDState", "powerSGD_hook"]


class PowerSGDState:
    """What PowerSGD remembers between steps: the lost parts and the thin matrices of each bucket."""

    def __init__(
        self,
        process_group: Any = None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only be applied "
                "after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.generator = undertow.Generator().manual_seed(random_seed)  # the same on all ranks, so their thin matrices are equal
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, list[Tensor]] = {}
        self.q_memory_dict: dict[int, list[Tensor]] = {}
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count the steps, at their last bucket."""
        if bucket.is_last():
            self.iter += 1


def _orthonormal(matrix: Tensor, epsilon: float) -> Tensor:
    """Return a matrix with orthonormal columns of the same span: Gram-Schmidt, or QR without epsilon."""
    if epsilon == 0:
        return undertow.linalg.qr(matrix.float())[0].to(matrix.dtype)
    for column in range(matrix.size(1)):
        one = matrix[:, column : column + 1]
        one /= one.norm() + epsilon
        rest = matrix[:, column + 1 :]
        rest -= one @ (one.t() @ rest)
    return matrix


def _average(tensors: list[Tensor], group: Any) -> None:
    """Replace tensors by their means over the ranks, in one message."""
    if not tensors:
        return
    flat = undertow.cat([tensor.reshape(-1) for tensor in tensors])
    distributed.all_reduce(flat, group=group)
    flat /= distributed.get_world_size(group)
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors])):
        tensor.copy_(part.view(tensor.shape))


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients of a bucket; after `start_powerSGD_iter` steps its matrices as products of thin ones."""
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    buffer, index = bucket.buffer(), bucket.index()
    if state.use_error_feedback and index in state.error_dict:
        buffer += state.error_dict[index]
    before = buffer.clone() if state.use_error_feedback else None
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for gradient in bucket.gradients():
        rows = gradient.size(0) if gradient.dim() else 1
        matrix = gradient.reshape(rows, -1) if gradient.dim() > 1 else gradient
        rank = min(state.matrix_approximation_rank, *matrix.shape) if matrix.dim() == 2 else 0
        small = matrix.dim() == 2 and sum(matrix.shape) * rank * state.min_compression_rate < matrix.numel()
        (matrices if small else others).append(matrix)
    _average(others, state.process_group)
    _approximate(state, index, matrices)
    if before is not None:
        state.error_dict[index] = before - buffer
    state.maybe_increase_iter(bucket)
    done: Future[Tensor] = Future()
    done.set_result(buffer)
    return done


def _approximate(state: PowerSGDState, index: int, matrices: list[Tensor]) -> None:
    """Replace matrices by the product of their averaged thin factors."""
    rank = state.matrix_approximation_rank
    if index not in state.q_memory_dict or not state.warm_start:
        state.q_memory_dict[index] = [undertow.randn(m.size(1), min(rank, *m.shape), generator=state.generator).to(m.dtype) for m in matrices]
    right = [_orthonormal(q, state.orthogonalization_epsilon) for q in state.q_memory_dict[index]]
    left = [m @ q for m, q in zip(matrices, right)]
    _average(left, state.process_group)
    left = [_orthonormal(p, state.orthogonalization_epsilon) for p in left]
    right = [m.t() @ p for m, p in zip(matrices, left)]
    _average(right, state.process_group)
    state.p_memory_dict[index], state.q_memory_dict[index] = left, right
    for matrix, p, q in zip(matrices, left, right):
        matrix.copy_(p @ q.t())
