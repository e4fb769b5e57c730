"""Algorithms above the collectives: communication hooks of DistributedDataParallel, and Join for ranks with different numbers of inputs."""

from undertow.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
